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
# On the coast: no farther from the border than this.  A doubtful fit: p below this.
COAST_KM, DOUBT = 200.0, 0.01
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
        f"Slope of log error against log n (−0.5 where it falls as 1/√n). TMSM, direction, in the three "
        "experiments: geodesic "
        f"{_texts(geodesic)}, projected {_texts(projected)}; κ: {_texts([kappa])}. "
        f"TruncSM with κ unknown and on Kent's family: {_texts(flat)}. MLE: {_texts(naive)}.",
        HOLDS
        if right and others
        else "holds for TMSM; not for MLE, nor for TruncSM with κ unknown or on Kent's family"
        if right
        else FAILS,
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
        "Here x₂ is dropped; with x₁ they are not identical, see the projection.",
        "holds if the right coordinate is dropped" if near else IN_PART,
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
        f"TruncSM over TMSM (geodesic), from n = {errors.sizes[0]:,} to {errors.sizes[-1]:,}: direction "
        f"{direction[0]:.1f} to {direction[-1]:.1f}, κ {kappa[0]:.1f} to {kappa[-1]:.1f} times.",
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
    kappa = np.array(
        [
            errors.column("vmf-unknown", NAIVE, quantity="concentration")
            / errors.column("vmf-unknown", method, quantity="concentration")
            for method in (*TMSM, TRUNCSM)
        ]
    )
    return Verdict(
        "TMSM beats maximum likelihood that ignores the border (and so does TruncSM).",
        "accuracy, accuracy_concentration",
        f"MLE's mean error over TMSM's: direction {_range(ours)}, κ {_range(kappa[:2])}; over TruncSM's: direction "
        f"{_range(flat)}, κ {_range(kappa[2])}.",
        HOLDS if min(ours.min(), flat.min(), kappa.min()) > 1.0 else IN_PART,
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
    return [
        _south_east(events, cyclones),
        _nearer(events, cyclones),
        _east_coast(events),
        _shape(events, cyclones),
        _truth(cyclones),
    ]


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
    both = [
        (ours, float(naive["km_to_origins"]), float(ours["km_to_origins"]))
        for naive, ours in [*_pairs(events), *_pairs(cyclones)]
    ]
    texts = [f"{ours['catalogue']} {a:,.0f} → {b:,.0f}" for ours, a, b in both if ours["border"] == "50m"]
    return Verdict(
        "… and nearer to where storms originate.",
        "storm_events, cyclones",
        f"Mean distance to the storm origins in km, MLE → TMSM: {'; '.join(texts)}.{_described(events)}",
        (HOLDS if all(b < a for _, a, b in both) else IN_PART) if events else OPEN,
    )


def _east_coast(events: list[Row]) -> Verdict:
    claim = "… and on the East Coast."
    if not events:
        return Verdict(claim, "storm_events", _described(events).strip(), OPEN)
    rows = [row for row in events if row["catalogue"] == "events" and row["method"] != NAIVE]
    finest = [row for row in rows if row["border"] == "50m"]
    texts = [f"{row['method']} {_where(row)}" for row in finest]
    inside = [float(row["km_inside"]) for row in finest if row["method"] in TMSM]
    spread = [float(row["longitude"]) for row in rows if row["method"] != EXACT]
    return Verdict(
        claim,
        "storm_events",
        f"All events, border 50m: {'; '.join(texts)}. The paper's two weights put it {min(inside):,.0f} and "
        f"{max(inside):,.0f} km inside the border. Over weights and both borders the longitude moves by "
        f"{max(spread) - min(spread):.0f}°.",
        HOLDS if max(map(abs, inside)) < COAST_KM else "not with the paper's weights",
    )


def _shape(events: list[Row], cyclones: list[Row]) -> Verdict:
    rows = [row for row in [*events, *cyclones] if row["method"] == GEODESIC]
    ps = {(row["catalogue"], row["border"]): float(row["goodness_of_fit_p"]) for row in rows}
    texts = [f"{name} ({border}) {p_value(p)}" for (name, border), p in ps.items()]
    names = list(dict.fromkeys(name for name, _ in ps))
    wrong = [name for name in names if max(p for (other, _), p in ps.items() if other == name) < DOUBT]
    return Verdict(
        "Storms can be modelled by a von Mises–Fisher density (the paper assumes it).",
        "storm_events, cyclones",
        "p of the over-identification test (equations beyond those of the fit that hold under the model; rows taken "
        f"for independent, which storms are not): {'; '.join(texts)}.",
        f"does not hold for {' and '.join(wrong)}" if wrong else HOLDS if min(ps.values()) > DOUBT else IN_PART,
    )


def _truth(cyclones: list[Row]) -> Verdict:
    """Our own question, not the paper's."""
    both = [(ours, float(naive["km_to_truth"]), float(ours["km_to_truth"])) for naive, ours in _pairs(cyclones)]
    texts = [f"{ours['border']} {a:,.0f} → {b:,.0f}" for ours, a, b in both]
    gain = 1.0 - float(np.mean([b / a for _, a, b in both]))
    others = [float(row["km_to_truth"]) for row in cyclones if row["method"] not in (NAIVE, *TMSM)]
    return Verdict(
        "(Ours:) where the truth is known, TMSM is nearer to it than MLE.",
        "cyclones",
        f"Distance to the mean of all cyclone fixes in km, MLE → TMSM (geodesic), by border: {'; '.join(texts)}; other "
        f"weights and the likelihood: {min(others):,.0f} to {max(others):,.0f}. The family is wrong (see above), and "
        "what lies outside is extrapolated.",
        HOLDS if gain > 0.1 else "hardly" if gain > -0.1 else FAILS,
    )
