"""The paper's claims about storms against the recorded tables."""

import numpy as np

from tmsm_experiments.paper.catalogues import COAST_KM
from tmsm_experiments.paper.claims import DOUBT, FAILS, HOLDS, IN_PART, OPEN, Verdict, listed
from tmsm_experiments.paper.methods import DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED
from tmsm_experiments.paper.results import Results, Row
from tmsm_experiments.paper.tables import p_value, place
from tmsm_experiments.paper.variants import DEGREES, EQUAL_AREA

TMSM = (GEODESIC, PROJECTED)
_FINEST = "50m"
_NOT_AT_HAND = "NOAA's Storm Events were not at hand: run with --data."


def storm_verdicts(results: Results) -> list[Verdict]:
    events, cyclones, variants = (results.read(name) for name in ("storm_events", "cyclones", "variants"))
    rows = [*events, *cyclones]
    return [
        curvature(variants),
        more_in_the_east(events),
        naive_in_the_middle(rows),
        south_east(rows, bool(events)),
        nearer_to_origins(rows, bool(events)),
        east_coast(events),
        bulk_of_origins(rows, bool(events)),
        family(rows),
        nearer_to_truth(cyclones),
    ]


def _pairs(rows: list[Row]):
    """(naive, geodesic) for each catalogue and border."""
    for key in dict.fromkeys((row["catalogue"], row["border"]) for row in rows):
        chosen = {row["method"]: row for row in rows if (row["catalogue"], row["border"]) == key}
        yield chosen[NAIVE], chosen[GEODESIC]


def _where(row: Row) -> str:
    return place(float(row["longitude"]), float(row["latitude"]))


def _with_error(row: Row) -> str:
    return f"{_where(row)} ± {float(row['standard_error_degrees']):.1f}°"


def _said(texts: list[str], with_events: bool) -> str:
    return "; ".join(texts) + "." + ("" if with_events else f" {_NOT_AT_HAND}")


def naive_in_the_middle(rows: list[Row]) -> Verdict:
    off = max(float(row["km_to_mean_of_rows"]) for row in rows if row["method"] == NAIVE)
    return Verdict(
        "Storms: MLE's centre is the centre of the data.",
        "storm_events, cyclones",
        f"Distance to the mean direction of the rows: at most {off:.1f} km. This is true by definition.",
        HOLDS if off < 1.0 else FAILS,
    )


def south_east(rows: list[Row], with_events: bool) -> Verdict:
    texts: list[str] = []
    right, beyond_chance, doubtful = True, True, []
    for naive, ours in _pairs(rows):
        name = ours["catalogue"]
        right = right and float(ours["longitude"]) > float(naive["longitude"])
        right = right and float(ours["latitude"]) < float(naive["latitude"])
        if ours["covers_mle"] == "True":
            beyond_chance = False
            doubtful.append(name)
        if ours["border"] == _FINEST:
            texts.append(f"{name}: {_where(naive)} → {_with_error(ours)}")
    doubt = "" if beyond_chance else f"; for {listed(dict.fromkeys(doubtful))} it may be chance"
    return Verdict(
        "TMSM's centre lies further south-east.",
        "storm_events, cyclones",
        "MLE → TMSM (geodesic) with its standard error: "
        + _said(texts, with_events)
        + (" TMSM's 95 % regions do not contain MLE's centre." if beyond_chance else ""),
        (f"{HOLDS}{doubt}" if right else IN_PART) if with_events else OPEN,
    )


def nearer_to_origins(rows: list[Row], with_events: bool) -> Verdict:
    both = [(ours, float(naive["km_to_origins"]), float(ours["km_to_origins"])) for naive, ours in _pairs(rows)]
    texts = [f"{ours['catalogue']} {a:,.0f} → {b:,.0f}" for ours, a, b in both if ours["border"] == _FINEST]
    return Verdict(
        "TMSM's centre is closer to the storm origins.",
        "storm_events, cyclones",
        "Mean distance to the storm origins in km, MLE → TMSM: " + _said(texts, with_events),
        (HOLDS if all(b < a for _, a, b in both) else IN_PART) if with_events else OPEN,
    )


def curvature(variants: list[Row]) -> Verdict:
    claim = "The area of the U.S. is so large that curvature affects any estimation."
    planes = {plane: [row for row in variants if row["variant"] == plane] for plane in (EQUAL_AREA, DEGREES)}
    if not all(planes.values()):
        return Verdict(claim, "storm_events", _NOT_AT_HAND, OPEN)

    def moves(plane: str) -> str:
        return listed(f"{float(row['km_from_tmsm']):,.0f} km ({row['catalogue']})" for row in planes[plane])

    def beyond(plane: str) -> list[str]:
        return [row["catalogue"] for row in planes[plane] if float(row["km_from_tmsm"]) > float(row["tmsm_error_km"])]

    errors = listed(f"{float(row['tmsm_error_km']):,.0f}" for row in planes[EQUAL_AREA])
    flat = f"holds for {listed(beyond(DEGREES))} where degrees are taken as lengths; " if beyond(DEGREES) else ""
    return Verdict(
        claim,
        "storm_events",
        f"TruncSM in an equal-area plane moves the centre by {moves(EQUAL_AREA)}, in the plane of longitude and "
        f"latitude by {moves(DEGREES)}. TMSM's standard errors are {errors} km.",
        HOLDS if beyond(EQUAL_AREA) else f"{flat}in an equal-area plane the effect is below the standard error",
    )


def more_in_the_east(events: list[Row]) -> Verdict:
    claim = "More storms occur on the East Coast."
    if not events:
        return Verdict(claim, "storm_events", _NOT_AT_HAND, OPEN)
    chosen = [row for row in events if (row["method"], row["border"]) == (NAIVE, _FINEST)]
    shares = [(row["catalogue"], float(row["rows_by_the_coast"])) for row in chosen]
    area = float(chosen[0]["area_by_the_coast"])
    texts = listed(f"{100.0 * share:.0f} % of the {name}" for name, share in shares)
    return Verdict(
        claim,
        "storm_events",
        f"Within {COAST_KM:.0f} km of it lie {texts}, and {100.0 * area:.0f} % of the area.",
        f"{HOLDS} for the reported events" if min(share for _, share in shares) > area else FAILS,
    )


def east_coast(events: list[Row]) -> Verdict:
    claim = "TMSM's centre lies on the East Coast."
    if not events:
        return Verdict(claim, "storm_events", _NOT_AT_HAND, OPEN)
    paper = [row for row in events if row["method"] in TMSM]
    texts, reached = [], []
    for key in dict.fromkeys((row["catalogue"], row["border"]) for row in events):
        own = {row["method"]: row for row in events if (row["catalogue"], row["border"]) == key}
        name = f"{key[0]} ({key[1]})"
        texts.append(f"{name} {_from_coast([own[m] for m in (GEODESIC, PROJECTED, DEFAULT, EXACT)])}")
        if all(own[method]["reaches_coast"] == "True" for method in TMSM):
            reached.append(name)
    lon = [float(row["longitude"]) for row in events if row["catalogue"] == "events" and row["method"] != NAIVE]
    others = [
        f"the {method} ({', '.join(there)})"
        for method in (DEFAULT, EXACT)
        if (there := [f"{r['catalogue']} {r['border']}" for r in events if r["method"] == method and _is_near(r)])
    ]
    near = f"; holds for {listed(others)}" if others else ""
    not_far = f"; their 95 % regions reach it for {listed(reached)}" if reached else ""
    return Verdict(
        claim,
        "storm_events",
        "Km from the coast to the centre by the geodesic, the projected and the default weight and the exact "
        f"likelihood: {'; '.join(texts)}. For all events the longitude of the centre differs by up to "
        f"{max(lon) - min(lon):.0f}° between the weights, the likelihood and the two borders.",
        HOLDS if all(map(_is_near, paper)) else f"{FAILS} for the paper's weights{not_far}{near}",
    )


def _is_near(row: Row) -> bool:
    return float(row["km_to_east_coast"]) < COAST_KM


def _from_coast(rows: list[Row]) -> str:
    """Distances, with the side after each one or, where it is the same for all, at the end."""
    sides = ["inland" if float(row["km_inside"]) > 0.0 else "at sea" for row in rows]
    far = [f"{float(row['km_to_east_coast']):,.0f}" for row in rows]
    if len(set(sides)) == 1:
        return f"{', '.join(far)} {sides[0]}"
    return ", ".join(f"{distance} {side}" for distance, side in zip(far, sides, strict=True))


def bulk_of_origins(rows: list[Row], with_events: bool) -> Verdict:
    chosen = [naive for naive, _ in _pairs(rows) if naive["catalogue"] == ("events" if with_events else "cyclones")]
    share = max(float(row["origins_by_the_coast"]) for row in chosen)
    median = min(float(row["km_of_origins_to_the_coast"]) for row in chosen)
    return Verdict(
        "On the East Coast is where the bulk of the storms originated.",
        "storm_events",
        f"{100.0 * share:.0f} % of the storm origins lie within {COAST_KM:.0f} km of the East Coast; half of them lie "
        f"farther than {median:,.0f} km from it.",
        HOLDS if share > 0.5 else FAILS,
    )


def family(rows: list[Row]) -> Verdict:
    texts, wrong, doubtful = [], [], []
    for name in dict.fromkeys(row["catalogue"] for row in rows):
        p = {
            m: [float(r["stein_p"]) for r in rows if (r["catalogue"], r["method"]) == (name, m)]
            for m in (GEODESIC, EXACT)
        }
        texts.append(f"{name} {_p_values(p[GEODESIC])} and {_p_values(p[EXACT])}")
        if max(p[EXACT]) < DOUBT:
            wrong.append(name)
        elif min(p[EXACT] + p[GEODESIC]) < DOUBT:
            doubtful.append(name)
    return Verdict(
        "Storms can be modelled by a von Mises–Fisher density (assumed).",
        "storm_events, cyclones",
        f"p of the Stein test of TMSM (geodesic) and of the exact likelihood, on the two borders: {'; '.join(texts)}.",
        f"does not hold for {listed(wrong, 'or')}" if wrong else HOLDS if not doubtful else IN_PART,
    )


def _p_values(values: list[float]) -> str:
    return ", ".join(dict.fromkeys(map(p_value, values)))


def nearer_to_truth(cyclones: list[Row]) -> Verdict:
    """Our own question, not the paper's."""
    both = [(ours, float(naive["km_to_truth"]), float(ours["km_to_truth"])) for naive, ours in _pairs(cyclones)]
    texts = [f"{ours['border']} {a:,.0f} → {b:,.0f}" for ours, a, b in both]
    others = np.array([float(row["km_to_truth"]) for row in cyclones if row["method"] not in (NAIVE, *TMSM)])
    covered = "contain" if all(ours["covers_truth"] == "True" for ours, _, _ in both) else "do not contain"
    gain = np.array([a - b for _, a, b in both])
    error = max(float(ours["standard_error_degrees"]) for ours, _, _ in both) * 111.2
    return Verdict(
        "Our own question: is TMSM nearer to the truth than MLE where the truth is known?",
        "cyclones",
        f"Distance to the mean of all cyclone fixes in km, MLE → TMSM (geodesic), by border: {'; '.join(texts)}. "
        f"TMSM's standard error is up to {error:,.0f} km; its 95 % regions {covered} that mean. "
        f"Other weights and the likelihood: {others.min():,.0f} to {others.max():,.0f} km.",
        "yes" if gain.min() > error else "no" if gain.max() < -error else "no measurable difference",
    )
