"""tmsm: fit probability models to data that were only seen inside part of a curved space."""

from tmsm import datasets
from tmsm.data.exposure_map import ExposureMap
from tmsm.data.named_tables import table_to_xyz
from tmsm.display import report
from tmsm.display.plots import FitDisplay
from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE, load
from tmsm.foundation import errors
from tmsm.inference.comparison import compare
from tmsm.inference.stein import stein_test
from tmsm.manifolds import Euclidean, Hyperbolic, LevelSet, Product, Rotations, Sphere, Torus
from tmsm.manifolds.coordinates import colatlon_to_xyz, lonlat_to_xyz, xyz_to_colatlon, xyz_to_lonlat
from tmsm.manifolds.torus_angles import angles_to_torus, torus_to_angles
from tmsm.models import (
    Bingham,
    ExponentialFamily,
    FisherBingham,
    HeavyTailed,
    Kent,
    LogDensity,
    MatrixFisher,
    Mixture,
    MultivariateNormal,
    SineVonMises,
    VonMisesFisher,
    Watson,
)
from tmsm.models.checks import check_model
from tmsm.regions import (
    AngleBox,
    AxisWithin,
    Ball,
    BorderPoints,
    Box,
    Cap,
    Everywhere,
    GeodesicBall,
    HalfSpace,
    HealpixMask,
    Hemisphere,
    Implicit,
    LonLatBox,
    Polygon,
    RotationCap,
    SphericalPolygon,
)
from tmsm.weights import Projected

__all__ = [
    "AngleBox",
    "AxisWithin",
    "Ball",
    "Bingham",
    "BorderPoints",
    "Box",
    "Cap",
    "Euclidean",
    "Everywhere",
    "ExponentialFamily",
    "ExposureMap",
    "FisherBingham",
    "FitDisplay",
    "GeodesicBall",
    "HalfSpace",
    "HealpixMask",
    "HeavyTailed",
    "Hemisphere",
    "Hyperbolic",
    "Implicit",
    "Kent",
    "LevelSet",
    "LogDensity",
    "LonLatBox",
    "MatrixFisher",
    "Mixture",
    "MultivariateNormal",
    "NaiveMLE",
    "Polygon",
    "Product",
    "Projected",
    "RotationCap",
    "Rotations",
    "ScoreMatching",
    "SineVonMises",
    "Sphere",
    "SphericalPolygon",
    "Torus",
    "TruncatedMLE",
    "VonMisesFisher",
    "Watson",
    "angles_to_torus",
    "check_model",
    "colatlon_to_xyz",
    "compare",
    "datasets",
    "errors",
    "load",
    "lonlat_to_xyz",
    "report",
    "stein_test",
    "table_to_xyz",
    "torus_to_angles",
    "xyz_to_colatlon",
    "xyz_to_lonlat",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
