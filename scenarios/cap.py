"""Von Mises–Fisher rows in a cap round their mean, in any number: what speed and memory are measured on."""

import tracemalloc

import numpy as np

import tmsm

MU = np.array([0.0, -1.0, 0.0])
CAP = tmsm.Cap(MU, 1.2)
MODEL = tmsm.VonMisesFisher()


def sample(n):
    """So many rows."""
    return MODEL.sample(n, CAP, random_state=0, mean_direction=MU, concentration=3.0)


def peak_memory(X):
    """Most bytes that a fit holds beyond its input."""
    estimator = tmsm.ScoreMatching(MODEL, CAP)
    tracemalloc.start()
    estimator.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
