"""Reports of several fits, under the name by which they are imported: ``from tmsm.report import html_report``."""

from tmsm.display.report import Section, TableSection, html_report

__all__ = ["Section", "TableSection", "html_report"]
