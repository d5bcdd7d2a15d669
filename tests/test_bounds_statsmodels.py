"""Bounds and multiplicity rules against statsmodels, which implements them independently of us."""

import sys
import warnings

import pytest

from oddshift import bounds


@pytest.fixture(scope="module")
def stats():
    """Their package, imported where a test needs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what another library warns about while it is imported is not ours to judge
        pytest.importorskip("statsmodels.stats.multitest")
        pytest.importorskip("statsmodels.stats.proportion")
    return sys.modules["statsmodels.stats"]


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.2])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 100), (3, 100), (97, 100), (100, 100), (17, 5000)])
def test_clopper_pearson(stats, k, n, alpha):
    """Their interval is two-sided at 2a, so each of its ends is one-sided at a; ours lie outside theirs by rounding."""
    lower, upper = stats.proportion.proportion_confint(k, n, alpha=2 * alpha, method="beta")
    assert bounds.clopper_pearson_lower(k, n, alpha) == pytest.approx(0.0 if k == 0 else lower, rel=1e-9)
    assert bounds.clopper_pearson_upper(k, n, alpha) == pytest.approx(1.0 if k == n else upper, rel=1e-9)
    if 0 < k < n:
        assert bounds.clopper_pearson_lower(k, n, alpha) <= lower * (1 + 1e-13)
        assert bounds.clopper_pearson_upper(k, n, alpha) >= upper * (1 - 1e-13)
