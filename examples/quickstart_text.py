"""Text: from a CSV file to its protected release in four steps. Run: python examples/quickstart_text.py [FOLDER]"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from oddshift.app.configured_runs import run_adapt, run_audit
from oddshift.app.display import headline
from oddshift.app.init import start
from oddshift.app.init.choices import OwnFiles
from oddshift.data.embedded import people
from oddshift.data.embedded.embedded_words import HABITS
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.policies import load_policy


def write_data(path: Path) -> None:
    """1,200 short texts about made-up people; any CSV file with a column of text will do."""
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text"])
        table.writerows([text] for text in people(1200).texts)


def write_own(folder: Path) -> OwnFiles:
    """What only you can know: a list of further sensitive words; and word vectors, such as a file of GloVe."""
    habits, vectors, known = folder / "habits.txt", folder / "vectors.npz", people(1).vectors
    habits.write_text("\n".join(HABITS) + "\n")
    np.savez(vectors, words=np.array(known.words), vectors=known.vectors)
    return OwnFiles(words=habits, vectors=vectors)


def main(folder: Path) -> None:
    """Start, audit, adapt, protect."""
    data, config, run = folder / "notes.csv", folder / "notes.toml", folder / "run"
    write_data(data)

    # 1. a configuration: names are guessed by their capitals, occupations come from a list that is built in. Habits are
    #    on a list of our own: in the clear they would give away four of ten occupations before anything is released,
    #    and no noise on the other words changes that. They are a kind of their own, so that a habit becomes a habit.
    started = start(data, config, write_own(folder))
    text = started.config.replace('path = "habits.txt"}', 'path = "habits.txt", label = "HABIT"}')
    config.write_text(text)
    print(f"{started.secrets} secrets found by {started.detector}; epsilon = {started.epsilon:g}")

    # 2. what does somebody learn who reads all replaced words of a text together?
    audit = run_audit(text, run, home=folder)
    print(headline(audit))
    for row in audit.attackers:
        print(f"  {row.name:<7} right about {row.tiers[0].top1:.0%} of the words, gain over own {row.gain:+.2f} nats")

    # 3. the least noise whose leakage is certified, and under which first guesses are right at most one time in five
    adapted = run_adapt(text, run, home=folder)
    print(f"scales {adapted.scales}: {adapted.state}; {adapted.basis or 'nothing was certified'}")
    chosen = adapted.choice("AmPL, remapped" if adapted.remapped else "AmPL")
    if adapted.scales is None or chosen is None:
        return
    for tier in chosen.tiers:
        print(f"  {tier.tier}: {tier.top1:.1%} guessed at the first attempt, {tier.before:.1%} before any release")
    print(
        f"  the cost: an expected loss of {chosen.loss:.3f}; one constant word of each kind {adapted.constant_loss:.3f}"
    )
    policy = run / "policy.json"

    # 4. release the file; each record once. Where nobody learned anything jointly, the policy rests on one release
    #    alone and says so: whoever applies it has to agree.
    agreed = ProtectSettings(allow_uncertified=adapted.chosen is None)
    done = protect(data, folder / "notes-protected.csv", load_policy(policy), Ledger.beside(policy), agreed)
    print(f"{done.records} records released, {sum(done.positions.values())} words replaced, {done.masked} masked")
    for path in (data, folder / "notes-protected.csv"):
        print(f"  {path.name}: {path.read_text().splitlines()[1]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary))
