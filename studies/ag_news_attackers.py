"""The default attackers on AG News and IMDB at ε = 2.5 with a fresh draw each time: what they gain, and their cost.

`python -m studies.ag_news_attackers [DOCUMENTS [FOLDER [CORPUS]]]`: with a number, that many select and certify
documents each are drawn at random; with a folder, finished scans are kept there and an interrupted run continues. The
corpus is ag_news or imdb.
"""

from __future__ import annotations

import sys
from pathlib import Path

from oddshift.audit import Audit
from oddshift.audit.settings import DEFAULT_ATTACKERS
from studies.ag_news import ag_news, imdb
from studies.corpus_audit import Clock, audited, page
from studies.tables import write

CORPORA = {"ag_news": ag_news, "imdb": imdb}
NAMES = {"ag_news": "AG News", "imdb": "IMDB"}

SMALLER = 0.03
"""A smaller δ, for which the same bounds are read."""


def main() -> None:
    """Run the audit and write the page."""
    clock, arguments = Clock(), sys.argv[1:]
    documents = int(arguments[0]) if arguments else None
    folder = Path(arguments[1]) if len(arguments) > 1 else None
    corpus = arguments[2] if len(arguments) > 2 else "ag_news"
    found = audited(DEFAULT_ATTACKERS, clock, documents, folder, CORPORA[corpus])
    said = f"{page(found, clock)}\n\n{smaller_delta(found)}"
    called = f"python -m studies.ag_news_attackers {' '.join(arguments)}".strip()
    write(f"{corpus}_attackers", f"The default attackers on {NAMES[corpus]}", said, called)


def smaller_delta(found: Audit) -> str:
    """What the verdict implies for a smaller δ: bounds on a rate do not depend on δ."""
    if found.state == "certified":
        return f"Certified at δ = {found.settings.delta}; δ = {SMALLER} needs a run of its own."
    return (
        f"At δ = {found.settings.delta} the verdict is {found.state}. Bounds on a rate do not depend on δ, so at "
        f"δ = {SMALLER} nothing is certified either."
    )


if __name__ == "__main__":
    main()
