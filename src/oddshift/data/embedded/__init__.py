"""Synthetic data with a known joint law: people in short texts, chains, topics."""

from oddshift.data.embedded.laws import SyntheticChain, Topics, chain, topics
from oddshift.data.embedded.people import People, PeopleSettings, people

__all__ = ["People", "PeopleSettings", "SyntheticChain", "Topics", "chain", "people", "topics"]
