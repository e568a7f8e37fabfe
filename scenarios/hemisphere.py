"""The paper's hemisphere: von Mises–Fisher data cut at its own mean, and the exact likelihood as a yardstick."""

import numpy as np

import tmsm

KAPPA = 6.0
ANGLES = (np.pi / 2, np.pi)  # colatitude and longitude of the mean
MU = tmsm.colatlon_to_xyz(*ANGLES)
REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
TRUTH = {"mean_direction": MU, "concentration": KAPPA}


class HemisphereLikelihood:
    """Maximum likelihood under truncation to x₁ < 0, by quadrature: the yardstick.

    Newton on mean(x) = E_θ[x] with Gauss–Legendre nodes in x₁ and equal steps in longitude.
    """

    def __init__(self, n_nodes: int = 60) -> None:
        x, w = np.polynomial.legendre.leggauss(n_nodes)
        x, w = 0.5 * (x - 1.0), 0.5 * w
        lon = np.arange(2 * n_nodes) * np.pi / n_nodes
        first, angle = np.meshgrid(x, lon, indexing="ij")
        across = np.sqrt(1.0 - first**2)
        self.nodes = np.stack([first, across * np.cos(angle), across * np.sin(angle)], axis=-1).reshape(-1, 3)
        self.log_weights = np.log(np.repeat(w, lon.size))

    def fit(self, mean, start):
        """θ̂, shape (3,), from the mean of the rows."""
        theta = start
        for _ in range(50):
            log_q = self.nodes @ theta + self.log_weights
            q = np.exp(log_q - log_q.max())
            q /= q.sum()
            expected = q @ self.nodes
            centred = self.nodes - expected
            step = np.linalg.solve((centred * q[:, None]).T @ centred, mean - expected)
            theta = theta + step
            if np.abs(step).max() < 1e-10:
                return theta
        raise RuntimeError("Newton did not converge")


def angle_error(mean_direction):
    """The paper's RMSE: ‖(φ, θ) error‖ / 2."""
    colat, lon = tmsm.xyz_to_colatlon(mean_direction)
    return float(np.hypot(colat - ANGLES[0], lon - ANGLES[1])) / 2


def covers(interval, truth):
    """Whether an interval holds the truth."""
    return interval[0] <= truth <= interval[1]


def simulate(n, n_seeds, seed=0, only=None):
    """Errors of every method on the same samples, or of some with their intervals: name -> array (n_seeds, ...)."""
    model = tmsm.VonMisesFisher()
    likelihood = HemisphereLikelihood()
    methods = {
        "geodesic": tmsm.ScoreMatching(model, REGION, "geodesic"),
        "normal": tmsm.ScoreMatching(model, REGION, "normal"),
        "projected": tmsm.ScoreMatching(model, REGION, "projected"),
        "known": tmsm.ScoreMatching(tmsm.VonMisesFisher(KAPPA), REGION, "geodesic"),
        "naive": tmsm.NaiveMLE(model),
    }
    methods = {name: method for name, method in methods.items() if only is None or name in only}
    out = {name: {"angle": [], "kappa": [], "covered": []} for name in [*methods, *(["exact"] if only is None else [])]}
    for k in range(n_seeds):
        X = model.sample(n, REGION, random_state=seed + k, **TRUTH)
        for name, method in methods.items():
            fit = method.fit(X)
            out[name]["angle"].append(angle_error(fit.params_.mean_direction))
            out[name]["kappa"].append(fit.params_.concentration)
            if only is not None:
                out[name]["covered"].append(covers(fit.confidence_interval().concentration, KAPPA))
        if only is not None:
            continue
        theta = likelihood.fit(X.mean(axis=0), methods["normal"].natural_params_)
        kappa = float(np.linalg.norm(theta))
        out["exact"]["angle"].append(angle_error(theta / kappa))
        out["exact"]["kappa"].append(kappa)
    return {name: {key: np.array(values) for key, values in rows.items()} for name, rows in out.items()}
