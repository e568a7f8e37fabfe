"""``tmsm fit``, ``tmsm show`` and ``tmsm compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmsm.cli.options import Columns, Known, ModelName, Outside, Points, RegionText, Weight

if TYPE_CHECKING:
    from tmsm.estimators.base import Estimator

__all__ = ["compare", "fit", "show"]


def fit(
    points: Points,
    region: RegionText,
    model: ModelName = "vmf",
    weight: Weight = "auto",
    method: Annotated[
        str,
        typer.Option(help="score (matching), refined (one step to the likelihood), mle (exact), naive (no border)."),
    ] = "score",
    known: Known = None,
    columns: Columns = None,
    outside: Outside = "raise",
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows with the same value here may depend on each other.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an interactive report.", readable=False)
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Save the fit for 'tmsm show'.", readable=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a picture.", readable=False)] = None,
) -> None:
    """Fit a model to points that were only seen inside a border."""
    import numpy as np

    from tmsm.cli.inputs import make_estimator, make_model, read_region, read_table, rows_inside
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.screen import made_by, show_json, show_record
    from tmsm.cli.streams import say
    from tmsm.display.record import FitRecord
    from tmsm.foundation.validation import check_option
    from tmsm.foundation.whole_files import is_standard_output, write_text

    check_option(outside, ["raise", "drop"], "--outside")
    printed = {"--json": Path("-") if json else None}
    check_outputs([points, Path(region)], {**printed, "--save": save, "--plot": plot, "--report": report})
    chosen = make_model(model, known or [])
    table = read_table(points, columns, groups)
    border = read_region(region)
    inside = rows_inside(table, border, outside)
    X = table.X[inside]
    labels = None if table.groups is None else table.groups[inside]
    estimator = make_estimator(method, chosen, border, weight)
    estimator.fit(X, groups=labels)
    record = FitRecord.of(estimator, made_by(), whole=save is not None)
    if json:
        show_json(record)
    else:
        show_record(record, beside=any(path is not None and is_standard_output(path) for path in (save, report)))
    copies = len(X) - np.unique(table.longitude[inside] + 1j * table.latitude[inside]).size
    if labels is None and copies > 0.05 * len(X):
        say(
            f"{copies:,} of {len(X):,} points are exact copies of others: if they are no observations of their own, "
            "the errors are too small. Drop them, or use --groups."
        )
    if table.n_without:
        say(f"{table.n_without:,} rows of {points.name} have no coordinates and were left out.")
    if len(X) < len(table):
        say(f"{len(table) - len(X):,} of {len(table):,} points lie outside the border and were left out.")
    if save is not None and is_standard_output(save):
        show_json(record, whole=True)
    elif save is not None:
        record.save(save)
        say(f"Saved: {save}")
    if plot is not None:
        _draw(estimator, plot)
    if report is not None:
        from tmsm.display.report import html_report
        from tmsm.estimators import NaiveMLE

        fits = {"the fit": estimator}
        if method != "naive":
            fits["ignoring the border"] = NaiveMLE(chosen).fit(X)
        write_text(report, html_report(fits, title=f"{points.name} inside {region}", made_by=made_by()))
        say(f"Report: {report}")


def show(
    saved: Annotated[Path, typer.Argument(metavar="FIT.json", help="A fit that 'tmsm fit --save' wrote.")],
    json: Annotated[bool, typer.Option("--json", help="Print the file's JSON, without the rows in it.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an interactive report.", readable=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a picture.", readable=False)] = None,
) -> None:
    """Show a saved fit."""
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.screen import show_json, show_record
    from tmsm.cli.streams import say
    from tmsm.display.record import FitRecord
    from tmsm.foundation.whole_files import is_standard_output

    check_outputs([saved], {"--json": Path("-") if json else None, "--plot": plot, "--report": report})
    record = FitRecord.load(saved)
    estimator = None
    if report is not None or plot is not None:
        from tmsm.estimators import load

        estimator = load(saved)
    if json:
        show_json(record)
    else:
        show_record(record, beside=report is not None and is_standard_output(report))
    if estimator is not None and plot is not None:
        _draw(estimator, plot)
    if estimator is not None and report is not None:
        estimator.report(report)
        say(f"Report: {report}")


def _draw(estimator: Estimator, plot: Path) -> None:
    """Write a picture of a fit."""
    from tmsm.cli.streams import say
    from tmsm.foundation.whole_files import write_whole

    figure = estimator.plot(land=True).figure_
    write_whole(plot, lambda path: figure.savefig(path, format=plot.suffix.lstrip(".").lower(), dpi=150))
    say(f"Picture: {plot}")


def compare(
    points: Points,
    region: RegionText,
    models: Annotated[str, typer.Option(help="Models to compare, with commas.")] = "vmf,kent,fisher-bingham",
    weight: Weight = "auto",
    columns: Columns = None,
    outside: Outside = "raise",
) -> None:
    """Compare models of the same points by an information criterion that needs no normalising constant."""
    from tmsm.cli.inputs import make_estimator, make_model, read_region, read_table, rows_inside
    from tmsm.cli.screen import show_table
    from tmsm.cli.streams import say
    from tmsm.foundation.errors import EstimationError
    from tmsm.foundation.text import readable_p
    from tmsm.foundation.validation import check_option
    from tmsm.inference.comparison import compare as compare_fits

    check_option(outside, ["raise", "drop"], "--outside")
    chosen = {name: make_model(name, [], "--models") for name in models.split(",")}
    table = read_table(points, columns)
    border = read_region(region)
    X = table.X[rows_inside(table, border, outside)]
    fits = []
    for name, model in chosen.items():
        try:
            fits.append(make_estimator("score", model, border, weight).fit(X))
        except EstimationError as error:
            say(f"{name}: {error}")
    if not fits:
        raise EstimationError("None of the models could be fitted.")
    rows = [("model", "weight", "parameters", "criterion", "above the best", "goodness of fit")]
    for one in compare_fits(fits):
        above = "" if len(rows) == 1 else f"{one.difference:.3g} ± {one.std_error:.2g}"
        goodness = "" if one.p_value is None else readable_p(one.p_value)
        rows.append((one.name, one.method, str(one.n_parameters), f"{one.criterion:.6g}", above, goodness))
    show_table(f"{len(X):,} points, best model first", rows)
