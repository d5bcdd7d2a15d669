"""Synthetic data with a known joint law: people in short texts, chains, topics."""

from oddshift.data.embedded.chains import SyntheticChain, chain
from oddshift.data.embedded.people import People, PeopleSettings, people
from oddshift.data.embedded.topics import Topics, topics

__all__ = ["People", "PeopleSettings", "SyntheticChain", "Topics", "chain", "people", "topics"]
