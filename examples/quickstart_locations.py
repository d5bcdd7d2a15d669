"""Locations: from a file of fixes to its release. Run: python examples/quickstart_locations.py [FOLDER]"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import oddshift as od


def write_data(path: Path) -> None:
    """600 made-up people who go to a place near home and back; any file with lat, lon and a user will do."""
    rng = np.random.default_rng(0)
    rows = ["user,timestamp,lat,lon"]
    for user in range(600):
        home = rng.integers(0, 4, 2)
        for k in range(3):
            lat, lon = home + rng.normal([k % 2, 0], 0.2)
            rows.append(
                f"u{user},2024-01-{1 + user % 28:02d}T{8 + k:02d}:00:00Z,{40 + lat / 100:.5f},{116 + lon / 80:.5f}"
            )
    path.write_text("\n".join(rows) + "\n")


def main(folder: Path) -> None:
    """Read, audit, adapt, protect."""
    file, released = folder / "walks.csv", folder / "walks-protected.csv"
    write_data(file)

    # 1. the columns of the file are recognised: places become cells of about a kilometre, a user's day is read together
    data = od.read(file)
    print(data)

    # 2. one fix tells about the next: how much more than the noisy fix alone? ε is per kilometre
    audit = od.audit(data, epsilon=1.0, delta=0.1)
    print(audit)
    audit.report(folder / "report.html")

    # 3. the least noise whose leakage is certified
    fixed = od.adapt(data, epsilon=1.0, delta=0.1)
    print(f"scales {fixed.scales}: {fixed.verdict.state}")
    if fixed.policy is None:
        print(f"nothing is released: {fixed.why}")
        return

    # 4. release the file; each record once
    done = fixed.policy.save(folder / "run").protect(file, released)
    print(f"{done.records} fixes released, {done.dropped} left out")
    for path in (file, released):
        print(f"  {path.name}: {path.read_text().splitlines()[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
