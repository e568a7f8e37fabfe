"""Kent's family on the paper's hemisphere, with what is known and what is not."""

import numpy as np

import tmsm
from scenarios.hemisphere import MU, REGION

# The oval lies along the border.
TRUTH = {"mean_direction": MU, "major_axis": [0.0, 0.0, 1.0], "concentration": 10.0, "ovalness": 3.0}
_AXES = ("mean_direction", "major_axis", "minor_axis")


def draw(seed, n=1000):
    """Rows of the true density inside the hemisphere."""
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
