"""Rounded rows and borders known by points: what they do to an estimate, and that the status says so."""

import re

import numpy as np
import pytest

import tmsm
from tmsm.inference.border_check import misplaced_border
from tmsm.inference.influence import Influence
from tmsm.matching.likelihood import LikelihoodEquations, WholeLikelihood

MODEL, CENTRE, KAPPA = tmsm.VonMisesFisher(), tmsm.lonlat_to_xyz(-90.0, 38.0), 30.0
SIDES = (-110, 30, -80, 50)
BOX = tmsm.LonLatBox(*SIDES)
REPEATS = 4


def sample(n, seed, step=None, region=BOX):
    X = MODEL.sample(n, region, random_state=seed, mean_direction=CENTRE, concentration=KAPPA)
    if step is None:
        return X
    lon, lat = tmsm.xyz_to_lonlat(X)
    return tmsm.lonlat_to_xyz(np.rint(lon / step) * step, np.rint(lat / step) * step)


def errors(fits):
    return np.array([(fit.params_.concentration - KAPPA) / fit.std_errors_.concentration for fit in fits])


def said(fit):
    found = re.search(r"moves the estimate by about (\S+) standard", fit.status_)
    return float(found[1]) if found else None


def test_whole_cells_restore_the_estimate_from_rows_rounded_to_half_a_degree():
    # Of 300 samples 94.7 % of the 95 % intervals cover; of unrounded ones 94.0 %.
    cells = tmsm.LonLatBox(*SIDES, rounded=0.5)
    tables = [sample(10_000, seed, 0.5) for seed in range(REPEATS)]
    mended = [tmsm.ScoreMatching(MODEL, cells).fit(X) for X in tables]
    assert abs(errors(mended).mean()) < 3 / np.sqrt(REPEATS)
    assert all(said(fit) is None for fit in mended)
    plain = [tmsm.ScoreMatching(MODEL, BOX, outside="drop").fit(X) for X in tables]
    assert (np.abs(errors(plain)) > 1.96).all()
    # The status knows by how much: to first order, so within a third.
    assert np.mean([said(fit) for fit in plain]) == pytest.approx(errors(plain).mean(), rel=1 / 3)
    assert repr(cells) in plain[0].status_
    assert f"{plain[0].n_outside_} rows were dropped" in plain[0].status_
    assert plain[0].n_outside_ == mended[0].n_outside_ > 0
    assert f"{mended[0].n_outside_} rows outside the region were dropped" in mended[0].summary()


def test_the_likelihood_and_dropped_rows_are_told_the_same():
    X = sample(10_000, 0, 0.5)
    inside = X[BOX.contains(X)]  # rows on the border were dropped before
    fit = tmsm.TruncatedMLE(MODEL, BOX).fit(inside)
    assert said(fit) > 3
    assert "were dropped because" not in fit.status_
    assert said(tmsm.TruncatedMLE(MODEL, tmsm.LonLatBox(*SIDES, rounded=0.5)).fit(X)) is None
    # A step that is too small does not mend it, one that is too large does.
    assert said(tmsm.ScoreMatching(MODEL, tmsm.LonLatBox(*SIDES, rounded=0.1), "componentwise").fit(X)) > 3
    assert said(tmsm.ScoreMatching(MODEL, tmsm.LonLatBox(*SIDES, rounded=1.0), "componentwise").fit(X)) is None
    assert said(tmsm.ScoreMatching(MODEL, BOX, outside="drop", standard_errors=False).fit(X)) > 3


@pytest.mark.parametrize(("step", "n"), [(None, 10_000), (0.01, 10_000), (1e-4, 10_000), (0.1, 300)])
def test_no_alarm_where_rounding_does_no_harm(step, n):
    fit = tmsm.ScoreMatching(MODEL, BOX, "componentwise", outside="drop").fit(sample(n, 1, step))
    assert said(fit) is None
    # Edges between the multiples that are the edges of cells.
    whole = tmsm.LonLatBox(-110.05, 29.95, -79.95, 50.05)
    X = sample(3000, 1, 0.1, whole)
    assert said(tmsm.ScoreMatching(MODEL, whole, "componentwise").fit(X)) is None


def test_rows_on_the_border_are_refused_with_what_to_do():
    X = sample(2000, 0, 0.5)
    on_border = int((BOX.border_distance(X)[0] == 0).sum())
    with pytest.raises(
        ValueError, match=f"multiples of 0.5°, and {on_border} rows lie exactly on the border. Use LonLat"
    ):
        tmsm.ScoreMatching(MODEL, BOX).fit(X)
    # Outside for another reason: the rows on the border alone are left out by themselves.
    far = np.vstack([X, tmsm.lonlat_to_xyz([-120.0], [40.0])])
    with pytest.raises(
        ValueError, match=f"{on_border + 1} of 2001 rows outside the region, {on_border} of them on the"
    ):
        tmsm.ScoreMatching(MODEL, tmsm.LonLatBox(*SIDES, rounded=0.5)).fit(far)
    hole = BOX & ~tmsm.Cap(tmsm.lonlat_to_xyz(-100.0, 45.0), 0.05)
    with pytest.raises(ValueError, match=r"Give the boxes in it rounded=0\.5"):
        tmsm.ScoreMatching(MODEL, hole).fit(X)
    mended = tmsm.LonLatBox(*SIDES, rounded=0.5) & ~tmsm.Cap(tmsm.lonlat_to_xyz(-100.0, 45.0), 0.05)
    assert tmsm.ScoreMatching(MODEL, mended, outside="drop").fit(X).n_outside_ > on_border
    polar = tmsm.Cap([0.0, 0.0, 1.0], np.pi / 3)  # a parallel of the grid
    X = sample(5000, 0, 0.5, polar)
    with pytest.raises(ValueError, match=r"Take the border half a step \(0.25°\) further in"):
        tmsm.ScoreMatching(MODEL, polar).fit(X)
    assert said(tmsm.ScoreMatching(MODEL, polar, outside="drop").fit(X)) > 0.5


def test_a_flat_box_of_whole_cells():
    # Rows on the ridge halfway between two sides contradicted the rest where their slope was that of one side.
    box, cells = tmsm.Box([0.0, 0.0], [3.0, 4.0]), tmsm.Box([0.0, 0.0], [3.0, 4.0], rounded=0.1)
    found = []
    for seed in range(2):
        X = np.random.default_rng(seed).normal(1.0, 1.0, (40_000, 2))
        X = np.rint(X[box.contains(X)] * 10) / 10
        fit = tmsm.ScoreMatching(tmsm.MultivariateNormal(), cells).fit(X)
        assert "contradict" not in fit.status_
        assert said(fit) is None
        found.append((fit.params_.mean - 1.0) / fit.std_errors_.mean)
    assert (np.abs(np.mean(found, axis=0)) < 3 / np.sqrt(2)).all()
    assert said(tmsm.ScoreMatching(tmsm.MultivariateNormal(), box, "componentwise", outside="drop").fit(X)) > 3


def ring(m):
    """Points along the sides of the box, evenly in degrees."""
    west, south, east, north = SIDES
    t = np.linspace(0.0, 100.0, m, endpoint=False)
    corners = [west, east, east, west, west], [south, south, north, north, south]
    return tmsm.lonlat_to_xyz(*(np.interp(t, [0, 30, 50, 80, 100], side) for side in corners))


def test_wide_gaps_between_border_points_are_told():
    tables = [sample(10_000, seed) for seed in range(3)]
    wide, fine = (tmsm.BorderPoints(ring(m), contains=BOX.contains) for m in (40, 2000))
    biased = [tmsm.ScoreMatching(MODEL, wide, "saturating").fit(X) for X in tables]
    assert (np.abs(errors(biased)) > 1.96).all()
    assert np.mean([said(fit) for fit in biased]) == pytest.approx(errors(biased).mean(), rel=1 / 3)
    assert re.search(r"known by 40 points that lie 2\.\d+° apart", biased[0].status_)
    assert "Use SphericalPolygon with the same points in order" in biased[0].status_
    assert all(said(tmsm.ScoreMatching(MODEL, fine, "saturating").fit(X)) is None for X in tables)
    # With edges the same forty points do; the likelihood needs no distance.
    polygon = tmsm.SphericalPolygon.from_geojson(
        {"type": "Polygon", "coordinates": [np.column_stack(tmsm.xyz_to_lonlat(ring(40))).tolist()]}, tolerance=1.0
    )
    mended = [tmsm.ScoreMatching(MODEL, polygon, "saturating").fit(X[polygon.contains(X)]) for X in tables]
    assert abs(errors(mended).mean()) < 3 / np.sqrt(3)
    two = tmsm.BorderPoints([[1.0, 0.0], [-1.0, 0.0]], contains=lambda X: X[:, 1] > 0)  # a border without gaps
    arc = {"mean_direction": [0.0, 1.0], "concentration": 2.0}
    X = MODEL.sample(500, tmsm.Hemisphere([0.0, 1.0]), random_state=0, **arc)
    assert said(tmsm.ScoreMatching(MODEL, two).fit(X)) is None
    fit = biased[0].result_
    X = fit.kept.sample().X
    whole = WholeLikelihood(fit.model, X.mean(axis=0), X[:1])
    likelihood = Influence(LikelihoodEquations(fit.model, whole, whole.mean), fit.theta, -fit.covariance)
    assert misplaced_border(likelihood, fit.covariance, fit.kept, fit.n_samples) == []
