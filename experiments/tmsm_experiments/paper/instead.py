"""What the table of families says, in sentences; every number and every choice of words comes from the table."""

from collections.abc import Iterator, Sequence

import numpy as np

import tmsm
from tmsm_experiments.paper.catalogues import RESOLUTIONS, kilometres
from tmsm_experiments.paper.claims import BEYOND, DOUBT, USUAL_LEVEL, listed
from tmsm_experiments.paper.families import BACKGROUNDS, COUNTED, LIKELIHOOD, MAP, PAPER, RINGS
from tmsm_experiments.paper.results import Row
from tmsm_experiments.paper.tables import p_value, significant, with_error

_RING_COLUMNS = tuple(f"{low}_{high}" for low, high in RINGS)
_RING_NAMES = tuple(f"{low:,} to {high:,}" for low, high in RINGS)
# Numbers above this have no meaning but that they are large.
_MANY = 1000
_TITLES = {"events": "All Storm Events", "fatal events": "Storm Events with fatalities"}


def _number(row: Row, name: str) -> float:
    return float(row[name])


def _rings(row: Row) -> list[float]:
    return [_number(row, f"outside_{low}_{high}") for low, high in RINGS]


def _is_close(row: Row) -> bool:
    """Rows that were left out are described about as well as by the best."""
    return -_number(row, "below_best") <= BEYOND * _number(row, "below_best_error")


def families_that_fit(rows: Sequence[Row], level: float = DOUBT) -> list[Row]:
    """Those that describe rows left out about as well as the best, and that the test does not reject."""
    return [row for row in rows if _is_close(row) and _number(row, "stein_p") >= level]


def counted_outside(rows: Sequence[Row]) -> list[Row]:
    """Families whose numbers outside are those of the whole density: a background would end at the border."""
    left_out = (COUNTED, MAP, *BACKGROUNDS)
    return [row for row in rows if row["family"] not in left_out and np.isfinite(_rings(row)).all()]


def union(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """The lowest and the highest end of the families' 95 % intervals in each ring."""
    return [
        (min(_number(row, f"low_{ring}") for row in rows), max(_number(row, f"high_{ring}") for row in rows))
        for ring in _RING_COLUMNS
    ]


def _name(row: Row) -> str:
    return "the paper's fit" if row["family"] == PAPER else f"*{row['family']}*"


def _best(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if _number(row, "below_best") == 0.0)


def _behind(row: Row) -> str:
    return with_error(-_number(row, "below_best"), _number(row, "below_best_error"))


def _ring_texts(row: Row) -> str:
    pairs = [(_number(row, f"outside_{low}_{high}"), _number(row, f"error_{low}_{high}")) for low, high in RINGS]
    return listed(with_error(*pair) for pair in pairs)


def off_the_counts(row: Row, counted: Row) -> float:
    """Sum over the rings of the absolute log ratios of expected and counted numbers."""
    return float(np.abs(np.log(_rings(row)) - np.log(_rings(counted))).sum())


def closest_outside(rows: Sequence[Row]) -> Row:
    """The family that comes nearest to the counts outside."""
    counted = next(row for row in rows if row["family"] == COUNTED)
    return min(counted_outside(rows), key=lambda row: off_the_counts(row, counted))


def rings_missed(row: Row, counted: Row) -> list[str]:
    """The rings in which a family's 95 % interval does not contain the count."""
    return [
        name
        for ring, name in zip(_RING_COLUMNS, _RING_NAMES, strict=True)
        if not _number(row, f"low_{ring}") <= _number(counted, f"outside_{ring}") <= _number(row, f"high_{ring}")
    ]


def of_cyclones(rows: Sequence[Row]) -> list[str]:
    """Two paragraphs: inside and outside."""
    return [" ".join(_inside(rows)), " ".join(_outside(rows))]


def _inside(rows: Sequence[Row]) -> Iterator[str]:
    named = {row["family"]: row for row in rows}
    best, fitting = _best(rows), families_that_fit(rows)
    others = [_name(row) for row in fitting if row is not best]
    yield f"**Inside**, {_name(best)} describes storms that were left out best."
    if others:
        yield f"The fits of {listed(others)} are about as good."
    if fitting:
        yield from _lowest_bic(rows, fitting)
        strict = [_name(row) for row in families_that_fit(rows, USUAL_LEVEL)]
        if len(strict) < len(fitting):
            left = f"only {listed(strict)} would fit" if strict else "no family would fit"
            yield f"If p below {USUAL_LEVEL} counted as a rejection, {left}."
    yield f"The paper's fit is worse by {_behind(named[PAPER])} in the mean log density of a fix, the exact likelihood"
    yield f"of the same family by {_behind(named[LIKELIHOOD])}, and the density map by {_behind(named[MAP])}."
    share = max(_number(row, "background_share") for row in rows if row["background_share"] != "nan")
    yield "The fits find no background." if share < 1e-3 else f"A background has up to {100.0 * share:.0f} %."


def _lowest_bic(rows: Sequence[Row], fitting: Sequence[Row]) -> Iterator[str]:
    every = [row for row in rows if np.isfinite(_number(row, "bic"))]
    ours, lowest = (min(chosen, key=lambda row: _number(row, "bic")) for chosen in (fitting, every))
    if ours is lowest:
        yield f"{_name(ours)} has the lowest BIC."
        return
    why = "the test rejects" if _number(lowest, "stein_p") < DOUBT else "does not fit"
    yield f"Of the families that fit, {_name(ours)} has the lowest BIC; of all families {_name(lowest)} has, which"
    yield f"{why}."


def _outside(rows: Sequence[Row]) -> Iterator[str]:
    named = {row["family"]: row for row in rows}
    best, closest, counted, paper = _best(rows), closest_outside(rows), named[COUNTED], named[PAPER]
    yield f"**Outside**, {_ring_texts(counted)} fixes were counted for each fix inside, at {listed(_RING_NAMES)} km"
    yield "from the border."
    fitting = counted_outside(families_that_fit(rows))
    if fitting:
        spans = [(min(values), max(values)) for values in zip(*map(_rings, fitting), strict=True)]
        yield f"The families that fit expect {_spans(spans)}."
        missed = _not_in(spans, counted)
        if missed:
            yield f"At {listed(missed)} km the count does not lie between these."
        missed = _not_in(union(fitting), counted)
        yield f"The union of their 95 % intervals is {_spans(union(fitting))}. It contains the count"
        yield f"{'in every ring' if not missed else 'except at ' + listed(missed) + ' km'}, but its ends differ by a"
        yield f"factor of up to {_width(union(fitting)):,.0f}."
    yield f"{_name(closest)} comes nearest to the counts."
    if closest is not best:
        yield f"{_name(best)}, which describes the inside best, is not the best outside."
    yield f"The 95 % intervals of the paper's fit, {_spans(union([paper]))}, contain the counts"
    missed = rings_missed(paper, counted)
    yield f"{'in every ring' if not missed else 'except at ' + listed(missed) + ' km'}; their ends differ by a factor"
    yield f"of up to {_width(union([paper])):,.0f}."
    for row in counted_outside(rows):
        if row is not paper and (missed := rings_missed(row, counted)):
            yield f"The 95 % interval of {_name(row)} does not contain the count at {listed(missed)} km."
    yield from _lucky(rows, fitting, counted)


def _lucky(rows: Sequence[Row], fitting: Sequence[Row], counted: Row) -> Iterator[str]:
    """Families that do not fit inside and are as near to the counts as some that do."""
    if fitting:
        farthest = max(fitting, key=lambda row: off_the_counts(row, counted))
        limit = off_the_counts(farthest, counted)
        others = [_name(r) for r in counted_outside(rows) if r not in fitting and off_the_counts(r, counted) < limit]
        if others:
            yield f"But {listed(others)}, which do not fit inside, come nearer to the counts than {_name(farthest)},"
            yield "which does. This is one data set, so it is no proof."


def _spans(pairs: Sequence[tuple[float, float]]) -> str:
    return listed(f"{significant(low, 2)} to {_no_more_than(high)}" for low, high in pairs)


def _no_more_than(value: float) -> str:
    return significant(value, 2) if value <= _MANY else f"more than {_MANY:,}"


def _width(spans: Sequence[tuple[float, float]]) -> float:
    return max(high / low for low, high in spans)


def _not_in(spans: Sequence[tuple[float, float]], counted: Row) -> list[str]:
    triples = zip(spans, _rings(counted), _RING_NAMES, strict=True)
    return [name for (low, high), value, name in triples if not low <= value <= high]


def of_events(rows: Sequence[Row]) -> list[str]:
    """A paragraph for each catalogue."""
    found = []
    for name in dict.fromkeys(row["catalogue"] for row in rows):
        chosen = [row for row in rows if row["catalogue"] == name]
        fitting = families_that_fit(chosen)
        title = f"**{_TITLES[name]}.** "
        found.append(title + (_where_they_put_it(fitting) if len(fitting) > 1 else _none_fits(chosen)))
    return found


def _none_fits(rows: Sequence[Row]) -> str:
    tested = [row for row in rows if np.isfinite(_number(row, "stein_p"))]
    largest = max(_number(row, "stein_p") for row in tested)
    best = _best(rows)
    second = max((row for row in tested if row is not best), key=lambda row: _number(row, "below_best"))
    rejected = f"The Stein test rejects every family (largest p: {p_value(largest)})"
    rejected = rejected if largest < DOUBT else "No family fits"
    failed = [_name(row) for row in rows if row["family"] != MAP and row not in tested]
    failures = f" {listed(failed)} could not be fitted." if failed else ""
    return (
        f"{rejected}.{failures} Years that were left out are described best by the {best['family']}. The next, "
        f"{_name(second)}, is worse by {_behind(second)} in the mean log density of an event. So the centre depends on "
        "the family that is chosen, and no family tried here describes the data."
    )


def spread_of_places(rows: Sequence[Row]) -> float:
    """The largest distance in km between the densest places of families."""
    X = tmsm.lonlat_to_xyz([_number(r, "longitude") for r in rows], [_number(r, "latitude") for r in rows])
    return float(kilometres(X[:, None, :], X[None, :, :]).max(initial=0.0))


def _where_they_put_it(fitting: Sequence[Row]) -> str:
    X = tmsm.lonlat_to_xyz([_number(r, "longitude") for r in fitting], [_number(r, "latitude") for r in fitting])
    seen = tmsm.datasets.load_border("usa", RESOLUTIONS[0]).contains(X)
    at_home, abroad = ([row for row, inside in zip(fitting, seen, strict=True) if inside == side] for side in (1, 0))
    outside = counted_outside(fitting)
    ends = [_spans([union(outside)[k]]) for k in (0, -1)] if outside else ["unknown", "unknown"]
    away = f"; those of {listed(map(_name, abroad))} lie outside, up to" if abroad else ""
    away += f" {spread_of_places(fitting):,.0f} km from that of another family" if abroad else ""
    return (
        f"These fit: {listed(map(_name, fitting))}. The densest places of {len(at_home)} of these {len(fitting)} lie "
        f"inside the country, up to {spread_of_places(at_home):,.0f} km apart{away}. For each event inside, the union "
        f"of the 95 % intervals is {ends[0]} events at {_RING_NAMES[0]} km from the border and {ends[1]} at "
        f"{_RING_NAMES[-1]} km. So these data do not say where the centre is, on the East Coast or elsewhere."
    )
