"""Densities inside a hemisphere and inside the United States, and what kernels and maps make of rows from them."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import tmsm
from tmsm.maps.kernel_sums import KernelTree
from tmsm.measure.nodes import Grid, build_nodes

COAST = 50.0 / 6371.0088
# Concentrations of kernels, from narrow to wide, among which the best is chosen with the truth in hand.
KAPPAS = np.geomspace(4000.0, 8.0, 14)


def von_mises_fisher(X, lonlat, kappa):
    """A density on S², as sharp ones are written."""
    return kappa / (2.0 * np.pi) * np.exp(kappa * (X @ tmsm.lonlat_to_xyz(*lonlat) - 1.0))


def on_meridian(X, colatitude, kappa):
    """The same, at a colatitude in degrees on the meridian 0°; below zero on the meridian 180°."""
    return von_mises_fisher(X, (0.0 if colatitude >= 0.0 else 180.0, 90.0 - abs(colatitude)), kappa)


def two_bumps(X):
    """A sharp bump in the west and a wide one in the east, up to a factor."""
    return 0.5 * von_mises_fisher(X, (-118, 37), 200.0) + 0.5 * von_mises_fisher(X, (-85, 37), 80.0) + 0.02


def band(X):
    """A wavy band from the north-west to the Gulf, up to a factor."""
    e, start = tmsm.lonlat_to_xyz(-84, 30), tmsm.lonlat_to_xyz(-120, 46)
    normal = np.cross(start, e)
    return np.exp(-60.0 * (X @ normal / np.linalg.norm(normal)) ** 2) * (1.0 + 0.3 * np.sin(25.0 * X @ e))


def beyond_the_coast(X):
    """A bump whose top lies in the Atlantic, up to a factor."""
    return von_mises_fisher(X, (-78, 29), 60.0) + 0.15


def bumps_73(X):
    """Two bumps of a hemisphere, 73° apart."""
    return 0.55 * on_meridian(X, 12.0, 15.0) + 0.45 * on_meridian(X, 85.0, 25.0)


def bumps_143(X):
    """Two bumps of a hemisphere, 143° apart."""
    return 0.55 * on_meridian(X, -87.0, 15.0) + 0.45 * on_meridian(X, 56.0, 25.0)


def _log_height(kappa):
    return np.log(kappa / (2.0 * np.pi)) - np.log1p(-np.exp(-2.0 * kappa))


_INSIDE = {}
HEMISPHERE = tmsm.Hemisphere([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Truth:
    """A density, where it is seen, its nodes with areas and probabilities, and which of them are next to the coast."""

    function: object
    region: tmsm.regions.Region
    X: np.ndarray
    area: np.ndarray
    log_p: np.ndarray
    coast: np.ndarray

    @property
    def mass(self):
        """Probabilities of the nodes."""
        return self.area * np.exp(self.log_p)

    def divergence(self, log_q):
        """The Kullback–Leibler divergence of a log density at the nodes, made to integrate to one."""
        log_q = log_q - np.log(np.sum(self.area * np.exp(log_q)))
        return float(self.mass @ (self.log_p - log_q))

    def coast_error(self, log_q):
        """The root mean square error of the log density within 50 km of the border, over the truth's mass there."""
        log_q = log_q - np.log(np.sum(self.area * np.exp(log_q)))
        mass = self.mass[self.coast]
        return float(np.sqrt(mass @ (self.log_p - log_q)[self.coast] ** 2 / mass.sum()))

    def inside(self, kappa):
        """Logarithms of how much of a kernel round each node lies inside the region, whatever the density."""
        key = repr(self.region), len(self.X), kappa
        if key not in _INSIDE:
            _INSIDE[key] = KernelTree.of(self.X).log_sums(
                self.X, np.log(self.area) + _log_height(kappa), np.full(len(self.X), kappa)
            )
        return _INSIDE[key]

    def rows(self, n, seed):
        """Independent draws, by rejection from uniform ones in a cap."""
        rng = np.random.default_rng(seed)
        middle = self.area @ self.X
        middle /= np.linalg.norm(middle)
        lowest = float((self.X @ middle).min()) - 1e-3
        across = np.linalg.svd(middle[None, :])[2][1:]
        top = 1.05 * float(np.max(self.function(self.X)))
        kept, have = [], 0
        while have < n:
            z, turn = rng.uniform(max(lowest, -1.0), 1.0, 100_000), rng.uniform(0.0, 2.0 * np.pi, 100_000)
            round_it = np.column_stack([np.cos(turn), np.sin(turn)]) @ across
            X = z[:, None] * middle + np.sqrt(1.0 - z * z)[:, None] * round_it
            X = X[rng.uniform(0.0, top, len(X)) < self.function(X)]
            X = X[self.region.contains(X)] if len(X) else X
            kept.append(X)
            have += len(X)
        return np.concatenate(kept)[:n]


FUNCTIONS = {
    "two bumps": (two_bumps, "usa"),
    "a band": (band, "usa"),
    "a bump beyond the coast": (beyond_the_coast, "usa"),
    "two bumps 73° apart": (bumps_73, "hemisphere"),
    "two bumps 143° apart": (bumps_143, "hemisphere"),
}


@cache
def truth(name):
    """A density by its name."""
    function, where = FUNCTIONS[name]
    region = tmsm.datasets.load_border("usa") if where == "usa" else HEMISPHERE
    nodes = build_nodes(region, Grid(5 if where == "usa" else 3, 3))
    X, area = nodes.X, np.exp(nodes.log_weights)
    p = function(X)
    p /= np.sum(p * area)
    return Truth(function, region, X, area, np.log(p), region.border_distance(X)[0] < COAST)


def kernel_logs(found, X, kappa):
    """Log densities at the nodes of kernels with one width: as they are, corrected at the border, and reflected there.

    The correction divides by how much of a kernel at each node lies inside.  Reflected ones have, beside every row, its
    mirror image behind the border.
    """
    n = len(X)
    log_height = _log_height(kappa)
    plain = KernelTree.of(X).log_sums(found.X, np.full(n, log_height - np.log(n)), np.full(n, kappa))
    inside = found.inside(kappa)
    d, gradient = found.region.border_distance(X)
    near = d < 6.0 / np.sqrt(kappa)
    images = tmsm.Sphere(2).exponential(X[near], -2.0 * d[near, None] * gradient[near])
    both = np.vstack([X, images[~found.region.contains(images)]])
    k = np.full(len(both), kappa)
    reflected = KernelTree.of(both).log_sums(found.X, np.full(len(both), log_height - np.log(n)), k)
    return {"kernel": plain, "corrected": plain - inside, "reflected": reflected}


def kernel_errors(name, n, seed):
    """Divergence and error at the coast of each kind of kernels at its best width: name -> (divergence, coast)."""
    found = truth(name)
    X = found.rows(n, seed)
    best, worse = {}, 0
    for kappa in KAPPAS:
        worse += 1
        for kind, log_q in kernel_logs(found, X, kappa).items():
            error = found.divergence(log_q)
            if kind not in best or error < best[kind][0]:
                best[kind], worse = (error, found.coast_error(log_q)), 0
        if worse == 2:
            break
    return best


def map_errors(name, n, seed, **settings):
    """What a map is like: divergence, error at the coast, and the share of mass and of area that its band covers.

    "stated" is the stated error over the one that there is, root mean squares over the mass.
    """
    found = truth(name)
    fit = tmsm.DensityMap(found.region, **settings).fit(found.rows(n, seed))
    # Nodes on the border itself are outside.
    log_q = fit.density_.log_density(found.X)
    errors = fit.density_.log_errors(found.X)
    covered = np.abs(log_q - found.log_p) <= 1.96 * errors
    return {
        "divergence": found.divergence(log_q),
        "coast": found.coast_error(log_q),
        "covered": float(found.mass @ covered),
        "stated": float(np.sqrt(found.mass @ errors**2 / (found.mass @ (log_q - found.log_p) ** 2))),
        "covered area": float(found.area @ covered / found.area.sum()),
    }


def adaptive_error(name, n, seed):
    """The divergence of kernels whose widths follow the density, nothing about them known beforehand."""
    found = truth(name)
    fit = tmsm.AdaptiveKernel(found.region).fit(found.rows(n, seed))
    return found.divergence(fit.density_.log_density(found.X))
