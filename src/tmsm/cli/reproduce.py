"""``tmsm reproduce``: the paper's experiments."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tmsm.cli.options import whole
from tmsm.foundation.clusters import cluster_at

__all__ = ["reproduce"]


class Part(StrEnum):
    """What can be run."""

    illustration = "illustration"
    accuracy = "accuracy"
    projection = "projection"
    storms = "storms"
    errata = "errata"
    families = "families"
    all = "all"


def reproduce(
    what: Annotated[Part, typer.Argument(help="The experiment to run.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and finished cells.", file_okay=False)] = Path(
        "tmsm-reproduction"
    ),
    trials: Annotated[
        int, typer.Option(parser=whole(2), metavar="NUMBER", help="Simulated samples for each size and experiment.")
    ] = 512,
    jobs: Annotated[
        int,
        typer.Option(
            parser=whole(0), metavar="NUMBER", help="Processes; 0 for one a core. The numbers do not depend on it."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(parser=whole(0), metavar="NUMBER", help="Seed of all random numbers.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with NOAA's Storm Events files and HURDAT2, for the storms.", exists=True, file_okay=False
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786, whose workers do the work."),
    ] = None,
) -> None:
    """Run the experiments of Williams & Liu (2022) anew: tables, figures and, with "all", a page of verdicts.

    What is finished is kept: after an interruption the same command goes on where it stopped.
    """
    import matplotlib as _  # noqa: F401, ICN001  said at once where it is missing

    from tmsm_experiments.paper.run import Request, reproduce

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    out.mkdir(parents=True, exist_ok=True)
    try:
        with nullcontext() if cluster is None else cluster_at(cluster):
            reproduce(what.value, Request(out, trials, jobs or cores, seed, data, _say))
    except KeyboardInterrupt:
        raise typer.Abort(f"What was finished is kept in {out}: the same command goes on from there.") from None


def _say(text: str) -> None:
    """Tables as tables in a terminal, as plain text in a pipe."""
    from tmsm.cli.screen import is_terminal
    from tmsm.cli.streams import emit

    if is_terminal(sys.stdout):
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        emit(text)
