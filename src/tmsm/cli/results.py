"""Where the results of a fit go: the screen, a file, a picture, a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tmsm.cli.advice import for_command
from tmsm.cli.screen import made_by, show_json, show_record
from tmsm.cli.streams import say
from tmsm.display.record import FitRecord
from tmsm.estimators.base import Estimator
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.whole_files import is_standard_output, write_text, write_whole

__all__ = ["show_result", "write_comparison", "write_pictures"]


def show_result(estimator: Estimator, *, json: bool, save: Path | None, report: Path | None) -> None:
    """The table, or JSON, and the fit in a file."""
    record = FitRecord.of(estimator, made_by(), whole=save is not None)
    if json:
        show_json(record)
    else:
        show_record(record, beside=any(path is not None and is_standard_output(path) for path in (save, report)))
    if save is not None and is_standard_output(save):
        show_json(record, whole=True)
    elif save is not None:
        record.save(save)
        say(f"Saved: {save}")


def write_pictures(
    estimator: Estimator,
    *,
    title: str | None,
    marks: Mapping[str, FloatArray],
    plot: Path | None,
    report: Path | None,
    notes: Sequence[str] = (),
) -> None:
    """A picture and a report, each with what the likelihood without the border would say beside the fit.

    The notes say how the points were read and chosen.
    """
    if plot is None and report is None:
        return
    from tmsm.display.plots import FitDisplay
    from tmsm.display.report import html_report
    from tmsm.display.report.words import described

    fits = {"the fit": estimator, **estimator.beside()}
    if plot is not None:
        figure = FitDisplay.from_estimators(fits, marks=marks).figure_
        write_whole(plot, lambda path: figure.savefig(path, format=plot.suffix.lstrip(".").lower(), dpi=150))
        say(f"Picture: {plot}")
    if report is not None:
        heading = title or described(estimator.result_)
        page = html_report(fits, title=heading, made_by=made_by(), marks=marks, notes=notes, reword=for_command)
        write_text(report, page)
        say(f"Report: {report}")


def write_comparison(
    fits: Mapping[str, Estimator],
    title: str,
    tables: Sequence[tuple[str, str, Sequence[Sequence[str]]]],
    report: Path,
    notes: Sequence[str],
) -> None:
    """A report on several models of the same points, the best first, with tables: heading, text, rows."""
    from tmsm.display.report import TableSection, html_report

    shown = [TableSection(*table) for table in tables]
    page = html_report(fits, title=title, made_by=made_by(), tables=shown, notes=notes, reword=for_command)
    write_text(report, page)
    say(f"Report: {report}")
