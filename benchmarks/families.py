"""Times of fits and of samplers, and the exact likelihood beside one Newton step from score matching."""

import time

import numpy as np

import tmsm
from scenarios import hemisphere, ovals


def simulate_likelihood(n, n_seeds):
    """κ̂ and ‖μ̂ − μ‖ of the exact likelihood, its time, and the RMSE of one step from score matching over its own."""
    model = tmsm.VonMisesFisher()
    exact = tmsm.TruncatedMLE(model, hemisphere.REGION)
    refined = tmsm.ScoreMatching(model, hemisphere.REGION, "geodesic", refine="mle")
    kappa, error, seconds, steps = [], [], [], []
    for seed in range(n_seeds):
        X = model.sample(n, hemisphere.REGION, random_state=seed, **hemisphere.TRUTH)
        start = time.perf_counter()
        exact.fit(X)
        seconds.append(time.perf_counter() - start)
        kappa.append(exact.params_.concentration)
        error.append(np.linalg.norm(exact.params_.mean_direction - hemisphere.MU))
        steps.append(refined.fit(X).params_.concentration)
    kappa, steps = np.array(kappa), np.array(steps)
    ratio = np.sqrt(np.mean((steps - hemisphere.KAPPA) ** 2) / np.mean((kappa - hemisphere.KAPPA) ** 2))
    return {"kappa": kappa, "error": np.array(error), "seconds": float(np.median(seconds)), "refined": float(ratio)}


def fit_seconds():
    """Median time of one fit with everything unknown."""
    fit = tmsm.ScoreMatching(tmsm.Kent(), ovals.REGION, "geodesic")
    seconds = []
    for k in range(50):
        X = ovals.draw(k)
        start = time.perf_counter()
        fit.fit(X)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def acceptances():
    """Share of proposals that the samplers keep, for typical and for awkward densities."""
    axes = {"mean_direction": [0.0, 0.0, 1.0], "major_axis": [1.0, 0.0, 0.0]}
    nine = np.linspace(-5.0, 5.0, 10)
    return {
        "Kent κ = 10, β = 3": tmsm.Kent().acceptance(**axes, concentration=10.0, ovalness=3.0),
        "Kent κ = 1e6, β = 4.9e5": tmsm.Kent().acceptance(**axes, concentration=1e6, ovalness=4.9e5),
        "Kent κ = 4, β = 30 (two modes)": tmsm.Kent().acceptance(**axes, concentration=4.0, ovalness=30.0),
        "Bingham diag(20, 0, −20)": tmsm.Bingham().acceptance(quadratic=np.diag([20.0, 0.0, -20.0])),
        "Watson κ = −50": tmsm.Watson().acceptance(axis=[0.0, 0.0, 1.0], concentration=-50.0),
        "Fisher–Bingham on S⁹": tmsm.FisherBingham().acceptance(linear=5.0 * np.eye(10)[4], quadratic=np.diag(nine)),
    }


def sample_seconds():
    """Time of 10⁶ von Mises–Fisher rows on S²."""
    seconds = []
    for seed in range(5):
        start = time.perf_counter()
        tmsm.VonMisesFisher().sample(1_000_000, random_state=seed, **hemisphere.TRUTH)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
