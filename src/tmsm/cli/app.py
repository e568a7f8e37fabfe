"""The application and its exits: 0 fine, 2 bad input with one line, 130 interrupted; never a traceback for those."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

import typer

from tmsm.cli.advice import for_command
from tmsm.cli.compare import compare
from tmsm.cli.demo import demo
from tmsm.cli.fit import fit
from tmsm.cli.map import density_map
from tmsm.cli.reproduce import reproduce
from tmsm.cli.show import show
from tmsm.cli.streams import emit, prepare, say
from tmsm.cli.tools import region, simulate
from tmsm.foundation.errors import TmsmError

__all__ = ["main"]

BAD_INPUT, INTERRUPTED = 2, 130
# What the parser raises for a wrong option or argument; Typer exports its subclasses only.
_ParserError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

app = typer.Typer(
    name="tmsm",
    help="Fit probability models to data that were observed only inside part of a curved space.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help is there in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, fit, show, compare, density_map, region, simulate, reproduce):
    app.command("map" if command is density_map else None)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        emit(f"tmsm {version('tmsm')}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Fit probability models to data that were observed only inside part of a curved space."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; ends the process with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    prepare()
    warnings.showwarning = _warn
    try:
        code = app(args=given or ["--help"], standalone_mode=False)
    except typer.Abort as interruption:
        _complain(f"interrupted. {interruption}")
        sys.exit(INTERRUPTED)
    except _ParserError as error:
        _complain(error.format_message())
        sys.exit(BAD_INPUT)
    except TmsmError as error:
        _complain(str(error))
        sys.exit(BAD_INPUT)
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(BAD_INPUT)
    except MemoryError:
        _complain("there is not enough memory for this: fewer points, or a simpler border, may do.")
        sys.exit(BAD_INPUT)
    except ModuleNotFoundError as error:
        _complain(f"{error.name} is not installed: this command needs tmsm[plot].")
        sys.exit(BAD_INPUT)
    if code == INTERRUPTED:  # some versions of Typer return this instead of raising
        _complain("interrupted.")
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> None:
    """One line on standard error."""
    say(f"tmsm: {for_command(' '.join(text.split()))}")


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What a library warns of, as one line without the place in its source."""
    _complain(str(message))
