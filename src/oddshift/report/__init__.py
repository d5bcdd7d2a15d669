"""The report: one self-contained page, a pure function of the run folder. How to read it: docs/report.md."""

from oddshift.report.page import page
from oddshift.report.sources import Sources, read_sources

__all__ = ["Sources", "page", "read_sources"]
