"""Data of our own making, with a known joint law: people in short texts, chains, topics."""

from oddshift.embedded.chains import Chain, chain
from oddshift.embedded.people import People, people
from oddshift.embedded.topics import Topics, topics

__all__ = ["Chain", "People", "Topics", "chain", "people", "topics"]
