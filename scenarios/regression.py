"""A centre that turns with the year, seen inside a hemisphere and inside the border of the United States."""

import numpy as np

import tmsm
from scenarios import hemisphere

MODEL = tmsm.VonMisesFisher()
YEARS = (1990.0, 2020.0)
MIDDLE, REACH = 2005.0, 15.0
ROWS = 3000


def _united_states():
    return tmsm.datasets.load_border("usa", "50m")


def _beside(lonlat, kappa, east, north):
    """θ in the middle year, and how far it goes to the east and to the north up to the last."""
    lon, lat = np.radians(lonlat)
    mu = tmsm.lonlat_to_xyz(*lonlat)
    to_east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    to_north = np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    return kappa * mu, kappa * (east * to_east + north * to_north)


# Region, θ in the middle year, and what is added to it up to the last one where the centre turns.
SETTINGS = {
    # The mean lies on the border and moves along it and inward.
    "hemisphere": (lambda: hemisphere.REGION, hemisphere.KAPPA * hemisphere.MU, np.array([-1.8, 0.0, 2.4])),
    # Off the coast of Georgia, moving to the north-west by six degrees in fifteen years.
    "United States": (_united_states, *_beside((-80.0, 31.0), 60.0, -0.08, 0.06)),
}
EFFECTS = ("turning", "none", "sharper")


def coefficients(setting, effect):
    """B of θ = B (1, year), shape (3, 2), and its rows' θ in the middle year and change up to the last."""
    _, theta, across = SETTINGS[setting]
    change = {"turning": across, "none": np.zeros(3), "sharper": 0.4 * theta}[effect]
    slope = change / REACH
    return np.column_stack([theta - MIDDLE * slope, slope])


def region_of(setting):
    """The region of a setting."""
    return SETTINGS[setting][0]()


def sample(setting, effect, seed, n=ROWS, region=None, concentration=None):
    """Points (n, 3) inside the region with the years (n,) that they come from, spread evenly.

    With a known concentration the centre turns as much, and the spread stays as it is.
    """
    rng = np.random.default_rng([seed, len(setting), EFFECTS.index(effect)])
    region = region_of(setting) if region is None else region
    years = rng.uniform(*YEARS, n)
    theta = np.column_stack([np.ones(n), years]) @ coefficients(setting, effect).T
    if concentration is not None:
        theta *= concentration / np.linalg.norm(theta, axis=1)[:, None]
    X, left = np.empty((n, 3)), np.arange(n)
    while len(left):
        drawn = draw(theta[left], rng)
        inside = region.contains(drawn)
        X[left[inside]] = drawn[inside]
        left = left[~inside]
    return X, years


def draw(theta, rng):
    """One draw on S² from von Mises–Fisher with each θ, shape (n, 3): u = μ·x has a density like exp(κ u)."""
    kappa = np.linalg.norm(theta, axis=1)
    mu = theta / kappa[:, None]
    u = rng.random(len(theta))
    along = 1.0 + np.log(u + (1.0 - u) * np.exp(-2.0 * kappa)) / kappa
    across = rng.standard_normal(theta.shape)
    across -= mu * (across * mu).sum(axis=1)[:, None]
    across /= np.linalg.norm(across, axis=1)[:, None]
    return along[:, None] * mu + np.sqrt(np.maximum(1.0 - along**2, 0.0))[:, None] * across


def direction_is_covered(fit, year, truth, level=0.95):
    """Whether the region of the predicted mean direction holds the true one."""
    regression = fit.result_.regression
    design = regression.standard.design(np.array([[year]]))[0]
    theta, covariance = regression.theta(design), regression.theta_covariance(design)
    jacobian = regression.model.parameter_jacobian(theta)["mean_direction"]
    mean = theta / np.linalg.norm(theta)
    basis = np.linalg.svd(mean[None, :])[2][1:]
    away = basis @ tmsm.Sphere(2).logarithm(mean[None, :], truth[None, :])[0]
    spread = basis @ jacobian @ covariance @ jacobian.T @ basis.T
    return bool(away @ np.linalg.solve(spread, away) <= -2.0 * np.log(1.0 - level))


class Simulated:
    """What fits of many samples cover, and how often their tests reject at 5 %."""

    def __init__(self, setting, effect, weight="auto", concentration=None):
        self.setting, self.effect, self.concentration = setting, effect, concentration
        self.region = region_of(setting)
        self.estimator = tmsm.ScoreMatching(tmsm.VonMisesFisher(concentration), self.region, weight)
        self.truth = coefficients(setting, effect)
        self.errors, self.coefficients, self.concentrations, self.directions = [], [], [], []
        self.rejected = {}

    def add(self, seed, n=ROWS):
        """One more sample."""
        X, years = sample(self.setting, self.effect, seed, n, self.region, self.concentration)
        fit = self.estimator.fit(X, covariates={"year": years})
        away = (fit.coefficients_ - self.truth) / fit.coefficient_errors_
        self.errors.append(away)
        self.coefficients.append(np.abs(away) <= 1.96)
        at = np.array([YEARS[0], MIDDLE, YEARS[1]])
        found = fit.predict_params(at)
        low, high = found.confidence_interval().concentration
        theta = np.column_stack([np.ones(3), at]) @ self.truth.T
        kappa = np.linalg.norm(theta, axis=1)
        if self.concentration is None:
            self.concentrations.append((low <= kappa) & (kappa <= high))
        pairs = zip(at, theta / kappa[:, None], strict=True)
        self.directions.append([direction_is_covered(fit, *pair) for pair in pairs])
        for test in fit.covariate_tests_:
            for kind in ("wald", "score"):
                self.rejected.setdefault((test.question, kind), []).append(getattr(test, kind).p_value < 0.05)
        return fit

    def report(self):
        """Shares in per cent, by name."""
        shares = {
            "coefficients": self.coefficients,
            "concentration": self.concentrations,
            "direction": self.directions,
            **{f"rejected, {question}, {kind}": hits for (question, kind), hits in self.rejected.items()},
        }
        return {name: 100.0 * float(np.mean(values)) for name, values in shares.items() if values}
