"""A cluster with heavy tails whose centre lies at sea: errors of the centre, and what intervals cover."""

import numpy as np

import tmsm
from scenarios import heavy_tail

# Seeds of the fits, and of the control, which needs few.
SEEDS, FEW = 200, 10
NAMES = ("centre", "κ", "ν")


def simulate(estimator, region, seeds):
    """Errors of the centre in degrees, and which of centre, κ and ν are covered, shape (n, 3)."""
    errors, covered = [], []
    for seed in seeds:
        fit = estimator.fit(heavy_tail.rows(region, seed))
        errors.append(heavy_tail.centre_error(fit.params_))
        covered.append(heavy_tail.covered(fit))
    return np.array(errors), np.array(covered)


def heavy_tail_rows(n_seeds=SEEDS):
    """Lines of the table: name, value, unit, and the limits that it should be within."""
    region, model = heavy_tail.border(), tmsm.HeavyTailed()
    found = []
    for name, estimator, limit in (
        ("likelihood", tmsm.TruncatedMLE(model, region), 0.2),
        ("score matching", tmsm.ScoreMatching(model, region), 0.5),
    ):
        errors, covered = simulate(estimator, region, range(n_seeds))
        found.append(
            (f"heavy tail, n = 10,000, {name}: median error of the centre", np.median(errors), "°", (0, limit))
        )
        for part, share in zip(NAMES, covered.mean(axis=0), strict=True):
            found.append((f"… 95 % region or interval of the {part} covers", 100 * share, "%", (90, 97)))
    plain = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), region)
    errors = [heavy_tail.centre_error(plain.fit(heavy_tail.rows(region, seed)).params_) for seed in range(FEW)]
    found.append(("… median error if von Mises–Fisher is fitted instead", np.median(errors), "°", (5, 15)))
    bound = heavy_tail.lowest_error(region)
    found.append(("… the least that is possible, by the information", bound, "°", (0.17, 0.2)))
    return found
