"""``tmsm fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tmsm.cli.options import (
    Also,
    Background,
    BackgroundMap,
    Bad,
    Columns,
    Covariates,
    Exposure,
    Groups,
    Interaction,
    Known,
    Marks,
    ModelName,
    Outside,
    Points,
    PointsWhere,
    RegionText,
    Robust,
    Sky,
    Weight,
    Where,
    Within,
)

__all__ = ["fit"]


def fit(
    points: Points,
    region: RegionText,
    model: ModelName = "vmf",
    weight: Weight = "auto",
    method: Annotated[
        str | None,
        typer.Option(
            help="score (score matching), refined (score matching, then a step to the likelihood), mle (exact "
            "likelihood), naive (ignores the border); by default score, and mle for a mixture or a heavy tail.",
        ),
    ] = None,
    background: Background = False,
    background_map: BackgroundMap = None,
    covariate: Covariates = None,
    robust: Robust = None,
    known: Known = None,
    also: Also = None,
    within: Within = None,
    interaction: Interaction = False,
    columns: Columns = None,
    where: Where = None,
    points_where: PointsWhere = None,
    bad: Bad = "raise",
    sky: Sky = None,
    outside: Outside = "raise",
    exposure: Exposure = None,
    groups: Groups = None,
    mark: Marks = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an interactive report.", readable=False)
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Save the fit for 'tmsm show'.", readable=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Write a picture.", readable=False)] = None,
) -> None:
    """Fit a model to points that were observed only inside a border."""
    from tmsm.cli.borders import border_files, frame_of
    from tmsm.cli.factors import factor_notes, naming_columns, read_factors
    from tmsm.cli.inputs import Observed, check_factors, make_estimator, read_background, read_marks, read_power
    from tmsm.cli.models import make_model, needs_whole
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.results import show_result, write_pictures
    from tmsm.cli.streams import say

    printed = {"--json": Path("-") if json else None}
    read = [points, *border_files(region), *(path for path in (exposure, background_map) if path is not None)]
    check_outputs(read, {**printed, "--save": save, "--plot": plot, "--report": report})
    factors = read_factors(also or [], within or [])
    check_factors(factors, interaction, {"--plot": plot, "--report": report, "--exposure": exposure})
    chosen = make_model(
        model, known or [], factors=factors, interaction=interaction,
        background=read_background(background, background_map, frame_of(sky)),
    )  # fmt: skip
    power = read_power(robust)
    marks = read_marks(mark or [], frame_of(sky))
    observed = Observed.read(
        points, region, columns=columns, groups=groups, where=where, points_where=points_where, bad=bad, sky=sky,
        outside=outside, exposure=exposure, factors=factors, covariates=covariate or [],
        whole=needs_whole(chosen, [method]),
    )  # fmt: skip
    estimator = make_estimator(
        method, chosen.on(observed.border.manifold) if factors else chosen, observed.border, weight, observed.exposure,
        robust=power, with_covariates=bool(covariate), outside=observed.outside,
    )  # fmt: skip
    with naming_columns(factors):
        estimator.fit(observed.points, groups=observed.labels, covariates=observed.covariates)
    show_result(estimator, json=json, save=save, report=report)
    notes = observed.notes()
    for note in [*(factor_notes(estimator, factors) if factors else []), *notes]:
        say(note)
    write_pictures(
        estimator, title=f"{points.name} inside {region}", marks=marks, plot=plot, report=report, notes=notes
    )
