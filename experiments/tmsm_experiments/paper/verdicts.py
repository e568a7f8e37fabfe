"""Each claim of the paper against what was measured; everything follows from the recorded tables."""

import numpy as np

from tmsm_experiments.paper.accuracy import slope
from tmsm_experiments.paper.bound import bound, direction_alone
from tmsm_experiments.paper.catalogues import RESOLUTIONS
from tmsm_experiments.paper.claims import (
    BIASED,
    CLOSE,
    FAILS,
    FALLING,
    HOLDS,
    IDENTICAL,
    IN_PART,
    OPEN,
    Verdict,
    from_to,
    listed,
)
from tmsm_experiments.paper.instead import spread_of_places
from tmsm_experiments.paper.methods import DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED, TRUNCSM, TRUNCSM_OVAL
from tmsm_experiments.paper.results import Results, Row
from tmsm_experiments.paper.settings import KENT_KNOWN
from tmsm_experiments.paper.storm_verdicts import storm_verdicts
from tmsm_experiments.paper.tables import with_error

TMSM = (GEODESIC, PROJECTED)
_NAMES = {GEODESIC: "TMSM", PROJECTED: "TMSM", TRUNCSM_OVAL: TRUNCSM}
_QUANTITIES = {"direction": "the direction", "concentration": "κ"}
_PLACES = {"vmf-known": "κ known", "vmf-unknown": "κ unknown", "kent-known": "Kent"}


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

    def ratio(self, experiment: str, method: str, other: str, quantity: str = "direction") -> np.ndarray:
        """Mean errors of one method over those of another."""
        return self.column(experiment, method, quantity=quantity) / self.column(experiment, other, quantity=quantity)

    def slope(self, method: str, experiment: str, quantity: str = "direction") -> tuple[float, float]:
        mean, error = (self.column(experiment, method, name, quantity) for name in ("mean", "error_of_mean"))
        return slope(self.sizes, mean, error)

    def above_bound(self, method: str, quantity: str = "direction") -> float:
        """By how many per cent a method's mean error is above the bound, averaged over n and the experiments."""
        chosen = EXPERIMENTS if quantity == "direction" else ("vmf-unknown",)
        ratios = [self.column(e, method, "mean", quantity) / self.column(e, method, "bound", quantity) for e in chosen]
        return 100.0 * (float(np.mean(ratios)) - 1.0)

    def bias(self, experiment: str, method: str) -> tuple[float, float]:
        """Of φ̂ at the largest n, with its Monte Carlo error."""
        bias, error = (float(self.column(experiment, method, name)[-1]) for name in ("bias", "error_of_bias"))
        return bias, error

    def is_biased(self, experiment: str, method: str) -> bool:
        bias, error = self.bias(experiment, method)
        return abs(bias) > BIASED * error

    @property
    def largest(self) -> str:
        return f"n = {self.sizes[-1]:,}"


EXPERIMENTS = ("vmf-known", "vmf-unknown", "kent-known")
# Whose error has a slope, in which experiment, of which quantity.
CURVES = (
    *((method, e, "direction") for method in (*TMSM, TRUNCSM, NAIVE) for e in EXPERIMENTS),
    (TRUNCSM_OVAL, "kent-known", "direction"),
    *((method, "vmf-unknown", "concentration") for method in (*TMSM, TRUNCSM, NAIVE)),
)


def verdicts(results: Results) -> list[Verdict]:
    errors = Errors(results.read("accuracy"))
    storms = [*results.read("storm_events"), *results.read("cyclones")]
    return [
        falls_with_n(errors),
        low_error(errors),
        role_of_the_weight(errors, storms),
        same_distances(errors, results.read("projection"), storms),
        close_to_truncsm(errors),
        better_than_truncsm(errors),
        better_than_flat(errors),
        covariance_of_truncsm(errors),
        better_than_naive(errors),
        half_missing(results.read("illustration"), errors),
        other_manifolds(),
        *storm_verdicts(results),
    ]


def _bias_text(pair: tuple[float, float]) -> str:
    return with_error(*pair).replace("-", "−")


def falls_with_n(errors: Errors) -> Verdict:
    slopes = {curve: errors.slope(*curve)[0] for curve in CURVES}
    falls: dict[str, list[str]] = {}
    stays: dict[str, list[str]] = {}
    biased = []
    for (method, experiment, quantity), value in slopes.items():
        name, place = _NAMES.get(method, method), _PLACES[experiment]
        places = (falls if value < FALLING else stays).setdefault(name, [])
        place += " with the covariance of the oval" if method == TRUNCSM_OVAL else ""
        if value < FALLING and quantity == "direction" and errors.is_biased(experiment, method):
            biased.append(f"{name} ({place}) {_bias_text(errors.bias(experiment, method))}")
            place += f" up to {errors.largest}"
        if place not in places:
            places.append(place)
    down, flat = ([value for value in slopes.values() if (value < FALLING) == falling] for falling in (True, False))
    stay = f", elsewhere {_slopes(flat)}" if flat else ""
    bias = (
        f" Bias of φ̂ in rad at {errors.largest}, which a larger n does not remove: {listed(biased)}." if biased else ""
    )
    return Verdict(
        "“In all cases the estimation error decreases as sample size increases.” Read as: every method, every "
        "experiment.",
        "accuracy, accuracy_concentration",
        f"[Slopes](#accuracy) of log error against log n (−0.5 where it falls as 1/√n): {_slopes(down)} where the "
        f"error falls{stay}.{bias} {GEODESIC} (κ known): {_bias_text(errors.bias('vmf-known', GEODESIC))}.",
        FAILS if not falls else HOLDS if not (stays or biased) else _both(falls, stays),
    )


def _slopes(values: list[float]) -> str:
    return from_to(np.array(values)).replace("-", "−") if values else "nowhere"


def low_error(errors: Errors) -> Verdict:
    excess = {quantity: [errors.above_bound(m, quantity) for m in TMSM] for quantity in ("direction", "concentration")}
    good = [_QUANTITIES[name] for name, values in excess.items() if max(values) <= 100.0 * (CLOSE - 1.0)]
    bad = [words for words in _QUANTITIES.values() if words not in good]
    texts = [f"{_QUANTITIES[name]} {values[0]:.0f} and {values[1]:.0f} %" for name, values in excess.items()]
    return Verdict(
        "TMSM has a low estimation error and is efficient.",
        "accuracy",
        f"Mean error above the Cramér–Rao bound, averaged over n, geodesic and projected: {'; '.join(texts)}.",
        HOLDS if not bad else f"holds for {listed(good)}, not for {listed(bad)}" if good else FAILS,
    )


def role_of_the_weight(errors: Errors, storms: list[Row]) -> Verdict:
    ratio = errors.ratio("vmf-unknown", GEODESIC, DEFAULT, "concentration")
    moved = [
        f"{name} {spread_of_places([row for row in chosen if row['method'] not in (NAIVE, EXACT)]):,.0f}"
        for name in dict.fromkeys(row["catalogue"] for row in storms)
        for chosen in [[r for r in storms if (r["catalogue"], r["border"]) == (name, RESOLUTIONS[0])]]
    ]
    return Verdict(
        "The choice of the weight g plays a key role.",
        "accuracy_concentration, storm_events, weights",
        f"Mean error of κ̂ with the geodesic weight over that with the default weight: {from_to(ratio)}. Storms "
        f"({RESOLUTIONS[0]}): largest distance in km between the centres of two weights: {', '.join(moved)}.",
        HOLDS if ratio.mean() > IDENTICAL else FAILS,
    )


def _both(falls: dict[str, list[str]], stays: dict[str, list[str]]) -> str:
    """Which methods do and which do not, with the experiments of those that do both."""

    def texts(chosen, others):
        return [f"{name} ({', '.join(places)})" if name in others else name for name, places in chosen.items()]

    return f"holds for {listed(texts(falls, stays))}; not for {listed(texts(stays, falls), 'or')}"


def same_distances(errors: Errors, projection: list[Row], storms: list[Row]) -> Verdict:
    ratios = np.array([errors.ratio(e, PROJECTED, GEODESIC) for e in EXPERIMENTS])
    kappa = errors.ratio("vmf-unknown", PROJECTED, GEODESIC, "concentration")
    degrees = {row["dropped"]: float(row["degrees_off"]) for row in projection}
    dropped = {name: value / min(degrees.values()) for name, value in degrees.items()}
    unlike = [name for name, ratio in dropped.items() if ratio > IDENTICAL]
    turns = [
        f"{row['catalogue']} {abs(float(row['longitude']) - float(other['longitude'])):.1f}°"
        for row in storms
        for other in storms
        if (row["method"], other["method"]) == TMSM
        and (row["catalogue"], row["border"]) == (other["catalogue"], other["border"])
        and row["border"] == RESOLUTIONS[0]
    ]
    near = all(np.all((values > 1.0 / IDENTICAL) & (values < IDENTICAL)) for values in (ratios, kappa))
    return Verdict(
        "Haversine and projected distance give nearly identical results.",
        "accuracy, projection, storm_events",
        f"Projected over geodesic, mean errors at each n: direction {from_to(ratios)}, κ {from_to(kappa)}, where x₂ is "
        f"dropped. Error by the coordinate that is dropped, over the smallest: "
        f"{', '.join(f'{name} {ratio:.2f}' for name, ratio in dropped.items())}. Longitudes of the centres inside the "
        f"border of the U.S. ({RESOLUTIONS[0]}) differ by: {', '.join(turns)}.",
        IN_PART if not near else f"holds unless {listed(unlike, 'or')} is dropped" if unlike else HOLDS,
    )


def close_to_truncsm(errors: Errors) -> Verdict:
    known, kent, oval = (
        errors.ratio(experiment, method, GEODESIC)
        for experiment, method in (("vmf-known", TRUNCSM), ("kent-known", TRUNCSM), ("kent-known", TRUNCSM_OVAL))
    )
    round_one, told = (bool(np.all((one > 1.0 / CLOSE) & (one < CLOSE))) for one in (known, kent))
    told_more = direction_alone(KENT_KNOWN) / bound(KENT_KNOWN)["direction"]
    biased = errors.is_biased("vmf-known", TRUNCSM)
    limit = f" up to {errors.largest}" if biased else ""
    bias = " Beyond the largest n TruncSM's bias remains." if biased else ""
    on_kent = "on Kent's family it depends on Σ" if kent.min() > 1.0 > oval.max() else "not on Kent's family"
    return Verdict(
        "With κ known TMSM does about as well as TruncSM.",
        "accuracy",
        f"TruncSM's mean error over that of TMSM (geodesic) at each n, von Mises–Fisher: {from_to(known)}. Kent's "
        f"family: {from_to(kent)} with Σ = I/κ, {from_to(oval)} with the covariance of the oval. TruncSM is then told "
        f"how the oval lies, which makes the bound smaller: {told_more:.2f} of it. TMSM estimates how it lies.{bias}",
        FAILS if not round_one else f"{HOLDS}{limit}" if told else f"holds for von Mises–Fisher{limit}; {on_kent}",
    )


def better_than_truncsm(errors: Errors) -> Verdict:
    direction = errors.ratio("vmf-unknown", TRUNCSM, GEODESIC)
    kappa = errors.ratio("vmf-unknown", TRUNCSM, GEODESIC, "concentration")
    return Verdict(
        "With κ unknown TMSM does better than TruncSM.",
        "accuracy, accuracy_concentration",
        f"TruncSM's mean error over that of TMSM (geodesic), from n = {errors.sizes[0]:,} to {errors.sizes[-1]:,}: "
        f"direction {direction[0]:.1f} to {direction[-1]:.1f}, κ {kappa[0]:.1f} to {kappa[-1]:.1f}.",
        HOLDS if min(direction.min(), kappa.min()) > 1.0 else IN_PART,
    )


def better_than_flat(errors: Errors) -> Verdict:
    """Follows the rows on known and unknown concentration."""
    known, unknown = (errors.ratio(e, TRUNCSM, GEODESIC) for e in ("vmf-known", "vmf-unknown"))
    return Verdict(
        "TMSM is superior to a Euclidean approximation by TruncSM (discussion).",
        "accuracy",
        "See the two rows above.",
        HOLDS if min(known.min(), unknown.min()) > CLOSE else IN_PART if unknown.min() > 1.0 else FAILS,
    )


def covariance_of_truncsm(errors: Errors) -> Verdict:
    (bias, error), exact = errors.bias("vmf-known", TRUNCSM), errors.bias("vmf-known", EXACT)
    kappa = errors.column("vmf-unknown", TRUNCSM, quantity="concentration")[-1]
    return Verdict(
        "That TruncSM does well with κ known shows that Σ = I/κ holds.",
        "accuracy, accuracy_concentration",
        f"Bias of φ̂ with κ known at {errors.largest}: {_bias_text((bias, error))} rad, which is "
        f"{abs(bias) / error:.0f} standard errors (exact likelihood {_bias_text(exact)}). With κ unknown TruncSM "
        f"misses κ = 6 by {kappa:.1f}.",
        "holds only approximately" if errors.is_biased("vmf-known", TRUNCSM) else HOLDS,
    )


def other_manifolds() -> Verdict:
    return Verdict(
        "The estimator applies to any manifold on which Stokes' theorem holds, and a general-purpose scaling function "
        "probably exists.",
        "models, weights",
        "No experiment here; see those pages.",
        OPEN,
    )


def better_than_naive(errors: Errors) -> Verdict:
    ours = np.array([errors.ratio(e, NAIVE, m) for e in EXPERIMENTS for m in TMSM])
    flat = np.array([errors.ratio(e, NAIVE, TRUNCSM) for e in EXPERIMENTS])
    kappa = np.array([errors.ratio("vmf-unknown", NAIVE, method, "concentration") for method in (*TMSM, TRUNCSM)])
    return Verdict(
        "TMSM does better than maximum likelihood that ignores the border (MLE), and so does TruncSM.",
        "accuracy, accuracy_concentration",
        f"MLE's mean error over TMSM's at each n: direction {from_to(ours)}, κ {from_to(kappa[:2])}; over TruncSM's: "
        f"direction {from_to(flat)}, κ {from_to(kappa[2])}.",
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
        texts.append(
            f"{name}, {100.0 * unseen:.0f} % unseen: geodesic {off[GEODESIC]:.1f}°, projected {off[PROJECTED]:.1f}°, "
            f"MLE {off[NAIVE]:.1f}°"
        )
    closer = np.array([errors.column(e, m, "closer_than_mle") for e in EXPERIMENTS for m in TMSM])
    return Verdict(
        "With half of the data missing the estimate is closer to the truth than MLE's.",
        "illustration, accuracy",
        f"One sample each: {'; '.join(texts)}. In the benchmark, where half is unseen, "
        f"TMSM is closer in {100.0 * closer.min():.0f} to {100.0 * closer.max():.0f} % of the trials, depending on n.",
        HOLDS if right and closer.min() > 0.9 else IN_PART,
    )
