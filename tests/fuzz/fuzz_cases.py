"""How many cases a fuzz test runs: a fixed number of fixed ones in the suite, as many as asked for in `make fuzz`."""

import os

from hypothesis import HealthCheck, Phase, settings

ASKED = "ODDSHIFT_FUZZ"
"""The variable that says how many cases `make fuzz` runs; without it a test runs its fixed ones."""

FIXED = 500
"""Cases that the suite runs, all tests of this folder together."""


def fuzz_settings(fixed, **options):
    """Settings for a test that runs `fixed` of the FIXED cases: always the same, or its share of those asked for."""
    asked = os.environ.get(ASKED)
    return settings(
        max_examples=fixed if asked is None else max(1, int(asked) * fixed // FIXED),
        derandomize=asked is None,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if asked else [])],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        **options,
    )
