"""What each package has, with the names that a cell relies on, so that a run can tell what is gone."""

import importlib
import importlib.util
from dataclasses import dataclass

from tmsm_experiments.pages import table
from tmsm_experiments.peers.method import PACKAGES

__all__ = ["FEATURES", "Cell", "features_table", "gone"]


@dataclass(frozen=True)
class Cell:
    """What a package has, in words, and names of objects that show it."""

    text: str
    names: tuple[str, ...] = ()


def _cell(text: str, *names: str) -> Cell:
    return Cell(text, names)


NO = Cell("no")

# Feature -> cells in the order of PACKAGES.
FEATURES: dict[str, tuple[Cell, ...]] = {
    "made for": (
        _cell("scientific computing"),
        _cell("machine learning"),
        _cell("mixtures of normals from incomplete and noisy rows"),
        _cell("geometry and statistics on manifolds"),
        _cell("recursive estimation and tracking"),
        _cell("densities of rows that were observed only inside a border"),
    ),
    "licence": (_cell("BSD"), _cell("BSD"), _cell("MIT"), _cell("MIT"), _cell("MIT"), _cell("MIT")),
    "a border cuts the rows": (
        _cell(
            "known bounds, in a likelihood of your own: `truncnorm`, and `multivariate_normal.cdf` for boxes",
            "scipy.stats.truncnorm",
            "scipy.stats.multivariate_normal",
        ),
        NO,
        _cell("any selection in flat space, also with a probability (`sel_callback`)", "pygmmis.fit"),
        NO,
        NO,
        _cell(
            "polygons, boxes, caps, masks, formulas and their combinations, on every space; known exposure",
            "tmsm.SphericalPolygon",
            "tmsm.ExposureMap",
        ),
    ),
    "families on a sphere with a fit": (
        _cell("von Mises–Fisher", "scipy.stats.vonmises_fisher"),
        NO,
        NO,
        _cell(
            "mixtures of Riemannian normals; a mean without a family",
            "geomstats.learning.expectation_maximization.RiemannianEM",
        ),
        _cell(
            "von Mises–Fisher and Bingham from moments; complex Watson, Bingham and angular Gaussian",
            "pyrecest.distributions.VonMisesFisherDistribution",
            "pyrecest.distributions.BinghamDistribution",
            "pyrecest.distributions.ComplexWatsonDistribution",
            "pyrecest.distributions.ComplexBinghamDistribution",
        ),
        _cell(
            "von Mises–Fisher, Kent, Bingham, Watson, Fisher–Bingham, heavy tails, densities of your own",
            "tmsm.Kent",
            "tmsm.FisherBingham",
            "tmsm.HeavyTailed",
            "tmsm.LogDensity",
        ),
    ),
    "spaces": (
        _cell("flat, circle, sphere, rotations", "scipy.spatial.transform.Rotation"),
        _cell("flat; kernels on S²", "sklearn.neighbors.KernelDensity"),
        _cell("flat"),
        _cell(
            "some dozens, such as spheres, hyperbolic space, matrices, shapes and curves",
            "geomstats.geometry.spd_matrices.SPDMatrices",
        ),
        _cell(
            "flat, circle, tori, spheres, rotations, rigid motions",
            "pyrecest.distributions.SE2BinghamDistribution",
        ),
        _cell(
            "flat, spheres, tori, rotations, hyperbolic, products, surfaces of your own",
            "tmsm.Torus",
            "tmsm.Hyperbolic",
            "tmsm.LevelSet",
        ),
    ),
    "mixtures": (
        _cell("density only", "scipy.stats.Mixture"),
        _cell("normals; number of components by BIC", "sklearn.mixture.GaussianMixture"),
        _cell("normals, with a uniform background", "pygmmis.GMM", "pygmmis.Background"),
        _cell("Riemannian normals", "geomstats.learning.expectation_maximization.RiemannianEM"),
        _cell("density only on the sphere", "pyrecest.distributions.HypersphericalMixture"),
        _cell("every family, with a background; number of components by BIC or held-out rows", "tmsm.Mixture"),
    ),
    "errors of the estimates": (
        _cell("no; a general bootstrap", "scipy.stats.bootstrap"),
        NO,
        NO,
        NO,
        _cell("no; filters carry a whole density"),
        _cell("standard errors, intervals, confidence regions, dependent rows, bootstrap", "tmsm.ScoreMatching"),
    ),
    "test of the fitted model": (
        _cell("in one dimension", "scipy.stats.goodness_of_fit"),
        NO,
        NO,
        NO,
        NO,
        _cell("every fit, and a kernel Stein test", "tmsm.stein_test"),
    ),
    "density map": (
        _cell("kernels in flat space", "scipy.stats.gaussian_kde"),
        _cell("kernels, flat and S², without a border", "sklearn.neighbors.KernelDensity"),
        NO,
        NO,
        _cell("spherical harmonics of a given density", "pyrecest.distributions.SphericalHarmonicsDistributionReal"),
        _cell("smooth series or kernels inside a border, with bands", "tmsm.DensityMap", "tmsm.AdaptiveKernel"),
    ),
    "a known error of each row": (
        NO,
        NO,
        _cell("normal, with a covariance for each row"),
        NO,
        _cell("in filters"),
        NO,
    ),
    "parameters of a density that depend on covariates": (
        NO,
        NO,
        NO,
        _cell(
            "no; geodesic regression of points on a number",
            "geomstats.learning.geodesic_regression.GeodesicRegression",
        ),
        NO,
        _cell("yes, with tests"),
    ),
    "means, clusters, principal components on a manifold": (
        NO,
        NO,
        NO,
        _cell("yes", "geomstats.learning.frechet_mean.FrechetMean", "geomstats.learning.pca.TangentPCA"),
        _cell("means"),
        NO,
    ),
    "filters for states that change with time": (
        NO,
        NO,
        NO,
        _cell("a Kalman filter", "geomstats.learning.kalman_filter.KalmanFilter"),
        _cell("many", "pyrecest.filters"),
        NO,
    ),
}


def _is_there(name: str) -> bool:
    """Whether an object can be imported by its whole name."""
    module, _, last = name.rpartition(".")
    try:
        if hasattr(importlib.import_module(module), last):
            return True
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def gone() -> list[str]:
    """Names in the table that installed packages do not have."""
    found = []
    for cells in FEATURES.values():
        for (_, module), cell in zip(PACKAGES.values(), cells, strict=True):
            if importlib.util.find_spec(module) is not None:
                found += [name for name in cell.names if not _is_there(name)]
    return sorted(set(found))


def features_table(versions: dict[str, str | None]) -> str:
    """The table, with versions in its heading."""
    heading = [f"{name} {versions[name]}" if versions[name] else name for name in PACKAGES]
    return table([["", *heading], *([name, *(cell.text for cell in cells)] for name, cells in FEATURES.items())])
