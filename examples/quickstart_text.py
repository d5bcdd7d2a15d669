"""Text: from a CSV file to its protected release in four steps. Run: python examples/quickstart_text.py [FOLDER]"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

import oddshift as od
from oddshift.adapt import AdaptSettings
from oddshift.data.embedded import HABITS, people
from oddshift.mechanisms import MechanismSettings

EPSILON = 0.27
"""What `oddshift init` suggests: all releases of a text multiply the odds of close alternatives by at most 3."""
DELTA = 0.05
"""The budget may be exceeded in at most this share of cases."""


def write_data(path: Path) -> None:
    """600 short texts about made-up people; any CSV file with a column of text will do."""
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text"])
        table.writerows([text] for text in people(600).texts)


def write_own(folder: Path) -> tuple[Path, Path]:
    """What only you can know: a list of further sensitive words; and word vectors, such as a file of GloVe."""
    habits, vectors, known = folder / "habits.txt", folder / "vectors.npz", people(1).vectors
    habits.write_text("\n".join(HABITS) + "\n")
    np.savez(vectors, words=np.array(known.words), vectors=known.vectors)
    return habits, vectors


def main(folder: Path) -> None:
    """Read, audit, adapt, protect."""
    file, released = folder / "notes.csv", folder / "notes-protected.csv"
    write_data(file)
    habits, vectors = write_own(folder)

    # 1. names are guessed by their capitals, occupations come from a list that is built in. Habits are on a list of our
    #    own: in the clear they would give away four of ten occupations before anything is released, and no noise on the
    #    other words changes that. They are a kind of their own, so that a habit becomes a habit.
    own = {"kind": "gazetteer", "path": str(habits), "label": "HABIT"}
    detectors = [*({"kind": kind} for kind in ("patterns", "handles", "capitals", "occupations")), own]
    settings = {"is_public": True, "vectors": str(vectors), "detectors": detectors}
    data = od.read(file, kind="text", settings=settings)
    print(data)

    # 2. what does somebody learn who reads all replaced words of a text together? One release spends epsilon exactly
    mechanism = MechanismSettings(calibrated=True)
    audit = od.audit(data, mechanism, epsilon=EPSILON, delta=DELTA)
    print(audit)
    audit.report(folder / "report.html")

    # 3. the least noise whose leakage is certified, and under which first guesses are right at most one time in five;
    #    where noise would lose more than a mark of the kind, as at this epsilon, marks are released, which is proved
    goals = AdaptSettings(epsilon=EPSILON, delta=DELTA, success={"*": 0.2})
    fixed = od.adapt(data, mechanism, epsilon=EPSILON, delta=DELTA, settings=goals)
    print(fixed)
    print(f"scales {fixed.scales}: {fixed.verdict.state}")
    if fixed.policy is None:
        print(f"nothing is released: {fixed.why}")
        return

    # 4. release the file; each record once
    done = fixed.policy.save(folder / "run").protect(file, released)
    print(f"{done.records} records released, {sum(done.positions.values())} words replaced, {done.masked} masked")
    for path in (file, released):
        print(f"  {path.name}: {path.read_text().splitlines()[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
