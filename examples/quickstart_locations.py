"""Locations: from a file of fixes to its release. Run: python examples/quickstart_locations.py [FOLDER]"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from oddshift.app.configured_runs import run_adapt, run_audit
from oddshift.app.display import headline
from oddshift.app.init import start
from oddshift.protect import Ledger, protect
from oddshift.protect.policies import load_policy


def write_data(path: Path) -> None:
    """1,000 made-up people who go to a place near home and back; any file with lat, lon and a user will do."""
    rng = np.random.default_rng(0)
    rows = ["user,timestamp,lat,lon"]
    for user in range(1000):
        home = rng.integers(0, 4, 2)
        for k in range(3):
            lat, lon = home + rng.normal([k % 2, 0], 0.2)
            rows.append(
                f"u{user},2024-01-{1 + user % 28:02d}T{8 + k:02d}:00:00Z,{40 + lat / 100:.5f},{116 + lon / 80:.5f}"
            )
    path.write_text("\n".join(rows) + "\n")


def main(folder: Path) -> None:
    """Start, audit, adapt, protect."""
    data, config, run = folder / "walks.csv", folder / "walks.toml", folder / "run"
    write_data(data)

    # 1. a configuration: places become cells of about a kilometre, a user's day is read together
    started = start(data, config)
    config.write_text(started.config)
    print(f"{started.secrets} fixes in {started.values} cells; epsilon = {started.epsilon:g} per kilometre")

    # 2. one fix tells about the next: how much more than the noisy fix alone?
    audit = run_audit(started.config, run, home=folder)
    print(headline(audit))
    for row in audit.attackers:
        print(f"  {row.name:<7} right about {row.tiers[0].top1:.0%} of the cells, gain over own {row.gain:+.2f} nats")

    # 3. the least noise whose leakage is certified
    adapted = run_adapt(started.config, run, home=folder)
    print(f"scales {adapted.chosen}: {adapted.state}")
    if adapted.chosen is None:
        return

    # 4. release the file; each record once
    policy = run / "policy.json"
    done = protect(data, folder / "walks-protected.csv", load_policy(policy), Ledger.beside(policy))
    print(f"{done.records} fixes released, {done.dropped} left out")
    for path in (data, folder / "walks-protected.csv"):
        print(f"  {path.name}: {path.read_text().splitlines()[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
