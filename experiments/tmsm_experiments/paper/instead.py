"""What the table of families says, in sentences; every number and every choice of words comes from the table."""

from collections.abc import Iterator, Sequence

import numpy as np

import tmsm
from tmsm_experiments.paper.catalogues import kilometres
from tmsm_experiments.paper.claims import BEYOND, DOUBT, listed
from tmsm_experiments.paper.families import COUNTED, LIKELIHOOD, MAP, PAPER, RINGS
from tmsm_experiments.paper.results import Row
from tmsm_experiments.paper.tables import p_value, with_error

_TITLES = {"events": "All Storm Events", "fatal events": "Storm Events with fatalities"}


def _number(row: Row, name: str) -> float:
    return float(row[name])


def _rings(row: Row) -> list[float]:
    return [_number(row, f"outside_{low}_{high}") for low, high in RINGS]


def _is_close(row: Row) -> bool:
    """Rows that were left out are described about as well as by the best."""
    return -_number(row, "below_best") <= BEYOND * _number(row, "below_best_error")


def families_that_fit(rows: Sequence[Row]) -> list[Row]:
    """Those that describe rows left out about as well as the best, and that the test does not reject."""
    return [row for row in rows if _is_close(row) and _number(row, "stein_p") >= DOUBT]


def _name(row: Row) -> str:
    return f"*{row['family']}*"


def _best(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if _number(row, "below_best") == 0.0)


def _behind(row: Row) -> str:
    return with_error(-_number(row, "below_best"), _number(row, "below_best_error"))


def _ring_texts(row: Row) -> str:
    pairs = [(_number(row, f"outside_{low}_{high}"), _number(row, f"error_{low}_{high}")) for low, high in RINGS]
    return listed(with_error(*pair) for pair in pairs)


def closest_outside(rows: Sequence[Row]) -> Row:
    """The family whose numbers outside are nearest to those counted, by the sum of absolute log ratios."""
    counted = np.log(_rings(next(row for row in rows if row["family"] == COUNTED)))
    others = [row for row in rows if row["family"] not in (COUNTED, MAP) and np.isfinite(_rings(row)).all()]
    return min(others, key=lambda row: float(np.abs(np.log(_rings(row)) - counted).sum()))


def _misses(row: Row, counted: Row) -> bool:
    """Whether some 95 % interval does not contain what was counted."""
    return any(
        not _number(row, f"low_{ring}") <= _number(counted, f"outside_{ring}") <= _number(row, f"high_{ring}")
        for ring in (f"{low}_{high}" for low, high in RINGS)
    )


def of_cyclones(rows: Sequence[Row]) -> list[str]:
    """Two paragraphs: inside and outside."""
    return [" ".join(_inside(rows)), " ".join(_outside(rows))]


def _inside(rows: Sequence[Row]) -> Iterator[str]:
    named = {row["family"]: row for row in rows}
    best, fitting = _best(rows), families_that_fit(rows)
    others = [_name(row) for row in fitting if row is not best]
    yield f"**Inside**, {_name(best)} describes storms that were left out best."
    if others:
        preferred = _name(min(fitting, key=lambda row: _number(row, "bic")))
        yield f"The fits of {listed(others)} are about as good, and BIC prefers {preferred}."
    yield f"The paper's fit is worse by {_behind(named[PAPER])} in the mean log density of a fix, the exact likelihood"
    yield f"of the same family by {_behind(named[LIKELIHOOD])}, and the density map by {_behind(named[MAP])}."
    share = max(_number(row, "background_share") for row in rows if row["background_share"] != "nan")
    yield "The fits find no background." if share < 1e-3 else f"A background has up to {100.0 * share:.0f} %."


def _outside(rows: Sequence[Row]) -> Iterator[str]:
    named = {row["family"]: row for row in rows}
    best, closest, counted = _best(rows), closest_outside(rows), named[COUNTED]
    yield f"**Outside**, {_ring_texts(counted)} fixes were counted for each fix inside, at {_ring_names()}."
    yield f"The paper's fit expects {_ring_texts(named[PAPER])}."
    yield f"The numbers of {_name(closest)} are the nearest to those counted: {_ring_texts(closest)}."
    if closest is not best:
        yield f"The family that describes the inside best is not the best outside: {_name(best)} expects"
        yield f"{_ring_texts(best)}."
    far = [_rings(row)[-1] for row in families_that_fit(rows)]
    if far:
        yield f"In the farthest ring the families that fit expect from {min(far):.1f} to {max(far):.1f}."
    missed = [_name(row) for row in rows if row["family"] not in (COUNTED, MAP) and _misses(row, counted)]
    if missed:
        yield f"The 95 % intervals of {listed(missed)} do not contain what was counted."


def _ring_names() -> str:
    return listed(f"{low:,} to {high:,}" for low, high in RINGS) + " km from the border"


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
    return (
        f"{rejected}. Years that were left out are described best by the {best['family']}. The next, "
        f"{_name(second)}, is worse by {_behind(second)} in the mean log density of an event. So the centre of "
        "such a family is not a property of these data."
    )


def spread_of_places(rows: Sequence[Row]) -> float:
    """The largest distance in km between the densest places of families."""
    X = tmsm.lonlat_to_xyz([_number(r, "longitude") for r in rows], [_number(r, "latitude") for r in rows])
    return float(kilometres(X[:, None, :], X[None, :, :]).max())


def _where_they_put_it(fitting: Sequence[Row]) -> str:
    near, far = ([_rings(row)[k] for row in fitting] for k in (0, -1))
    return (
        f"These fit: {listed(map(_name, fitting))}. Their densest places lie up to "
        f"{spread_of_places(fitting):,.0f} km apart. For each event inside they expect from {min(near):.1f} to "
        f"{max(near):.1f} events within 250 km of the border, and from {min(far):.2g} to {max(far):.2g} at 500 to "
        "1,000 km. "
        "So these data do not say where the centre is, on the East Coast or elsewhere."
    )
