"""``tmsm compare``."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tmsm.cli.options import (
    Background,
    BackgroundMap,
    Bad,
    Columns,
    Covariates,
    Exposure,
    Groups,
    Known,
    Outside,
    Points,
    PointsWhere,
    RegionText,
    Sky,
    Weight,
    Where,
)
from tmsm.foundation.text import readable_p

if TYPE_CHECKING:
    from tmsm.estimators.base import Estimator
    from tmsm.inference.comparison import ComparedFit
    from tmsm.manifolds.frames import Frame
    from tmsm.models.base import Model

__all__ = ["compare"]

_WIDTH = 110
# What to try where no model of the table fits.
_OTHERS = "Others are mixture:2, mixture, heavy-tailed, and mixture:1 with --background. tmsm map needs no model."


def compare(
    points: Points,
    region: RegionText,
    models: Annotated[
        str, typer.Option(help="Models to compare, with commas, as tmsm fit names them: vmf,mixture:2,heavy-tailed.")
    ] = "vmf,kent,fisher-bingham",
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods to compare, with commas: score, refined, mle and naive; by default score, and mle for "
            "mixtures and heavy tails.",
        ),
    ] = None,
    weight: Weight = "auto",
    background: Background = False,
    background_map: BackgroundMap = None,
    covariate: Covariates = None,
    known: Known = None,
    columns: Columns = None,
    where: Where = None,
    points_where: PointsWhere = None,
    bad: Bad = "raise",
    sky: Sky = None,
    outside: Outside = "raise",
    exposure: Exposure = None,
    groups: Groups = None,
    extrapolate: Annotated[
        str | None,
        typer.Option(
            metavar="DISTANCES",
            help="Print how many points each model expects outside for each observed point, in rings that end at "
            "these distances from the border: 250,500,1000 in km on the Earth, in degrees on the sky.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write an interactive report with all models.", readable=False),
    ] = None,
) -> None:
    """Compare models and methods on the same points, by an information criterion that needs no normalising constant."""
    from tmsm.cli.borders import border_files, frame_of
    from tmsm.cli.inputs import Observed, make_estimator, read_background
    from tmsm.cli.models import needs_whole, usual_method
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.rings import read_rings, ring_regions, spread_of
    from tmsm.cli.screen import show_data, show_table
    from tmsm.cli.streams import emit, say
    from tmsm.foundation.errors import EstimationError
    from tmsm.inference.comparison import compare as compare_fits

    frame = frame_of(sky)
    read = [points, *border_files(region), *(path for path in (exposure, background_map) if path is not None)]
    check_outputs(read, {"--json": Path("-") if json else None, "--report": report})
    rings = read_rings(extrapolate)
    chosen = _models(models, known or [], read_background(background, background_map, frame))
    named = None if methods is None else [method.strip() for method in methods.split(",")]
    observed = Observed.read(
        points, region, columns=columns, groups=groups, where=where, points_where=points_where, bad=bad, sky=sky,
        outside=outside, exposure=exposure, covariates=covariate or [],
        whole=next(filter(None, (needs_whole(model, named or [None]) for model in chosen.values())), None),
    )  # fmt: skip
    outer = ring_regions(rings, observed.border, frame)
    makers = [
        (name, model, method)
        for name, model in chosen.items()
        for method in named or [usual_method(model, observed.border.manifold.dim)]
    ]
    estimators = [
        make_estimator(
            method, model, observed.border, weight if method in ("score", "refined") else "auto",
            None if method == "naive" else observed.exposure, "--methods", with_covariates=bool(covariate),
            outside=observed.outside,
        )
        for _, model, method in makers
    ]  # fmt: skip
    fits: dict[tuple[str, str], Estimator] = {}
    for (name, _, method), estimator in zip(makers, estimators, strict=True):
        try:
            fits[name, method] = estimator.fit(observed.points, groups=observed.labels, covariates=observed.covariates)
        except EstimationError as error:
            say(f"{name}, {method}: {error}")
    if not fits:
        raise EstimationError("None of the models could be fitted.")
    labels, found = list(fits), list(fits.values())
    compared = compare_fits(found, extrapolate=outer)
    rows = [_described(one, labels[one.index], found[one.index]) for one in compared]
    spread = spread_of(compared, [", ".join(label) for label in labels])
    n = found[0].n_samples_
    if json:
        extra = {"extrapolation": {"unit": frame.unit.name, "distances": rings, "meaning": spread}} if rings else {}
        show_data({"n_samples": n, "fits": rows, **extra})
    else:
        show_table(f"{n:,} points, best first", _as_text(rows))
        if compared.rejection is not None:
            emit(fill(f"{compared.rejection} {_OTHERS}", _WIDTH))
        if spread:
            emit()
            show_table("Points expected outside the border for each point seen", _beyond_as_text(rows))
            emit(fill(spread, _WIDTH))
    for note in observed.notes():
        say(note)
    if report is not None:
        from tmsm.cli.results import write_comparison

        ordered = {", ".join(labels[one.index]): found[one.index] for one in compared}
        tables = [
            (
                "Models",
                " ".join(
                    [
                        "By the information criterion: lower is better.",
                        *filter(None, [compared.rejection]),
                        "The rest of this page is about the first model.",
                    ]
                ),
                _without_centres(rows),
            )
        ]
        if spread:
            tables.append(("Points expected outside the border for each point seen", spread, _beyond_as_text(rows)))
        write_comparison(ordered, f"{points.name} inside {region}", tables, report, observed.notes())


def _models(names: str, known: list[str], background: Any) -> dict[str, Model]:
    """Models by name, each with what is known of it; what none of them can know is an error."""
    from tmsm.cli.models import knowable, make_model
    from tmsm.foundation.errors import InvalidInputError

    listed = [name.strip() for name in names.split(",")]
    mixtures = [name for name in listed if name.partition(":")[0] == "mixture"]
    if background is not False and not mixtures:
        raise InvalidInputError(
            "--background is that of mixtures, and --models names none: add mixture:1 for one cluster on a background."
        )
    found = {}
    for name in listed:
        own = [pair for pair in known if pair.partition("=")[0].strip() in knowable(name)]
        found[name] = make_model(name, own, "--models", background=background if name in mixtures else False)
    for pair in known:
        key = pair.partition("=")[0].strip()
        if not any(key in knowable(name) for name in listed):
            raise InvalidInputError(f"--known {key} is for none of the models {', '.join(listed)}.")
    return found


def _described(one: ComparedFit, label: tuple[str, str], estimator: Estimator) -> dict[str, Any]:
    """A row of the table, as data."""
    from tmsm.display.record import components_of

    fit = estimator.result_
    centre, mean, error, words = fit.centre, fit.centre_point, None, ""
    if centre is not None and mean is not None and fit.covariance is not None:
        error = fit.std_errors[centre.name]
        far = centre.kind == "direction" and fit.intervals(0.95, None)[centre.name][0] > 0.5 * np.pi
        words = "hardly determined" if far else fit.frame.length(error)
    place = "not determined" if fit.undetermined is not None else "" if mean is None else fit.frame.place(mean, error)
    components = components_of(fit)
    several = [part for part in components if "centre" in part]
    if several:
        place = "; ".join(
            f"{fit.frame.place(np.array(part['centre']), part['centre_std_error'])} "
            f"({100 * part['share_of_rows']:.0f} % of the points)"
            for part in several
        )
        words = "; ".join(_error_in_words(part["centre_std_error"], fit.frame) for part in several)
    return {
        "model": label[0],
        "method": label[1],
        "weight": one.method if label[1] in ("score", "refined") else None,
        "parameters": one.n_parameters,
        "centre": None if mean is None else [float(angle) for angle in fit.frame.lonlat(mean)],
        "centre_text": place,
        "centre_error": None if error is None else float(np.degrees(error)),
        "centre_error_text": words,
        **({"components": components} if components else {}),
        "criterion": one.criterion,
        "above_the_best": one.difference,
        "std_error": one.std_error,
        "p_value": one.p_value,
        "log_likelihood": one.log_likelihood,
        **({"extrapolation": _expected(one)} if one.extrapolations else {}),
    }


def _error_in_words(error: float | None, frame: Frame) -> str:
    """Of the centre of a component, whose 95 % ellipse may reach beyond a right angle."""
    if error is None:
        return ""
    return "hardly determined" if error * np.sqrt(5.99) > 0.5 * np.pi else frame.length(error)


def _expected(one: ComparedFit) -> dict[str, Any]:
    """How many points are expected in each ring for each point seen."""
    return {
        name: {
            "expected": number.value,
            "std_error": number.std_error,
            "interval_95": list(number.confidence_interval(0.95)),
            "text": number.in_words,
        }
        for name, number in one.extrapolations.items()
    }


def _as_text(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    head = ("model", "method", "parameters", "centre", "std. error", "criterion", "above the best", "goodness of fit")
    likely = all(row["log_likelihood"] is not None for row in rows)
    table: list[tuple[str, ...]] = [(*head, *["log-likelihood"] * likely)]
    for row in rows:
        middle = (row["centre_text"], row["centre_error_text"], f"{row['criterion']:.6g}")
        inside = [f"{row['log_likelihood']:.5g}"] if likely else []
        table.append((row["model"], _method(row), str(row["parameters"]), *middle, *_judged(row, rows[0]), *inside))
    return table


def _without_centres(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The table for a report, which has the centres on its globe and among the estimates."""
    return [(*row[:3], *row[5:]) for row in _as_text(rows)]


def _beyond_as_text(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """What each model expects outside, beside how well it fits inside."""
    table: list[tuple[str, ...]] = [("model", "method", "above the best", "goodness of fit", *rows[0]["extrapolation"])]
    for row in rows:
        expected = (number["text"] for number in row["extrapolation"].values())
        table.append((row["model"], _method(row), *_judged(row, rows[0]), *expected))
    return table


def _method(row: dict[str, Any]) -> str:
    method: str = row["method"]
    return method if row["weight"] is None else f"{method} ({row['weight']})"


def _judged(row: dict[str, Any], best: dict[str, Any]) -> tuple[str, str]:
    """How much worse than the best, and the goodness of fit."""
    above = "" if row is best else f"{row['above_the_best']:.3g} ± {row['std_error']:.2g}"
    return above, "" if row["p_value"] is None else readable_p(row["p_value"])
