"""``tmsm show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tmsm.cli.options import Marks

__all__ = ["show"]


def show(
    saved: Annotated[Path, typer.Argument(metavar="FIT.json", help="A fit that 'tmsm fit --save' wrote.")],
    json: Annotated[bool, typer.Option("--json", help="Print the file's JSON, without the rows in it.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an interactive report.", readable=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a picture.", readable=False)] = None,
    mark: Marks = None,
) -> None:
    """Show a saved fit, and draw it."""
    from tmsm.cli.inputs import read_marks
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.results import write_pictures
    from tmsm.cli.screen import show_json, show_record
    from tmsm.display.record import FitRecord
    from tmsm.estimators import load
    from tmsm.foundation.whole_files import is_standard_output
    from tmsm.manifolds.frames import EARTH

    check_outputs([saved], {"--json": Path("-") if json else None, "--plot": plot, "--report": report})
    record = FitRecord.load(saved)
    estimator = None if report is None and plot is None else load(saved)
    marks = read_marks(mark or [], EARTH if estimator is None else estimator.result_.frame)
    if json:
        show_json(record)
    else:
        show_record(record, beside=report is not None and is_standard_output(report))
    if estimator is not None:
        write_pictures(estimator, title=None, marks=marks, plot=plot, report=report)
