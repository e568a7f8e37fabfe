"""Plain-text tables, and numbers as a reader wants them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

__all__ = ["facts_text", "in_number", "ordinal", "plain_table", "readable", "readable_p", "readable_share", "shortened"]

# Columns of facts.
_WIDTH = 110


def facts_text(facts: Sequence[Sequence[str]]) -> str:
    """Names to the left, words to the right, wrapped."""
    label_width = max(len(label) for label, _ in facts)
    indent = " " * (label_width + 2)
    lines = [
        textwrap.fill(
            text, _WIDTH, initial_indent=f"{label.ljust(label_width)}  ", subsequent_indent=indent,
            break_long_words=False, break_on_hyphens=False,
        )
        for label, text in facts
    ]  # fmt: skip
    return "\n".join(lines)


def in_number(count: int, what: str) -> str:
    """The beginning of a sentence on so many things: 1 group is, 2 groups are."""
    return f"1 {what} is" if count == 1 else f"{count:,} {what}s are"


def ordinal(count: int) -> str:
    """The number as a place in a row: 1st, 2nd, 3rd, 4th, 11th, 64th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
    return f"{count:,}{'th' if count % 100 in (11, 12, 13) else ending}"


def readable(value: float) -> str:
    """Two digits, and no exponent for a large number."""
    return f"{float(f'{value:.2g}'):g}"


def readable_p(value: float) -> str:
    """A p-value as a reader wants it."""
    return f"p = {value:.2g}" if value >= 1e-300 else "p < 1e-300"


def readable_share(share: float) -> str:
    """A share as whole per cent, and never nothing or all of what was only counted among draws."""
    if share > 0.99:
        return "> 99 %"
    return f"{100.0 * share:.0f} %" if share >= 0.01 else "< 1 %"


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    """A heading, a rule and lines; the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "  ".join(cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    rule = "─" * max(len(line) for line in lines)
    return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:]])


def shortened(text: str) -> str:
    """Six digits are enough to read."""
    return re.sub(r"\d+\.\d{6,}", lambda match: f"{float(match.group()):.6g}", text)
