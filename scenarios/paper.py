"""The paper's benchmark against an independent simulation of it: 512 trials, mean errors."""

import numpy as np

from tmsm_experiments.cells import Store
from tmsm_experiments.paper import accuracy
from tmsm_experiments.paper.methods import GEODESIC, NAIVE, PROJECTED, TRUNCSM
from tmsm_experiments.paper.settings import VMF_KNOWN, VMF_UNKNOWN

TRIALS = 512
INDEPENDENT = {
    (VMF_KNOWN, "direction", 1000): {GEODESIC: 0.0136, PROJECTED: 0.0136, TRUNCSM: 0.0149, NAIVE: 0.175},
    (VMF_UNKNOWN, "direction", 3000): {GEODESIC: 0.0092, PROJECTED: 0.0090, TRUNCSM: 0.094, NAIVE: 0.175},
    (VMF_UNKNOWN, "concentration", 3000): {GEODESIC: 0.138, PROJECTED: 0.136, TRUNCSM: 1.51, NAIVE: 2.86},
}


def simulate(jobs=1):
    """(experiment, quantity, n) -> results, for every entry above."""
    found = {}
    for experiment, n in dict.fromkeys((key[0], key[2]) for key in INDEPENDENT):
        for result in accuracy.simulate(Store(None), TRIALS, jobs, 0, (n,), (experiment,)):
            found[experiment, result.quantity, n] = result
    return found


def tolerance(result, method, value):
    """Three standard errors of the difference of two simulations, and the rounding of the printed value."""
    rounding = 0.5 * 10.0 ** (np.floor(np.log10(value)) - 2.0)
    return 3.0 * np.sqrt(2.0) * result.mean_error(method)[0] + rounding
