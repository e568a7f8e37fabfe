"""What the user sees: tables with colours in a terminal, plain text in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal, TextIO

from tmsm.cli.advice import for_command
from tmsm.cli.streams import can_encode, emit, say
from tmsm.display.record import FitRecord, versions
from tmsm.foundation.whole_files import visible

__all__ = ["is_terminal", "made_by", "show_data", "show_facts", "show_json", "show_record", "show_table"]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at it; a stream may be closed."""
    return stream is not None and stream.isatty()


def show_json(record: FitRecord, *, whole: bool = False) -> None:
    """A fit as JSON, with escapes where the encoding of standard output lacks a character.

    The ``whole`` document has the rows of the fit, if they are in the record.
    """
    record = record if whole else record.shortened()
    text = record.to_json()
    emit(text if can_encode(text) else record.to_json(ensure_ascii=True), end="")


def show_data(content: object) -> None:
    """Numbers and words as JSON."""
    import json

    text = json.dumps(content, indent=2, ensure_ascii=False)
    emit(text if can_encode(text) else json.dumps(content, indent=2))


def show_record(record: FitRecord, *, beside: bool = False) -> None:
    """The table of a fit and its facts; ``beside`` standard output, on standard error, where that has a result."""
    record = record.reworded(for_command)
    if not is_terminal(sys.stderr if beside else sys.stdout):
        (say if beside else emit)(record.to_text())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=beside)
    rows = record.content["table"]
    title = Text(visible(record.content["title"]))
    table = Table(title=title, title_justify="left", title_style="bold", show_edge=False)
    for k, name in enumerate(rows[0]):
        justify: Literal["right", "left"] = "right" if k else "left"
        table.add_column(Text(visible(name)), justify=justify, style="bold cyan" if k == 1 else None, overflow="fold")
    for row in rows[1:]:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)
    for sentence, further in record.further_tables:
        console.print(Text(visible(sentence)), style="bold")
        below = Table(show_edge=False)
        for k, name in enumerate(further[0]):
            below.add_column(Text(visible(name)), justify="right" if k else "left")
        for row in further[1:]:
            below.add_row(*(Text(visible(cell)) for cell in row))
        console.print(below)
    facts = Table(show_header=False, show_edge=False, box=None, padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    for name, text in record.content["facts"]:
        facts.add_row(Text(visible(name)), Text(visible(text)))
    console.print(facts)


def show_facts(title: str, facts: Sequence[Sequence[str]]) -> None:
    """Names and words."""
    from tmsm.foundation.text import facts_text

    emit(f"{title}\n{facts_text(facts)}")


def show_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """A heading and lines."""
    if not is_terminal(sys.stdout):
        from tmsm.foundation.text import plain_table

        emit(f"{title}\n{plain_table(rows)}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(visible(title)), title_justify="left", title_style="bold", show_edge=False)
    for k, name in enumerate(rows[0]):
        table.add_column(name, justify="right" if k else "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)


def made_by() -> dict[str, str]:
    """The command and the versions behind a result."""
    import shlex

    return {"command": shlex.join(["tmsm", *sys.argv[1:]]), **versions()}
