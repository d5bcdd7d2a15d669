"""A table: from a CSV file to its protected release in four steps. Run: python examples/quickstart_table.py [FOLDER]"""

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
    """1,000 made-up visits whose cost follows the age; any CSV file with numbers or categories will do."""
    rng = np.random.default_rng(0)
    age = rng.normal(50, 12, 1000).round()
    cost = (10 * age + rng.normal(0, 40, 1000)).round(1)
    rows = [f"{k},{a:g},{c:g}" for k, (a, c) in enumerate(zip(age, cost, strict=True))]
    path.write_text("\n".join(["visit_id,age,cost", *rows]) + "\n")


def main(folder: Path) -> None:
    """Start, audit, adapt, protect."""
    data, config, run = folder / "visits.csv", folder / "visits.toml", folder / "run"
    write_data(data)

    # 1. a configuration: each cell is a secret, the cells of a row are read together
    started = start(data, config)
    config.write_text(started.config)
    print(f"{started.secrets} secrets in columns {', '.join(started.tiers)}; epsilon = {started.epsilon:g}")

    # 2. the cost tells about the age: how much more than the noisy age alone?
    audit = run_audit(started.config, run, home=folder)
    print(headline(audit))
    for row in audit.attackers:
        print(f"  {row.name:<7} gain over own {row.gain:+.2f} nats")

    # 3. the least noise, column by column, whose leakage is certified
    adapted = run_adapt(started.config, run, home=folder)
    print(f"scales {adapted.chosen}: {adapted.state}")
    if adapted.chosen is None:
        return

    # 4. release the file; each record once
    policy = run / "policy.json"
    done = protect(data, folder / "visits-protected.csv", load_policy(policy), Ledger.beside(policy))
    print(f"{done.records} records released; as they are: {', '.join(done.as_they_are)}")
    for path in (data, folder / "visits-protected.csv"):
        print(f"  {path.name}: {path.read_text().splitlines()[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
