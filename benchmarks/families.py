"""Kent's family on the paper's hemisphere, with what is known and what is not."""

import time

import numpy as np

import tmsm

REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
MU = tmsm.colatlon_to_xyz(np.pi / 2, np.pi)
# The oval lies along the border.
TRUTH = {"mean_direction": MU, "major_axis": [0.0, 0.0, 1.0], "concentration": 10.0, "ovalness": 3.0}
_AXES = ("mean_direction", "major_axis", "minor_axis")


def draw(seed, n=1000):
    return tmsm.Kent().sample(n, REGION, random_state=seed, **TRUTH)


def _frame(params):
    return np.column_stack([params[name] for name in _AXES])


def standardised_errors(model, fit):
    """Errors over their standard errors: concentration, ovalness, and the turns of the axes in their three planes."""
    frame, truth = _frame(fit.params_), _frame(model.parameters(model.natural_parameters(**TRUTH)))
    if frame[:, 1] @ truth[:, 1] < 0.0:  # an axis has no sign
        frame[:, 1:] *= -1.0
    turn = truth.T @ frame
    jacobian = model.on(tmsm.Sphere(2)).parameter_jacobian(fit.natural_params_)
    out = [(fit.params_[name] - TRUTH[name]) / fit.std_errors_[name] for name in ("concentration", "ovalness")]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        slope = frame[:, j] @ jacobian[_AXES[i]] * (-1.0 if i and frame[:, 1] @ fit.params_.major_axis < 0 else 1.0)
        out.append(0.5 * (turn[j, i] - turn[i, j]) / np.sqrt(slope @ fit.covariance_ @ slope))
    return out


def simulate(model, n_seeds, weight="geodesic", seed=0):
    """Estimates for samples of 1,000, one for each seed: name -> array (n_seeds, ...)."""
    fit = tmsm.ScoreMatching(model, REGION, weight)
    out = {"error": [], "concentration": [], "ovalness": [], "standardised": []}
    for k in range(n_seeds):
        try:
            fit.fit(draw(seed + k))
        except ValueError:
            continue  # counted as a failure by who compares lengths
        out["error"].append(np.linalg.norm(fit.params_.mean_direction - MU))
        out["concentration"].append(fit.params_.concentration)
        out["ovalness"].append(fit.params_.ovalness)
        if model == tmsm.Kent():
            out["standardised"].append(standardised_errors(model, fit))
    return {name: np.array(values) for name, values in out.items()}


def fit_seconds():
    """Median time of one fit with everything unknown."""
    fit = tmsm.ScoreMatching(tmsm.Kent(), REGION, "geodesic")
    seconds = []
    for k in range(50):
        X = draw(k)
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
        tmsm.VonMisesFisher().sample(1_000_000, random_state=seed, mean_direction=MU, concentration=6.0)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
