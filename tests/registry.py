"""Every manifold, region, weight and model, with points to try them on: the laws run over these."""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_ds
import pyarrow.parquet as pq
import pytest

import tmsm
from tests.contract.test_own_kinds import own
from tmsm import weights
from tmsm.data.block_factories import FactorySource
from tmsm.data.dask_collections import dask_source
from tmsm.data.groups import Groups
from tmsm.data.sources import ArraySource, Source
from tmsm.data.table_source import open_table
from tmsm.manifolds import Manifold
from tmsm.models import CosineVonMises, Local, Model, NonlinearModel, TrigonometricFamily
from tmsm.regions import BorderView, Region
from tmsm.weights import Weight, WeightPolicy
from tmsm.weights.policies import Setting, as_policy


def _ellipsoid(x: Any) -> Any:
    return (x[0] / 2.0) ** 2 + (x[1] / 1.3) ** 2 + (x[2] / 0.8) ** 2 - 1.0


def _curve(x: Any) -> Any:
    return jnp.stack([x @ x - 1.0, x[0] * x[1] - 0.1])


def _wave(x: Any) -> Any:
    return x[-1] - 0.3 * jnp.sin(2.0 * x[0]) + 0.1


def _bulge(x: Any) -> Any:
    return jnp.exp(0.3 * x[0]) - 0.7 * x[1] ** 2


_surface = tmsm.LevelSet(_ellipsoid, 3)
MANIFOLDS: list[Manifold] = [
    tmsm.Sphere(1),
    tmsm.Sphere(2),
    tmsm.Sphere(4),
    tmsm.Sphere(9),
    tmsm.Euclidean(1),
    tmsm.Euclidean(2),
    tmsm.Euclidean(5),
    tmsm.Torus(2),
    tmsm.Torus(3),
    tmsm.Sphere(2) * tmsm.Euclidean(1),
    tmsm.Sphere(1) * tmsm.Euclidean(1),
    tmsm.Hyperbolic(1),
    tmsm.Hyperbolic(2),
    tmsm.Hyperbolic(4),
    tmsm.Hyperbolic(2) * tmsm.Sphere(1),
    tmsm.Rotations(),
    tmsm.Rotations() * tmsm.Euclidean(1),
    _surface,
    tmsm.LevelSet(_curve, 3),
]


def unit(*entries: float) -> np.ndarray:
    v = np.array(entries, dtype=float)
    return v / np.linalg.norm(v)


def north(X: np.ndarray) -> np.ndarray:
    return X[:, 2] > 0


def _equator(m: int) -> np.ndarray:
    lon = np.linspace(0.0, 2 * np.pi, m, endpoint=False)
    return np.column_stack([np.cos(lon), np.sin(lon), np.zeros(m)])


@dataclass(frozen=True)
class Case:
    """A region and what is known of its distance.

    exact: inside it is the distance and no lower bound; projected: there is a projected one too;
    signed: it changes sign continuously (not so between bare border points); chordal: there is a chordal one.
    """

    name: str
    region: Region
    exact: bool = True
    projected: bool = False
    signed: bool = True
    chordal: bool = True

    def __repr__(self) -> str:
        return self.name


_cap = tmsm.Cap(unit(1, -2, 0.5), 0.9)
_wide = tmsm.Cap(unit(0.3, 0.2, -1), 2.2)
_star = [[0, 0], [3, 0.4], [1.2, 1.1], [2.5, 3], [0.8, 2], [-1, 2.6], [-0.4, 1]]


def star(m: int, seed: int, radius: float = 0.6, rough: float = 0.12) -> np.ndarray:
    """A ring of m vertices round (1, 0, 0) whose radius is a rough random function of the angle."""
    rng = np.random.default_rng(seed)
    turn = np.linspace(0.0, 2 * np.pi, m, endpoint=False)
    waves = range(1, max(2, m // 4))
    noise = sum(rng.normal() / k * np.cos(k * turn + rng.uniform(0, 7)) for k in waves)
    r = radius + rough * noise / np.abs(noise).max()
    return np.column_stack([np.cos(r), np.sin(r) * np.cos(turn), np.sin(r) * np.sin(turn)])


_turns = tmsm.RotationCap(unit(1, -2, 0.5, 1), 2.0)
_polygon = tmsm.SphericalPolygon([star(60, 1), star(15, 2, 0.3, 0.05), star(7, 3, 0.1, 0.02)])

REGIONS: list[Case] = [
    Case("octant", tmsm.SphericalPolygon([np.eye(3)]), projected=True),
    Case("polygon with hole and island", _polygon, projected=True),
    Case("polygon beyond a hemisphere", tmsm.SphericalPolygon([star(40, 4)], inside=[-1, 0, 0]), projected=True),
    Case("polygon without a cap", _polygon & ~tmsm.Cap(unit(1, 0.5, 0), 0.1), projected=True),
    Case("lon/lat box", tmsm.LonLatBox(-100, -20, 30, 70), projected=True),
    Case("box across the antimeridian", tmsm.LonLatBox(150, -40, -120, 20), projected=True),
    Case("box at a pole", tmsm.LonLatBox(-60, 10, 80, 90), projected=True),
    Case("band", tmsm.LonLatBox(-180, -30, 180, 50), projected=True),
    Case("lune", tmsm.LonLatBox(10, -90, 100, 90), projected=True),
    Case("polar cap as a box", tmsm.LonLatBox(-180, 40, 180, 90), projected=True),
    Case("outside of a band", ~tmsm.LonLatBox(-180, -30, 180, 50), projected=True),
    Case("wide box", tmsm.LonLatBox(-100, -40, 200, 70), projected=True),
    Case("sky mask", tmsm.HealpixMask(2, np.r_[0:9, 12, 20:30], tolerance=1e-4), projected=True),
    Case("cap", _cap, projected=True),
    Case("wide cap", _wide, projected=True),
    Case("cap on an axis", tmsm.Cap([0.0, 1.0, 0.0], 0.7), projected=True),
    Case("hemisphere", tmsm.Hemisphere([-1.0, 0.0, 0.0]), projected=True),
    Case("tilted hemisphere", tmsm.Hemisphere(unit(1, 1, 1)), projected=True),
    Case("arc", tmsm.Cap([0.0, 1.0], 1.1), projected=True),
    Case("cap on S4", tmsm.Cap(unit(1, 2, 0, -1, 1), 1.2), projected=True),
    Case("hemisphere of S9", tmsm.Hemisphere(np.eye(10)[3]), projected=True),
    Case("complement of a cap", ~_cap, projected=True),
    Case("lens", _cap & tmsm.Hemisphere([0.0, 0.0, 1.0]), projected=True),
    Case("cap without a cap", _wide & ~tmsm.Cap(unit(0.3, 0.2, -1), 0.5), projected=True),
    Case("two caps", _cap | tmsm.Cap(unit(0, -1, 1), 0.6), exact=False, projected=True),
    Case("ring round a polygon", _polygon.surroundings(0.05, 0.3), exact=False),
    Case("ring next to a cap", _cap.surroundings(0.0, 0.8)),
    Case("ring round a ball", tmsm.Ball([0.5, 0.0, -0.5], 1.0).surroundings(0.2, 1.0)),
    Case("equator points", tmsm.BorderPoints(_equator(5000), contains=north), projected=True, signed=False),
    Case("box", tmsm.Box([-1.0, 0.0, -0.5], [1.0, 2.0, 2.5])),
    Case("orthant", tmsm.Box([0.0, 0.0], [np.inf, np.inf])),
    Case("interval", tmsm.Box([-0.5], [2.0])),
    Case("ball", tmsm.Ball([0.5, 0.0, -0.5], 2.0)),
    Case("outside of a ball", ~tmsm.Ball([0.5, 0.0], 1.0)),
    Case("half-space", tmsm.HalfSpace([1.0, -2.0], 0.3)),
    Case("star", tmsm.Polygon(_star)),
    Case("star with a hole", tmsm.Polygon(_star) & ~tmsm.Ball([1.0, 1.0], 0.3)),
    Case("flat points", tmsm.BorderPoints([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0]]), signed=False),
    Case("triangle", tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0, 60, 25], [0, 5, 50])]), projected=True),
    Case("quadrilateral", tmsm.Polygon([[0, 0], [3, 0.4], [2.5, 3], [-0.4, 2]])),
    Case("annulus", tmsm.Ball([0.0, 0.0], 2.0) & ~tmsm.Ball([0.2, 0.0], 0.5)),
    Case("box of angles", tmsm.AngleBox([-1.0, -1.2], [1.3, 1.0]), chordal=False),
    Case("box of angles across ±π", tmsm.AngleBox([2.0, -1.0, -np.pi], [-2.5, 1.0, np.pi]), chordal=False),
    Case("cap above a threshold", tmsm.Cap(unit(1, 0, 1), 0.9) * tmsm.Box([0.3], [np.inf]), chordal=False),
    Case("arc times interval", tmsm.Cap([0.0, 1.0], 1.1) * tmsm.Box([-0.5], [2.0]), chordal=False),
    Case("geodesic ball on S2", tmsm.GeodesicBall(tmsm.Sphere(2), unit(1, -2, 0.5), 0.9)),
    Case("outside of a geodesic ball on S2", ~tmsm.GeodesicBall(tmsm.Sphere(2), unit(1, -2, 0.5), 0.9)),
    Case("ball on a torus", tmsm.GeodesicBall(tmsm.Torus(2), [0.6, 0.8, 0.0, -1.0], 1.3), chordal=False),
    Case("wide ball on a torus", tmsm.GeodesicBall(tmsm.Torus(2), [0.6, 0.8, 0, -1], 3.4), exact=False, chordal=False),
    Case(
        "ball in a product",
        tmsm.GeodesicBall(tmsm.Sphere(2) * tmsm.Euclidean(1), [0, 0.6, 0.8, 0.5], 1.2),
        chordal=False,
    ),
    Case("hyperbolic ball", tmsm.GeodesicBall(tmsm.Hyperbolic(2), [0.5, -0.2], 1.2), chordal=False),
    Case("outside of a hyperbolic ball", ~tmsm.GeodesicBall(tmsm.Hyperbolic(2), [0.5, 0.3], 0.7), chordal=False),
    Case("ball in hyperbolic 3-space", tmsm.GeodesicBall(tmsm.Hyperbolic(3), [0.4, 0.0, -0.3], 1.6), chordal=False),
    Case(
        "lens of hyperbolic balls",
        tmsm.GeodesicBall(tmsm.Hyperbolic(2), [0.5, -0.2], 1.2)
        & tmsm.GeodesicBall(tmsm.Hyperbolic(2), [-0.5, 0.4], 1.4),
        chordal=False,
    ),
    Case("rotations within an angle", _turns),
    Case("rotations beyond an angle", ~_turns),
    Case("ball of rotations", tmsm.GeodesicBall(tmsm.Rotations(), unit(1, -2, 0.5, 1), 0.8)),
    Case("axis within a cap", tmsm.AxisWithin(unit(1, 2, -1), _cap)),
    Case("axis within a box", tmsm.AxisWithin(unit(0, 0, 1), tmsm.LonLatBox(-100, -20, 30, 70))),
    Case("axis within an octant", tmsm.AxisWithin(unit(0, 1, 1), tmsm.SphericalPolygon([np.eye(3)]))),
    Case("angle and axis", _turns & tmsm.AxisWithin(unit(1, 2, -1), tmsm.Cap(unit(1, -2, 1), 1.3))),
]

# Regions that know a function which is zero on the border, and no distance to it.
IMPLICIT: list[Case] = [
    Case("above a wave", tmsm.Implicit(_wave, tmsm.Sphere(2)), exact=False, chordal=False),
    Case("two functions in the plane", tmsm.Implicit([_wave, _bulge], tmsm.Euclidean(2)), exact=False, chordal=False),
    Case("below a wave on a torus", ~tmsm.Implicit(_wave, tmsm.Torus(2)), exact=False, chordal=False),
    Case("above a wave on an ellipsoid", tmsm.Implicit(_wave, _surface), exact=False, chordal=False),
    Case("part of a hyperbolic plane", tmsm.Implicit(_bulge, tmsm.Hyperbolic(2)), exact=False, chordal=False),
]

EVERYWHERE: list[Case] = [
    Case("whole sphere", tmsm.Everywhere(tmsm.Sphere(2))),
    Case("whole plane", tmsm.Everywhere(tmsm.Euclidean(2))),
]

_kent = {"mean_direction": unit(1, -2, 1), "major_axis": unit(2, 1, 0), "minor_axis": unit(-1, 2, 5)}
_symmetric = np.array([[1.0, 0.5, -0.2, 0.3], [0.5, -2.0, 0.4, 0.0], [-0.2, 0.4, 0.5, 1.0], [0.3, 0.0, 1.0, 0.5]])

_FAMILIES: list[tuple[Model, dict[str, np.ndarray]]] = [
    (tmsm.VonMisesFisher(), {"mean_direction": unit(1, -0.5), "concentration": 2.0}),
    (tmsm.VonMisesFisher(), {"mean_direction": unit(1, -2, 1), "concentration": 3.0}),
    (tmsm.VonMisesFisher(3.0), {"mean_direction": unit(0, -2, 1)}),
    (tmsm.VonMisesFisher(), {"mean_direction": unit(1, 1, 0, -1, 2), "concentration": 5.0}),
    (tmsm.MultivariateNormal(), {"mean": [0.4], "covariance": [[1.3]]}),
    (tmsm.MultivariateNormal(), {"mean": [0.5, 1.0], "covariance": [[1.5, 0.4], [0.4, 1.0]]}),
    (tmsm.MultivariateNormal([[1.5, 0.4], [0.4, 1.0]]), {"mean": [0.5, 1.0]}),
    (tmsm.MultivariateNormal(isotropic=True), {"mean": [0.5, 1.0], "covariance": 1.3 * np.eye(2)}),
    (
        tmsm.MultivariateNormal(),
        {"mean": [0.0, 1.0, 0.5], "covariance": [[1.0, 0.2, 0.0], [0.2, 2.0, -0.3], [0.0, -0.3, 1.5]]},
    ),
    (tmsm.FisherBingham(), {"linear": [1.0, -0.5], "quadratic": [[1.0, 0.4], [0.4, -1.0]]}),
    (tmsm.FisherBingham(), {"linear": [3.0, -1.0, 0.5], "quadratic": np.diag([1.0, 0.5, -1.5])}),
    (tmsm.FisherBingham(), {"linear": [1.0, 0.0, 2.0, -1.0], "quadratic": _symmetric}),
    (tmsm.Bingham(), {"quadratic": np.diag([2.0, 1.0, -3.0])}),
    (tmsm.Bingham(), {"quadratic": _symmetric}),
    (tmsm.Watson(), {"axis": unit(0.5, 1.0), "concentration": 2.0}),
    (tmsm.Watson(), {"axis": unit(-1, 2, 1), "concentration": 3.0}),
    (tmsm.Watson(), {"axis": unit(-1, 2, 1), "concentration": -3.0}),
    (tmsm.Watson(-2.0), {"axis": unit(1, 3, -1, 0.5, 1)}),
    (tmsm.Kent(), {**_kent, "concentration": 5.0, "ovalness": 1.5}),
    (tmsm.Kent(5.0), {**_kent, "ovalness": 1.5}),
    (tmsm.Kent(None, 1.5), {**_kent, "concentration": 5.0}),
    (tmsm.Kent(5.0, 1.5), _kent),
    (tmsm.Kent(unimodal=False), {**_kent, "concentration": 2.0, "ovalness": 3.0}),
    (tmsm.Kent(balanced=False), {**_kent, "concentration": 5.0, "ovalness": [1.5, -3.0]}),
    (tmsm.Kent(ovalness=[1.5, 0.5], balanced=False), {**_kent, "concentration": 5.0}),
    (tmsm.models.HyperboloidDistribution(), {"mean": [0.7], "concentration": 2.0}),
    (tmsm.models.HyperboloidDistribution(), {"mean": [0.4, -0.6], "concentration": 3.0}),
    (tmsm.models.HyperboloidDistribution(), {"mean": [0.4, -0.6, 0.2, 0.0], "concentration": 5.0}),
]


def width(params: dict[str, np.ndarray]) -> int:
    """Number of coordinates of the points that parameters are for."""
    return len(next(iter(params.values())))


# Bound to their manifolds; then the same families written about another origin, as `centred` does.
MODELS = [(model.on(model.usual_manifold(width(params))), params) for model, params in _FAMILIES]
MODELS += [(model.centred(np.array([[3.0, -1.0], [5.0, 0.5]])), params) for model, params in MODELS[5:8]]
MODELS += [(Local(model, unit(1.0, -1.5, 1.0), 0.9), params) for model, params in (MODELS[10], *MODELS[18:25])]
MODELS += [(Local(MODELS[k][0], unit(*centre), 0.9), MODELS[k][1]) for k, centre in ((9, (1, 1)), (11, (1, 0, 1, -1)))]

_angles = {"mean_angles": [0.4, -2.3], "concentration": [3.0, 2.0]}
_three_angles = {
    "mean_angles": [0.5, -0.2, 3.0],
    "concentration": [2.0, 2.0, 2.5],
    "interaction": [[0.0, 0.8, -0.6], [0.8, 0.0, 0.5], [-0.6, 0.5, 0.0]],
}
MODELS += [
    (tmsm.SineVonMises().on(tmsm.Torus(2)), {**_angles, "interaction": [[0.0, 1.2], [1.2, 0.0]]}),
    (tmsm.SineVonMises().on(tmsm.Torus(3)), _three_angles),
    (CosineVonMises().on(tmsm.Torus(2)), {**_angles, "interaction": [[0.0, -1.5], [-1.5, 0.0]]}),
    (CosineVonMises().on(tmsm.Torus(3)), _three_angles),
    (TrigonometricFamily(3).on(tmsm.Sphere(1)), {"coefficients": [1.0, 0.5, -0.4, 0.3, 0.2, 0.6]}),
    (TrigonometricFamily(1).on(tmsm.Torus(3)), {"coefficients": [1.0, 0.5, -0.4, 0.3, 0.2, 0.6]}),
    (
        TrigonometricFamily(2).on(tmsm.Torus(2)),
        {"coefficients": [1.0, 0.5, -0.4, 0.3, 0.2, 0.6, -0.3, 0.4, 0.1, -0.2, 0.3, 0.5]},
    ),
]

_turn = tmsm.Rotations().to_matrices([unit(1, -2, 0.5, 1)])[0]
MODELS += [
    (tmsm.MatrixFisher().on(tmsm.Rotations()), {"parameter": _turn @ np.diag([4.0, 2.0, -1.0])}),
    (
        tmsm.MatrixFisher().on(tmsm.Rotations()),
        {"parameter": np.array([[3.0, 1.0, 0.0], [-0.5, 2.0, 1.0], [0.2, 0.4, 1.0]])},
    ),
]

_line, _direction = {"mean": [0.4], "covariance": [[1.3]]}, {"mean_direction": unit(1, -2, 1), "concentration": 3.0}
_sphere_and_line = tmsm.Sphere(2) * tmsm.Euclidean(1)
_place_and_size = (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).on(_sphere_and_line)
_interaction = {"first": [1.0, -2.0, 0.5], "second": [1.0, 4.0], "interaction": [[1.5], [-1.0], [0.5]]}
_interacting = _place_and_size.interacting(second=[0])
_rows_far_away = np.array([[0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 1.0, 4.0]])
MODELS += [
    (_place_and_size, {**_direction, **_line}),
    (_place_and_size.centred(_rows_far_away), {**_direction, **_line}),
    (
        (tmsm.VonMisesFisher(3.0) * tmsm.Kent()).on(tmsm.Sphere(1) * tmsm.Sphere(2)),
        {
            "mean_direction_1": unit(1, -0.5),
            "mean_direction_2": _kent["mean_direction"],
            "concentration_1": 3.0,
            "concentration_2": 5.0,
            "major_axis": _kent["major_axis"],
            "minor_axis": _kent["minor_axis"],
            "ovalness": 1.5,
        },
    ),
    (
        (_place_and_size * tmsm.SineVonMises()).on(_sphere_and_line * tmsm.Torus(2)),
        {
            "mean_direction": unit(1, -2, 1),
            "concentration_1": 3.0,
            **_line,
            "mean_angles": [0.4, -2.3],
            "concentration_2": [3.0, 2.0],
            "interaction": [[0.0, 1.2], [1.2, 0.0]],
        },
    ),
    (_interacting, _interaction),
    (_interacting.centred(_rows_far_away), _interaction),
    (
        (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).interacting().on(tmsm.Sphere(1) * tmsm.Euclidean(1)),
        {"first": [1.0, 0.5], "second": [1.0, 4.0], "interaction": [[1.0, 0.5], [-0.5, 1.0]]},
    ),
    (
        (_interacting * tmsm.VonMisesFisher()).on(_sphere_and_line * tmsm.Sphere(1)),
        {**_interaction, "mean_direction": unit(1, -0.5), "concentration": 2.0},
    ),
]
MODELS += [
    (model.centred(np.array([[1.0, -0.5], [2.0, 0.1]])), params)
    for model, params in MODELS
    if model == tmsm.models.HyperboloidDistribution().on(tmsm.Hyperbolic(2))
]


def model_id(entry: tuple[Model, dict[str, np.ndarray]]) -> str:
    model, params = entry
    return f"{model!r}-{width(params)}"


def points(manifold: Manifold, n: int, seed: int = 0) -> np.ndarray:
    """Random points all over the manifold."""
    return manifold.scattered(n, np.random.default_rng(seed))


def inside_points(region: Region, n: int, seed: int = 0) -> np.ndarray:
    X = points(region.manifold, 60 * n, seed)
    X = X[region.contains(X)]
    assert len(X) >= n
    return X[:n]


def recipes_for(case: Case) -> list[Weight | WeightPolicy]:
    """Every weight that is valid on this region, its scales not yet fixed."""
    named: list[Weight | WeightPolicy] = [
        weights.Distance("geodesic"),
        weights.Saturating(),
        weights.Auto(combine=False),
    ]
    if case.chordal:
        named += [weights.Distance("chordal"), weights.Saturating(0.4, metric="chordal")]
    if case.projected:
        named += [weights.Projected(axis) for axis in range(min(3, case.region.manifold.embedding_dim))]
    if case.region.smooth_border is not None:
        named += [weights.Normal(), weights.Normal(2.5)]
    if case.region.axes is not None:
        named += [weights.Componentwise(), weights.Componentwise(0.5)]
    if case.region.constraints is not None:
        named += [weights.Constraints(), weights.Constraints(0.7)]
    return named


@lru_cache(maxsize=512)
def resolved(case: Case, recipe: Weight | WeightPolicy) -> Weight:
    """The weight with its scales fixed by some points of the region."""
    return chosen(recipe, case.region, inside_points(case.region, 200))


def chosen(recipe: Weight | WeightPolicy, region: Region, X: np.ndarray) -> Weight:
    """What a weight or a policy becomes for these rows; a policy chooses for few of them."""
    return as_policy(recipe).choose(Setting(BorderView(region, X), 3, 0.0)).weight


PAIRS: list[tuple[Case, Weight | WeightPolicy]] = [(case, recipe) for case in REGIONS for recipe in recipes_for(case)]
IMPLICIT_PAIRS: list[tuple[Case, Any]] = [(case, recipe) for case in IMPLICIT for recipe in recipes_for(case)]


def covering(entries: list[tuple], *aspects: Callable[..., Hashable]) -> list[tuple]:
    """Few of the entries, in their order, among which every value of every aspect occurs.

    An aspect is a function of an entry's arguments; without any, each argument is one, by its repr. Each next entry
    brings the most values that are still missing; of several, it is the one whose values occur least so far.
    """
    aspects = aspects or tuple(lambda *entry, k=k: repr(entry[k]) for k in range(len(entries[0])))
    values = [{(k, aspect(*entry)) for k, aspect in enumerate(aspects)} for entry in entries]
    missing, taken, chosen = set().union(*values), Counter[Any](), set()
    while missing:
        best = max(
            range(len(entries)), key=lambda k: (len(missing & values[k]), -sum(taken[value] for value in values[k]))
        )
        missing -= values[best]
        taken.update(values[best])
        chosen.add(best)
    return [entries[k] for k in sorted(chosen)]


def sampled(entries: list[tuple], *aspects: Callable[..., Hashable]) -> list[Any]:
    """The entries as parameters of a law: those that cover every aspect always run, the others are marked slow."""
    always = {id(entry) for entry in covering(entries, *aspects)}
    return [pytest.param(*entry, marks=() if id(entry) in always else pytest.mark.slow) for entry in entries]


def tangent_basis(manifold: Manifold, x: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the tangent space at x, as rows (dim, D)."""
    return np.concatenate(manifold.tangent_frame(x[None, :]))


def walk(manifold: Manifold, X: np.ndarray, V: np.ndarray, t: float | np.ndarray) -> np.ndarray:
    """Go along the geodesic from X with unit tangent V for a length t; where there is none, for a short one."""
    return manifold.retract(X, V * np.broadcast_to(np.asarray(t, dtype=float), (len(X),))[:, None])


def random_tangents(manifold: Manifold, X: np.ndarray, seed: int = 1) -> np.ndarray:
    V = manifold.project_tangent(X, np.random.default_rng([seed, 99]).standard_normal(X.shape))
    return V / np.linalg.norm(V, axis=1)[:, None]


def source_rows() -> np.ndarray:
    """The rows that every source below has."""
    return tmsm.Sphere(2).uniform(257, 3)


SOURCE_WEIGHT = np.random.default_rng(0).uniform(0.0, 2.0, 257)
SOURCES: dict[str, Callable[[], Source]] = {
    "array": lambda: ArraySource(source_rows()),
    "float32": lambda: ArraySource(source_rows().astype(np.float32)),
    "weights and groups": lambda: ArraySource(source_rows(), SOURCE_WEIGHT, Groups.of(np.arange(257) // 4, 257)),
    "rows backwards": lambda: ArraySource(source_rows()[::-1]),
    "parts": lambda: own().Parts(source_rows()[:1], source_rows()[1:100], source_rows()[100:]),
    "a function": lambda: FactorySource(lambda: np.array_split(source_rows(), 9), tmsm.Sphere(2)),
    "a table of Arrow": lambda: open_table(_source_table()),
    "Parquet": lambda: open_table(_source_file("a.parquet")),
    "Parquet with weights and groups": lambda: open_table(
        _source_file("a.parquet"), sample_weight="w", groups="group", covariates=["w"]
    ),
    "some rows of Parquet": lambda: open_table(
        _source_file("more.parquet"), sample_weight="w", where="kind = 'good'", missing="drop"
    ),
    "a folder": lambda: open_table(_source_file("folder")),
    "CSV": lambda: open_table(_source_file("a.csv")),
    "a stream of Arrow": lambda: open_table(_ArrowStream(_source_table())),
    "a Dask array": lambda: _dask_array(),
    "a Dask frame": lambda: _dask_frame(),
    "a dataset": lambda: open_table(pa_ds.dataset(_source_file("folder"))),
}


class _ArrowStream:
    """What nobody knows of but that Arrow can read it."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def _dask_array() -> Source:
    from dask.array import from_array

    array = dask_source(from_array(source_rows(), chunks=(100, 2)), tmsm.Sphere(2))
    return array.weighted_by(SOURCE_WEIGHT).grouped(np.arange(257) // 4)


def _dask_frame() -> Source:
    from dask.dataframe import from_pandas

    return dask_source(from_pandas(_source_table().to_pandas(), npartitions=5), tmsm.Sphere(2), "w").grouped("group")


def _source_table() -> pa.Table:
    x, y, z = source_rows().T
    groups = [f"group {k // 4:02}" for k in range(257)]
    return pa.table({"x": x, "other": np.arange(257), "y": y, "z": z, "w": SOURCE_WEIGHT, "group": groups})


@lru_cache(maxsize=1)
def _source_folder() -> TemporaryDirectory[str]:
    place = TemporaryDirectory(prefix="tmsm-sources-")
    folder, table = Path(place.name), _source_table()
    pq.write_table(table, folder / "a.parquet", row_group_size=50)
    pa_csv.write_csv(table, folder / "a.csv")
    for number in range(3):
        part = folder / "folder" / f"part={number}"
        part.mkdir(parents=True)
        pq.write_table(table.slice(100 * number, 100), part / "rows.parquet")
    good = table.append_column("kind", pa.array(["good"] * 257))
    bad = pa.table({"x": [None, 2.0], "y": [0.0, 0.0], "z": [1.0, 1.0], "w": [1.0, 1.0], "kind": ["good", "bad"]})
    parts = [part for k in range(0, 257, 40) for part in (good.slice(k, 40), bad)]
    whole = pa.concat_tables(parts, promote_options="default")
    pq.write_table(whole, folder / "more.parquet")
    return place


def _source_file(name: str) -> Path:
    return Path(_source_folder().name) / name


def _bent(params: Any, x: Any) -> Any:
    return jnp.sin(params["pull"] @ x) + jnp.exp(params["log"]) * x[0] * x[1]


def _on_a_background() -> NonlinearModel:
    model = tmsm.Mixture(tmsm.VonMisesFisher(concentration=5.0), 2, background=True)
    return model.in_region(tmsm.Cap(unit(1, -2, 0.5), 0.9))


# Densities that are not linear in their parameters.
DENSITIES: dict[str, Callable[[], NonlinearModel]] = {
    "heavy tail": lambda: own().HeavyTail(),
    "any function": lambda: tmsm.LogDensity(_bent, {"pull": np.array([0.5, 1.0, -0.3]), "log": 0.2}, tmsm.Sphere(2)),
    "heavy tails": lambda: tmsm.HeavyTailed().on(tmsm.Sphere(2)),
    "heavy tails on S4": lambda: tmsm.HeavyTailed(2.5).on(tmsm.Sphere(4)),
    "mixture": lambda: tmsm.Mixture(tmsm.VonMisesFisher(), 2).on(tmsm.Sphere(2)),
    "mixture of ovals": lambda: tmsm.Mixture(tmsm.Kent(), 2).on(tmsm.Sphere(2)),
    "mixture of normals": lambda: tmsm.Mixture(tmsm.MultivariateNormal(), 3).on(tmsm.Euclidean(2)),
    "mixture on a background": lambda: _on_a_background(),
}


def public_names():
    """Everything in `tmsm` by name, to evaluate a representation with."""
    return {name: getattr(tmsm, name) for name in tmsm.__all__}
