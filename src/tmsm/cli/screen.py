"""What the user sees: tables with colours in a terminal, plain text in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from tmsm.archive import FitRecord

__all__ = ["made_by", "say", "show_facts", "show_record", "show_table"]


def say(text: str = "") -> None:
    """A line for the user, on standard error: standard output is for results."""
    typer.echo(text, err=True)


def show_record(record: FitRecord) -> None:
    """The table of a fit and its facts."""
    if not sys.stdout.isatty():
        typer.echo(record.to_text())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    rows = record.content["table"]
    table = Table(title=Text(record.content["title"]), title_justify="left", title_style="bold", show_edge=False)
    for k, name in enumerate(rows[0]):
        table.add_column(name, justify="right" if k else "left", style="bold cyan" if k == 1 else None)
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    console.print(table)
    facts = Table(show_header=False, show_edge=False, box=None, padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    for name, text in record.content["facts"]:
        facts.add_row(name, Text(text))
    console.print(facts)


def show_facts(title: str, facts: Sequence[Sequence[str]]) -> None:
    """Names and words."""
    from tmsm.estimators.summary import facts_text

    typer.echo(f"{title}\n{facts_text(facts)}")


def show_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """A heading and lines."""
    if not sys.stdout.isatty():
        from tmsm.estimators.summary import plain_table

        typer.echo(f"{title}\n{plain_table(rows)}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", title_style="bold", show_edge=False)
    for k, name in enumerate(rows[0]):
        table.add_column(name, justify="right" if k else "left")
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    Console().print(table)


def made_by() -> dict[str, str]:
    """The command and the versions behind a result."""
    import platform
    import shlex
    from importlib.metadata import version

    return {
        "command": shlex.join(["tmsm", *sys.argv[1:]]),
        "tmsm": version("tmsm"),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "python": platform.python_version(),
    }
