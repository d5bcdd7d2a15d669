"""Synthetic data with a known joint law: people in short texts."""

from oddshift.data.embedded.people import People, PeopleSettings, people

__all__ = ["People", "PeopleSettings", "people"]
