"""The report: one self-contained page, a pure function of the run folder. How to read it: docs/report.md."""

from oddshift.app.report.page import page
from oddshift.app.report.page_sections import Sources, read_sources

__all__ = ["Sources", "page", "read_sources"]
