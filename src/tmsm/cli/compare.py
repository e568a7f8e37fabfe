"""``tmsm compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tmsm.cli.options import (
    Bad,
    Columns,
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
    from tmsm.models.base import Model

__all__ = ["compare"]


def compare(
    points: Points,
    region: RegionText,
    models: Annotated[str, typer.Option(help="Models to compare, with commas.")] = "vmf,kent,fisher-bingham",
    methods: Annotated[
        str, typer.Option(help="Methods to compare, with commas: score, refined, mle and naive.")
    ] = "score",
    weight: Weight = "auto",
    known: Known = None,
    columns: Columns = None,
    where: Where = None,
    points_where: PointsWhere = None,
    bad: Bad = "raise",
    sky: Sky = None,
    outside: Outside = "raise",
    exposure: Exposure = None,
    groups: Groups = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare models and methods on the same points, by an information criterion that needs no normalising constant."""
    from tmsm.cli.inputs import Observed, make_estimator
    from tmsm.cli.screen import show_data, show_table
    from tmsm.cli.streams import say
    from tmsm.foundation.errors import EstimationError
    from tmsm.inference.comparison import compare as compare_fits

    chosen = _models(models, known or [])
    named = [method.strip() for method in methods.split(",")]
    observed = Observed.read(
        points, region, columns=columns, groups=groups, where=where, points_where=points_where, bad=bad, sky=sky,
        outside=outside, exposure=exposure,
    )  # fmt: skip
    makers = [(name, model, method) for method in named for name, model in chosen.items()]
    estimators = [
        make_estimator(
            method, model, observed.border, weight if method in ("score", "refined") else "auto",
            None if method == "naive" else observed.exposure, "--methods",
        )
        for _, model, method in makers
    ]  # fmt: skip
    fits: dict[tuple[str, str], Estimator] = {}
    for (name, _, method), estimator in zip(makers, estimators, strict=True):
        try:
            fits[name, method] = estimator.fit(observed.points, groups=observed.labels)
        except EstimationError as error:
            say(f"{name}, {method}: {error}")
    if not fits:
        raise EstimationError("None of the models could be fitted.")
    labels, found = list(fits), list(fits.values())
    rows = [_described(one, labels[one.index], found[one.index]) for one in compare_fits(found)]
    if json:
        show_data({"n_samples": len(observed.points), "fits": rows})
    else:
        show_table(f"{len(observed.points):,} points, best first", _as_text(rows))
    for note in observed.notes():
        say(note)


def _models(names: str, known: list[str]) -> dict[str, Model]:
    """Models by name, each with what is known of it; what none of them can know is an error."""
    from tmsm.cli.inputs import KNOWABLE, make_model
    from tmsm.foundation.errors import InvalidInputError

    listed = [name.strip() for name in names.split(",")]
    found = {}
    for name in listed:
        own = [pair for pair in known if pair.partition("=")[0].strip() in KNOWABLE.get(name, ())]
        found[name] = make_model(name, own, "--models")
    for pair in known:
        key = pair.partition("=")[0].strip()
        if not any(key in KNOWABLE.get(name, ()) for name in listed):
            raise InvalidInputError(f"--known {key} is for none of the models {', '.join(listed)}.")
    return found


def _described(one: ComparedFit, label: tuple[str, str], estimator: Estimator) -> dict[str, Any]:
    """A row of the table, as data."""
    fit = estimator.result_
    centre, mean, error, words = fit.centre, fit.centre_point, None, ""
    if centre is not None and mean is not None and fit.covariance is not None:
        error = fit.std_errors[centre.name]
        far = centre.kind == "direction" and fit.intervals(0.95, None)[centre.name][0] > 0.5 * np.pi
        words = "hardly determined" if far else fit.frame.length(error)
    return {
        "model": label[0],
        "method": label[1],
        "weight": one.method if label[1] in ("score", "refined") else None,
        "parameters": one.n_parameters,
        "centre": None if mean is None else [float(angle) for angle in fit.frame.lonlat(mean)],
        "centre_text": "" if mean is None else fit.frame.place(mean, error),
        "centre_error": None if error is None else float(np.degrees(error)),
        "centre_error_text": words,
        "criterion": one.criterion,
        "above_the_best": one.difference,
        "std_error": one.std_error,
        "p_value": one.p_value,
    }


def _as_text(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    head = ("model", "method", "parameters", "centre", "std. error", "criterion", "above the best", "goodness of fit")
    table: list[tuple[str, ...]] = [head]
    for row in rows:
        above = "" if len(table) == 1 else f"{row['above_the_best']:.3g} ± {row['std_error']:.2g}"
        method = row["method"] if row["weight"] is None else f"{row['method']} ({row['weight']})"
        goodness = "" if row["p_value"] is None else readable_p(row["p_value"])
        middle = (row["centre_text"], row["centre_error_text"], f"{row['criterion']:.6g}")
        table.append((row["model"], method, str(row["parameters"]), *middle, above, goodness))
    return table
