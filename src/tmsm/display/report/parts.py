"""Parts that pages have in common: tables, data and scripts within the page, everything from outside escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from tmsm.foundation.errors import MissingDependencyError

__all__ = ["facts_html", "filled_page", "html_table", "made_by_html", "safe_json"]


def html_table(rows: Sequence[Sequence[str]], *, heading: bool = True, css: str = "") -> str:
    """Rows of cells, the first of which are headings unless there are none."""
    head = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in rows[0]) + "</tr>" if heading else ""
    kind = "" if css else ' class="number"'
    body = "".join(_row(row, kind) for row in rows[1:])
    return f'<div class="scroll"><table class="{css}">{head}{body}</table></div>'


def _row(row: Sequence[str], kind: str) -> str:
    """A row of a table; what is set in stays so, and a name alone stands above what follows."""
    if not any(row[1:]):
        return f'<tr><th class="group" colspan="{len(row)}">{escape(row[0])}</th></tr>'
    cells = "".join(f"<td{kind}>{'&nbsp;' * (len(c) - len(c.lstrip()))}{escape(c.lstrip())}</td>" for c in row)
    return f"<tr>{cells}</tr>"


def safe_json(value: Any) -> str:
    """JSON that cannot end the script it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingDependencyError("Reports need plotly: pip install 'tmsm[report]'.") from None
    script: str = get_plotlyjs()
    return script


def _text(name: str) -> str:
    return (files("tmsm.display.report") / name).read_text(encoding="utf-8")


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Names and words as a table without headings."""
    return html_table([("", ""), *facts], heading=False, css="facts")


def made_by_html(made_by: Mapping[str, str] | None) -> str:
    """What made a page: names and values."""
    return "<br>".join(f"{escape(key)}: <code>{escape(value)}</code>" for key, value in (made_by or {}).items())


def filled_page(template: str, data: Any, **places: str) -> str:
    """A page from a template, with the style, the library for charts, and the data for its scripts."""
    parts = {"style": _text("style.css"), "plotly": _plotly(), "data": safe_json(data)}
    return Template(_text(template)).substitute(**parts, **places)
