"""The strongest attackers on AG News at ε = 2.5: all counts weighed together, and those with a network that reads W."""

from __future__ import annotations

from studies.ag_news_audit import Clock, audited, page
from studies.tables import write

ATTACKERS = ("counts", "combination+W")


def main() -> None:
    """Run the audit and write the page."""
    clock = Clock()
    found = audited(ATTACKERS, clock)
    write("ag_news_attackers", "The strongest attackers on AG News", page(found, clock))


if __name__ == "__main__":
    main()
