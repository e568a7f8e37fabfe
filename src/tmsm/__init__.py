"""tmsm: fit probability models to data that were only seen inside part of a curved space."""

from tmsm import datasets
from tmsm.comparison import compare
from tmsm.coordinates import colatlon_to_xyz, lonlat_to_xyz, xyz_to_colatlon, xyz_to_lonlat
from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE
from tmsm.manifolds import Euclidean, Sphere
from tmsm.model_check import check_model
from tmsm.models import Bingham, FisherBingham, Kent, MultivariateNormal, VonMisesFisher, Watson
from tmsm.plots import FitDisplay
from tmsm.regions import (
    Ball,
    BorderPoints,
    Box,
    Cap,
    Everywhere,
    HalfSpace,
    HealpixMask,
    Hemisphere,
    LonLatBox,
    Polygon,
    SphericalPolygon,
)
from tmsm.stein import stein_test
from tmsm.weights import Projected

__all__ = [
    "Ball",
    "Bingham",
    "BorderPoints",
    "Box",
    "Cap",
    "Euclidean",
    "Everywhere",
    "FisherBingham",
    "FitDisplay",
    "HalfSpace",
    "HealpixMask",
    "Hemisphere",
    "Kent",
    "LonLatBox",
    "MultivariateNormal",
    "NaiveMLE",
    "Polygon",
    "Projected",
    "ScoreMatching",
    "Sphere",
    "SphericalPolygon",
    "TruncatedMLE",
    "VonMisesFisher",
    "Watson",
    "check_model",
    "colatlon_to_xyz",
    "compare",
    "datasets",
    "lonlat_to_xyz",
    "stein_test",
    "xyz_to_colatlon",
    "xyz_to_lonlat",
]

__version__ = "0.1.0"
