"""Each claim of the paper against what was measured.  Everything is computed from the recorded tables."""

from dataclasses import dataclass

import numpy as np

from tmsm_experiments.paper.accuracy import slope
from tmsm_experiments.paper.methods import EXACT, GEODESIC, NAIVE, PROJECTED, TRUNCSM
from tmsm_experiments.paper.results import Results, Row
from tmsm_experiments.paper.tables import p_value, place

HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not tested here"
# What "nearly identical" and "close" are taken to mean, as ratios of mean errors.
IDENTICAL, CLOSE = 1.05, 1.25
TMSM = (GEODESIC, PROJECTED)


@dataclass(frozen=True)
class Verdict:
    """A claim in our words, where it is tested, what was measured, and whether it holds."""

    claim: str
    figure: str
    measured: str
    verdict: str


class Errors:
    """Mean errors by experiment, quantity and method, as arrays over the sizes."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.sizes = np.array(sorted({int(row["n"]) for row in rows}))

    def column(self, experiment: str, method: str, name: str = "mean", quantity: str = "direction") -> np.ndarray:
        found = {
            int(row["n"]): float(row[name])
            for row in self.rows
            if (row["experiment"], row["quantity"], row["method"]) == (experiment, quantity, method)
        }
        return np.array([found[n] for n in self.sizes])

    def slope(self, experiment: str, method: str, quantity: str = "direction") -> tuple[float, float]:
        mean, error = (self.column(experiment, method, name, quantity) for name in ("mean", "error_of_mean"))
        return slope(self.sizes, mean, error)


EXPERIMENTS = ("vmf-known", "vmf-unknown", "kent-known")


def verdicts(results: Results) -> list[Verdict]:
    errors = Errors(results.read("accuracy"))
    return [
        falls_with_n(errors),
        same_distances(errors),
        close_to_truncsm(errors),
        better_than_truncsm(errors),
        covariance_of_truncsm(errors),
        better_than_naive(errors),
        half_missing(results.read("illustration"), errors),
        *storms(results.read("storm_events"), results.read("cyclones")),
    ]


def _texts(pairs) -> str:
    return ", ".join(f"{value:.2f} ± {error:.2f}" for value, error in pairs).replace("-", "−")


def _typical(ratios: np.ndarray) -> float:
    """Geometric mean: what is left when the noise of single sizes is averaged out."""
    return float(np.exp(np.log(ratios).mean()))


def _range(values: np.ndarray) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def falls_with_n(errors: Errors) -> Verdict:
    geodesic, projected = ([errors.slope(experiment, method) for experiment in EXPERIMENTS] for method in TMSM)
    kappa = errors.slope("vmf-unknown", GEODESIC, "concentration")
    flat = [errors.slope("vmf-unknown", TRUNCSM), errors.slope("kent-known", TRUNCSM)]
    naive = [errors.slope(experiment, NAIVE) for experiment in EXPERIMENTS]
    right = all(abs(value + 0.5) < max(0.05, 3.0 * error) for value, error in [*geodesic, *projected, kappa])
    others = all(value < -0.25 for value, _ in flat + naive)
    return Verdict(
        "The error falls as n grows, for every method.",
        "accuracy, accuracy_concentration",
        f"Slope of log error against log n (consistent: −0.5). TMSM, direction, in the three experiments: geodesic "
        f"{_texts(geodesic)}, projected {_texts(projected)}; κ: {_texts([kappa])}. "
        f"TruncSM with κ unknown and on Kent's family: {_texts(flat)}. MLE: {_texts(naive)}.",
        HOLDS if right and others else "holds for TMSM, not for MLE nor for TruncSM with κ unknown" if right else FAILS,
    )


def same_distances(errors: Errors) -> Verdict:
    ratios = np.array([errors.column(e, PROJECTED) / errors.column(e, GEODESIC) for e in EXPERIMENTS])
    kappa = errors.column("vmf-unknown", PROJECTED, quantity="concentration") / errors.column(
        "vmf-unknown", GEODESIC, quantity="concentration"
    )
    near = all(1.0 / IDENTICAL < _typical(values) < IDENTICAL for values in (ratios, kappa))
    return Verdict(
        "Haversine and projected distance give nearly identical results.",
        "accuracy, projection",
        f"Projected over geodesic, mean errors at all n: direction {_range(ratios)}, κ {_range(kappa)}. "
        "This is with the right coordinate dropped; see the projection.",
        HOLDS if near else IN_PART,
    )


def close_to_truncsm(errors: Errors) -> Verdict:
    known = errors.column("vmf-known", TRUNCSM) / errors.column("vmf-known", GEODESIC)
    kent = errors.column("kent-known", TRUNCSM) / errors.column("kent-known", GEODESIC)
    verdict = FAILS
    if _typical(known) < CLOSE:
        verdict = HOLDS if _typical(kent) < CLOSE else "holds for von Mises–Fisher, not for Kent's family"
    return Verdict(
        "With κ known TMSM does about as well as TruncSM.",
        "accuracy",
        f"TruncSM over TMSM (geodesic), von Mises–Fisher: {_range(known)}; on Kent's family with Σ = I/κ: "
        f"{_range(kent)}.",
        verdict,
    )


def better_than_truncsm(errors: Errors) -> Verdict:
    direction = errors.column("vmf-unknown", TRUNCSM) / errors.column("vmf-unknown", GEODESIC)
    kappa = errors.column("vmf-unknown", TRUNCSM, quantity="concentration") / errors.column(
        "vmf-unknown", GEODESIC, quantity="concentration"
    )
    return Verdict(
        "With κ unknown TMSM does better than TruncSM.",
        "accuracy, accuracy_concentration",
        f"TruncSM over TMSM (geodesic): direction {_range(direction)}, κ {_range(kappa)} times, growing with n.",
        HOLDS if min(_typical(direction), _typical(kappa)) > 1.0 else IN_PART,
    )


def covariance_of_truncsm(errors: Errors) -> Verdict:
    ratio = errors.column("vmf-known", TRUNCSM) / errors.column("vmf-known", EXACT)
    slope_text = _texts([errors.slope("vmf-known", TRUNCSM)])
    return Verdict(
        "That TruncSM does well with κ known shows that Σ = I/κ holds.",
        "accuracy",
        f"Its error over that of the exact likelihood is {ratio[0]:.2f} at n = {errors.sizes[0]:,} and {ratio[-1]:.2f} "
        f"at n = {errors.sizes[-1]:,} (slope {slope_text}): there is a bias, which more data lay bare.",
        "only as an approximation" if ratio[-1] > ratio[0] else HOLDS,
    )


def better_than_naive(errors: Errors) -> Verdict:
    ours = np.array([errors.column(e, NAIVE) / errors.column(e, m) for e in EXPERIMENTS for m in TMSM])
    flat = np.array([errors.column(e, NAIVE) / errors.column(e, TRUNCSM) for e in EXPERIMENTS])
    return Verdict(
        "Both beat maximum likelihood that ignores the border.",
        "accuracy",
        f"MLE's mean error over TMSM's: {_range(ours)}; over TruncSM's: {_range(flat)}.",
        HOLDS if min(ours.min(), flat.min()) > 1.0 else IN_PART,
    )


def half_missing(illustration: list[Row], errors: Errors) -> Verdict:
    texts, right = [], True
    for experiment in dict.fromkeys(row["experiment"] for row in illustration):
        rows = {row["method"]: row for row in illustration if row["experiment"] == experiment}
        off = {method: float(row["degrees_off"]) for method, row in rows.items()}
        unseen = 1.0 - int(rows[NAIVE]["seen"]) / int(rows[NAIVE]["rows"])
        right = right and all(off[method] < off[NAIVE] for method in TMSM)
        name = "von Mises–Fisher" if experiment.startswith("vmf") else "Kent"
        texts.append(f"{name}, {unseen:.0%} unseen: {off[GEODESIC]:.1f}°, {off[PROJECTED]:.1f}°, MLE {off[NAIVE]:.1f}°")
    closer = np.array([errors.column(e, GEODESIC, "closer_than_mle") for e in EXPERIMENTS])
    return Verdict(
        "With half of the data missing the estimate is closer to the truth than MLE's.",
        "illustration",
        f"{'; '.join(texts)}. Closer in {closer.min():.0%} to {closer.max():.0%} of the benchmark's trials at every n.",
        HOLDS if right and closer.min() > 0.9 else IN_PART,
    )


def storms(events: list[Row], cyclones: list[Row]) -> list[Verdict]:
    return [_south_east(events, cyclones), _nearer(events, cyclones), _east_coast(events), _shape(events, cyclones)]


def _pairs(rows: list[Row]):
    """(naive, geodesic) for each catalogue and border."""
    for key in dict.fromkeys((row["catalogue"], row["border"]) for row in rows):
        chosen = {row["method"]: row for row in rows if (row["catalogue"], row["border"]) == key}
        yield chosen[NAIVE], chosen[GEODESIC]


def _where(row: Row) -> str:
    return place(float(row["longitude"]), float(row["latitude"]))


def _described(events: list[Row]) -> str:
    return "" if events else " NOAA's Storm Events were not at hand: run with --data."


def _south_east(events: list[Row], cyclones: list[Row]) -> Verdict:
    pairs = [*_pairs(events), *_pairs(cyclones)]
    right = all(
        float(ours["longitude"]) > float(naive["longitude"]) and float(ours["latitude"]) < float(naive["latitude"])
        for naive, ours in pairs
    )
    texts = [
        f"{ours['catalogue']}: {_where(naive)} → {_where(ours)}" for naive, ours in pairs if ours["border"] == "50m"
    ]
    return Verdict(
        "Storms: TMSM's centre lies south-east of MLE's.",
        "storm_events, cyclones",
        f"{'; '.join(texts)}.{_described(events)}",
        (HOLDS if right else IN_PART) if events else OPEN,
    )


def _nearer(events: list[Row], cyclones: list[Row]) -> Verdict:
    pairs = [*_pairs(events), *_pairs(cyclones)]
    kilometres = [(float(naive["km_to_mean_origin"]), float(ours["km_to_mean_origin"])) for naive, ours in pairs]
    texts = [
        f"{ours['catalogue']}: {a:,.0f} → {b:,.0f} km"
        for (_, ours), (a, b) in zip(pairs, kilometres, strict=True)
        if ours["border"] == "50m"
    ]
    right = all(b < a for a, b in kilometres)
    return Verdict(
        "… and nearer to where storms originate.",
        "storm_events, cyclones",
        f"Distance to the mean of the storm origins, MLE → TMSM: {'; '.join(texts)}.{_described(events)}",
        (HOLDS if right else IN_PART) if events else OPEN,
    )


def _east_coast(events: list[Row]) -> Verdict:
    claim = "… and on the East Coast."
    if not events:
        return Verdict(claim, "storm_events", _described(events).strip(), OPEN)
    rows = [row for row in events if row["catalogue"] == "events" and row["border"] == "50m" and row["method"] != NAIVE]
    texts = [f"{row['method']} {_where(row)}" for row in rows]
    spread = [float(row["longitude"]) for row in rows]
    return Verdict(
        claim,
        "storm_events",
        f"All events, border 50m: {'; '.join(texts)}. The answer moves {max(spread) - min(spread):.0f}° in longitude "
        "with the weight.",
        "depends on the weight",
    )


def _shape(events: list[Row], cyclones: list[Row]) -> Verdict:
    rows = [row for row in [*events, *cyclones] if row["method"] == GEODESIC]
    ps = [float(row["goodness_of_fit_p"]) for row in rows]
    texts = [f"{row['catalogue']} ({row['border']}) {p_value(p)}" for row, p in zip(rows, ps, strict=True)]
    return Verdict(
        "Storms can be modelled by a von Mises–Fisher density (assumed).",
        "storm_events, cyclones",
        f"p of the over-identification test: {'; '.join(texts)}. So how far the centre is moved rests on a shape that "
        "the rows contradict, which is why it moves with the weight.",
        FAILS if max(ps) < 0.05 else IN_PART,
    )
