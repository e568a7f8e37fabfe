"""tmsm: fit probability models to data that were observed only inside part of a curved space."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tmsm import datasets, errors, report
    from tmsm.data.exposure_map import ExposureMap
    from tmsm.data.named_tables import table_to_xyz
    from tmsm.display.plots import FitDisplay
    from tmsm.estimators import AdaptiveKernel, DensityMap, NaiveMLE, ScoreMatching, TruncatedMLE, load
    from tmsm.foundation.deprecation import Renamed
    from tmsm.inference.comparison import compare
    from tmsm.inference.stein import stein_test
    from tmsm.manifolds import Euclidean, Hyperbolic, LevelSet, Product, Rotations, Sphere, Torus
    from tmsm.manifolds.coordinates import colatlon_to_xyz, lonlat_to_xyz, xyz_to_colatlon, xyz_to_lonlat
    from tmsm.manifolds.torus_angles import angles_to_torus, torus_to_angles
    from tmsm.matching.saved_moments import load_moments
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
    "AdaptiveKernel",
    "AngleBox",
    "AxisWithin",
    "Ball",
    "Bingham",
    "BorderPoints",
    "Box",
    "Cap",
    "DensityMap",
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
    "load_moments",
    "lonlat_to_xyz",
    "report",
    "stein_test",
    "table_to_xyz",
    "torus_to_angles",
    "xyz_to_colatlon",
    "xyz_to_lonlat",
]

__version__ = "0.2.0"

# Where each name lives; it is imported when it is first asked for, so that the command answers at once.
_HOMES = {
    "tmsm.data.exposure_map": ("ExposureMap",),
    "tmsm.data.named_tables": ("table_to_xyz",),
    "tmsm.display.plots": ("FitDisplay",),
    "tmsm.estimators": ("AdaptiveKernel", "DensityMap", "NaiveMLE", "ScoreMatching", "TruncatedMLE", "load"),
    "tmsm.inference.comparison": ("compare",),
    "tmsm.inference.stein": ("stein_test",),
    "tmsm.manifolds": ("Euclidean", "Hyperbolic", "LevelSet", "Product", "Rotations", "Sphere", "Torus"),
    "tmsm.manifolds.coordinates": ("colatlon_to_xyz", "lonlat_to_xyz", "xyz_to_colatlon", "xyz_to_lonlat"),
    "tmsm.manifolds.torus_angles": ("angles_to_torus", "torus_to_angles"),
    "tmsm.matching.saved_moments": ("load_moments",),
    "tmsm.models": (
        "Bingham",
        "ExponentialFamily",
        "FisherBingham",
        "HeavyTailed",
        "Kent",
        "LogDensity",
        "MatrixFisher",
        "Mixture",
        "MultivariateNormal",
        "SineVonMises",
        "VonMisesFisher",
        "Watson",
    ),
    "tmsm.models.checks": ("check_model",),
    "tmsm.regions": (
        "AngleBox",
        "AxisWithin",
        "Ball",
        "BorderPoints",
        "Box",
        "Cap",
        "Everywhere",
        "GeodesicBall",
        "HalfSpace",
        "HealpixMask",
        "Hemisphere",
        "Implicit",
        "LonLatBox",
        "Polygon",
        "RotationCap",
        "SphericalPolygon",
    ),
    "tmsm.weights": ("Projected",),
}
_PLACES = {name: home for home, names in _HOMES.items() for name in names}
# What was renamed, by its name of before: `Renamed` says how long that one still works.
_RENAMED: dict[str, "Renamed"] = {}


def __getattr__(name: str) -> Any:
    found: Any
    if name in _PLACES:
        found = getattr(import_module(_PLACES[name]), name)
    elif name in _RENAMED:
        return _RENAMED[name].found_in(import_module(__name__))
    elif name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        place = f"{__name__}.{name}"
        try:
            found = import_module(place)
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
