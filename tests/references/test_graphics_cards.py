"""Rows on a graphics card, in Numba's simulator of one: the same sums, estimates and messages as in memory."""

import os
import subprocess
import sys

import pytest

from tmsm.data.device_source import is_on_device

pytest.importorskip("numba.cuda")

BEGIN = """
import numpy as np
import tmsm
import tmsm.rowwise.card_forms
import tmsm.rowwise.card_single
import tmsm.rowwise.card_stacked
from numba import cuda
from tmsm import weights
from tmsm.data.sources import RawBlock
from tmsm.data.rows import Rows
from tmsm.matching import row_sums, stacked
from tmsm.matching.equations import sum_equations, sum_residuals, tilt_equations
from tmsm.rowwise.program import program_of

tmsm.rowwise.card_forms._THREADS = tmsm.rowwise.card_single._THREADS = tmsm.rowwise.card_stacked._THREADS = 2
row_sums._FEWEST_ROWS = stacked._FEWEST_ROWS = 1
MODEL, CENTER = tmsm.VonMisesFisher(), tmsm.lonlat_to_xyz(20.0, 40.0)
CAP = tmsm.Cap(CENTER, 0.9)
RING = tmsm.lonlat_to_xyz(np.array([0.0, 60.0, 40.0, 25.0]), np.array([10.0, 15.0, 60.0, 40.0]))
POLYGON = tmsm.SphericalPolygon([RING])


def rows_in(region, n):
    return MODEL.sample(n, region, random_state=0, mean_direction=CENTER, concentration=3.0)


def message(function):
    try:
        function()
    except ValueError as error:
        return str(error)
"""


def in_simulator(code):
    """What a program prints that runs with the simulator."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    run = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_sums_on_the_card_are_those_in_memory():
    code = """
for region, weight in (
    (CAP, weights.Normal(3.0, 0.9)),
    (CAP, weights.Distance()),
    (POLYGON, weights.Saturating(0.1)),
    (tmsm.Everywhere(tmsm.Sphere(2)), weights.Constant()),
):
    X, theta = rows_in(region, 5), np.array([1.0, 2.0, 3.0])
    w = np.random.default_rng(0).uniform(0.0, 2.0, len(X))
    program = program_of(MODEL.on(tmsm.Sphere(2)), weight, region)
    for task in ("squares", "features") if weight == weights.Distance() else ("features",):
        here = program.run(RawBlock(0, X, w, None), task, theta)
        there = program.run(RawBlock(0, cuda.to_device(X), cuda.to_device(w), None), task, theta)
        assert (here.n, here.n_outside, here.farthest) == (there.n, there.n_outside, there.farthest)
        size = np.abs(here.values).max()
        assert np.abs(here.values - there.values).max() < 1e-13 * size, (region, task)
        print(task)
"""
    assert in_simulator(code).split() == ["features", "squares", "features", "features", "features"]


def test_rows_on_the_card_may_be_of_any_type_and_layout_and_lie_anywhere():
    code = """
program = program_of(MODEL.on(tmsm.Sphere(2)), weights.Saturating(0.1), POLYGON)
X = np.concatenate([rows_in(POLYGON, 3), RING[:1], -CENTER[None]])  # one of them on the border, one outside
wide = np.zeros((2 * len(X), 5))
wide[::2, 1:4] = X
w = np.array([0.0, 1.0, 2.0, 1.0, 1.0])
here = program.run(RawBlock(0, X, w, None), "sums")
for there in (X, np.asfortranarray(X), wide, X.astype(np.float32)):
    on_card = cuda.to_device(there)[::2, 1:4] if there is wide else cuda.to_device(there)
    found = program.run(RawBlock(0, on_card, cuda.to_device(w), None), "sums")
    close = 1e-6 if there.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found.values, here.values, rtol=0.0, atol=close * np.abs(here.values).max())
    print(found.n, found.n_outside, found.weight_sum)
X[1] *= 1.01
print(program.run(RawBlock(0, cuda.to_device(X), None, None), "sums"))
"""
    assert in_simulator(code).splitlines() == 4 * ["3 2 3.0"] + ["None"]


def test_combined_sums_on_the_card_are_those_in_memory():
    code = """
rng = np.random.default_rng(0)
for model, region, level, n, weighted in (
    (MODEL, POLYGON, 5, 5, True),
    (MODEL, POLYGON, 3, 4, False),
    (MODEL, CAP, 1, 6, True),
    (tmsm.Kent(), POLYGON, 3, 5, True),
    (tmsm.Bingham(), CAP, 2, 4, False),
):
    policy = weights.Combined(level, base=weights.Saturating(0.1), scale=0.2)
    many = rows_in(region, 60 * 40**2 // 100)
    equations = tmsm.ScoreMatching(model, region, policy).fit(many).result_.influence.equations
    X, w = many[:n], rng.uniform(0.0, 2.0, n) * (np.arange(n) != 1) if weighted else None
    there = Rows.of(cuda.to_device(X), region, w)
    assert equations.passes(there) is not None
    m, theta = equations.n_equations, np.linspace(1.0, 3.0, equations.model.size)
    mean, multiplier, root = rng.normal(size=m), 0.03 * rng.normal(size=m), rng.normal(size=(3, m)) / m
    total = float(n if w is None else w.sum())
    for function, arguments in (
        (sum_equations, ()),
        (sum_residuals, (theta,)),
        (tilt_equations, (theta, mean, multiplier, root.T @ root, total)),
    ):
        both = [function(equations, rows, *arguments) for rows in (Rows.of(X, region, w), there)]
        pairs = [(getattr(both[0], name), getattr(both[1], name)) for name in vars(both[0])]
        if function is tilt_equations:
            pairs += [(getattr(both[0].equations, k), getattr(both[1].equations, k)) for k in vars(both[0].equations)]
        compared = 0
        for one, other in pairs:
            if isinstance(one, int | float | np.ndarray):
                np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-12 * np.abs(one).max())
                compared += 1
        print(function.__name__, compared)
"""
    assert in_simulator(code).splitlines() == 5 * ["sum_equations 6", "sum_residuals 5", "tilt_equations 8"]


def test_fits_on_the_card_are_those_in_memory():
    code = """
for model, region, weight, n in (
    (MODEL, CAP, "normal", 9),
    (MODEL, POLYGON, "geodesic", 6),
    (MODEL, CAP, "chordal", 40),
    (tmsm.FisherBingham(), CAP, "normal", 30),
    (tmsm.Bingham(), POLYGON, "saturating", 20),
):
    X = rows_in(region, n)
    w = np.random.default_rng(0).uniform(0.5, 2.0, n)
    here = tmsm.ScoreMatching(model, region, weight).fit(X, sample_weight=w)
    v = cuda.to_device(w) if n < 10 else w
    there = tmsm.ScoreMatching(model, region, weight).fit(cuda.to_device(X), sample_weight=v)
    away = np.abs(here.natural_params_ - there.natural_params_) / np.sqrt(np.diag(here.covariance_))
    assert away.max() < 1e-9
    np.testing.assert_allclose(there.covariance_, here.covariance_, rtol=1e-9, atol=1e-12)
    print(there.n_samples_)
small = tmsm.Cap(CENTER, 0.5)
dropped = tmsm.ScoreMatching(MODEL, small, outside="drop").fit(cuda.to_device(rows_in(CAP, 16)))
print(dropped.n_outside_ == np.count_nonzero(~small.contains(rows_in(CAP, 16))))
"""
    assert in_simulator(code).split() == ["9", "6", "40", "30", "20", "True"]


def test_combined_fits_with_groups_and_covariates_are_those_in_memory():
    code = """
X = rows_in(POLYGON, 30)
there, w = cuda.to_device(X), np.random.default_rng(0).uniform(0.5, 2.0, 30)
labels, z = np.repeat(np.arange(15), 2), np.linspace(-1.0, 1.0, 30)[:, None]
combined = weights.Combined(1, base=weights.Saturating(0.1))
for weight, options in (
    (combined, {}),
    (combined, {"sample_weight": w}),
    (combined, {"groups": labels}),
    ("saturating", {"groups": labels, "sample_weight": w}),
    ("saturating", {"covariates": z}),
):
    fit = tmsm.ScoreMatching(MODEL, POLYGON, weight)
    here = fit.fit(X, **options).result_
    found = fit.fit(there, **{name: cuda.to_device(value) for name, value in options.items()}).result_
    away = np.abs(found.theta - here.theta) / np.sqrt(np.diag(here.natural_covariance))
    assert away.max() < 1e-9, options
    np.testing.assert_allclose(found.natural_covariance, here.natural_covariance, rtol=1e-9)
    assert (found.n_samples, found.error_df) == (here.n_samples, here.error_df)
    print(found.method, *options)
streamed = [
    tmsm.ScoreMatching(MODEL, POLYGON, "saturating").partial_fit(rows, groups=groups).covariance_
    for rows, groups in ((X, labels), (there, cuda.to_device(labels)))
]
np.testing.assert_allclose(*streamed, rtol=1e-9)
"""
    assert in_simulator(code).splitlines() == [
        "combined",
        "combined sample_weight",
        "combined groups",
        "saturating groups sample_weight",
        "saturating covariates",
    ]


def test_what_is_wrong_with_rows_on_the_card_is_said():
    code = """
X = rows_in(CAP, 12)
fit = tmsm.ScoreMatching(MODEL, CAP)
print(message(lambda: fit.fit(cuda.to_device(1.5 * X))))
print(message(lambda: fit.fit(cuda.to_device(X[:, :2].copy()))))
print(message(lambda: fit.fit(cuda.to_device(X), groups=cuda.to_device(np.arange(11)))))
print(message(lambda: tmsm.ScoreMatching(MODEL, tmsm.Cap(CENTER, 0.3)).fit(cuda.to_device(X))))
"""
    off, columns, groups, outside = in_simulator(code).splitlines()
    assert "12 of 12 rows that are no points on Sphere(dim=2)" in off
    assert "2 columns; points on Sphere(dim=2) have 3 coordinates" in columns
    assert "one label for each of the 12 rows of X; got shape (11,)" in groups
    assert "rows outside the region" in outside


class Differentiated:
    """As PyTorch's tensors on a card are, which hand on their memory only without their gradient."""

    requires_grad = True

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("requires grad")

    def detach(self):
        return type("Plain", (), {"__cuda_array_interface__": {}})()


def test_tensors_with_gradients_are_taken_without_them():
    assert is_on_device(Differentiated())
