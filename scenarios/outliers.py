"""A von Mises–Fisher cluster on a hemisphere with some far outliers."""

import numpy as np

import tmsm

MODEL = tmsm.VonMisesFisher()
REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
# The centre lies 30° inside the border.
MU = np.array([-0.5, -np.sqrt(0.75), 0.0])
KAPPA = 20.0
TRUTH = {"mean_direction": MU, "concentration": KAPPA}
# Outliers are uniform on what is farther than this from the centre; the cluster has one row in 22,000 there.
FAR = np.pi / 3


def sample(n, n_outliers, seed):
    """So many rows of which the last ones are outliers."""
    rng = np.random.default_rng(seed)
    X = MODEL.sample(n - n_outliers, REGION, random_state=rng, **TRUTH)
    # κ = 0 is the uniform distribution; two of three uniform rows lie that far.
    uniform = MODEL.sample(4 * n_outliers, REGION, random_state=rng, mean_direction=MU, concentration=0.0)
    return np.vstack([X, uniform[uniform @ MU < np.cos(FAR)][:n_outliers]])


def simulate(n, n_outliers, settings, n_seeds, first=0):
    """κ̂ and whether its 95 % interval covers, for each value of ``robust``: name -> arrays (n_seeds,) each."""
    found = {setting: ([], []) for setting in settings}
    for seed in range(first, first + n_seeds):
        X = sample(n, n_outliers, seed)
        for setting, (kappas, covered) in found.items():
            fit = tmsm.ScoreMatching(MODEL, REGION, robust=setting).fit(X)
            low, high = fit.confidence_interval(method="wald").concentration
            kappas.append(fit.params_.concentration)
            covered.append(low <= KAPPA <= high)
    return {setting: (np.array(kappas), np.array(covered)) for setting, (kappas, covered) in found.items()}
