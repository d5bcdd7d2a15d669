"""A table: from a CSV file to its protected release in four steps. Run: python examples/quickstart_table.py [FOLDER]"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import oddshift as od


def write_data(path: Path) -> None:
    """1,000 made-up visits whose cost follows the age; any CSV file with numbers or categories will do."""
    rng = np.random.default_rng(0)
    age = rng.normal(50, 12, 1000).round()
    cost = (10 * age + rng.normal(0, 40, 1000)).round(1)
    rows = [f"{k},{a:g},{c:g}" for k, (a, c) in enumerate(zip(age, cost, strict=True))]
    path.write_text("\n".join(["visit_id,age,cost", *rows]) + "\n")


def main(folder: Path) -> None:
    """Read, audit, adapt, protect."""
    file, released = folder / "visits.csv", folder / "visits-protected.csv"
    write_data(file)

    # 1. the columns of the file are recognised: each cell is a secret, the cells of a row are read together
    data = od.read(file)
    print(data)

    # 2. the cost tells about the age: how much more than the noisy age alone? ε is per standard deviation
    audit = od.audit(data, epsilon=3.0, delta=0.1)
    print(audit)
    audit.report(folder / "report.html")

    # 3. the least noise, column by column, whose leakage is certified
    fixed = od.adapt(data, epsilon=3.0, delta=0.1)
    print(f"scales {fixed.scales}: {fixed.verdict.state}")
    if fixed.policy is None:
        print(f"nothing is released: {fixed.why}")
        return

    # 4. release the file; each record once
    done = fixed.policy.save(folder / "run").protect(file, released)
    print(f"{done.records} records released; as they are: {', '.join(done.as_they_are)}")
    for path in (file, released):
        print(f"  {path.name}: {path.read_text().splitlines()[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
