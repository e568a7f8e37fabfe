"""One HTML file with an interactive globe, the estimates and what to think of them; it needs no network."""

from tmsm.display.report.page import Section, TableSection, html_report

__all__ = ["Section", "TableSection", "html_report"]
