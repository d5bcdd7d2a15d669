"""Text: from a CSV file to its protected release in four steps. Run: python examples/quickstart_text.py [FOLDER]"""

import csv
import sys
import tempfile
from pathlib import Path

from oddshift.app.configured_runs import run_adapt, run_audit
from oddshift.app.display import headline
from oddshift.app.init import start
from oddshift.data.embedded import people
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.policies import load_policy


def write_data(path: Path) -> None:
    """1,200 short texts about made-up people; any CSV file with a column of text will do."""
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text"])
        table.writerows([text] for text in people(1200).texts)


def main(folder: Path) -> None:
    """Start, audit, adapt, protect."""
    data, config, run = folder / "notes.csv", folder / "notes.toml", folder / "run"
    write_data(data)

    # 1. a configuration: names are guessed by their capitals, vectors are made from the texts
    started = start(data, config)
    config.write_text(started.config)
    print(f"{started.secrets} secrets found by {started.detector}; epsilon = {started.epsilon:g}")

    # 2. what does somebody learn who reads all replaced words of a text together?
    audit = run_audit(started.config, run, home=folder)
    print(headline(audit))
    for row in audit.attackers:
        print(f"  {row.name:<7} right about {row.tiers[0].top1:.0%} of the words, gain over own {row.gain:+.2f} nats")

    # 3. the least noise whose leakage is certified
    adapted = run_adapt(started.config, run, home=folder)
    print(f"scales {adapted.scales}: {adapted.state}; {adapted.basis or 'nothing was certified'}")
    policy = run / "policy.json"
    if not policy.is_file():
        return

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
