"""Manifolds: the spaces that points live in, their coordinates, charts and views."""

from tmsm.manifolds.base import DistanceUnit, Manifold, WrittenCoordinates
from tmsm.manifolds.chart import Chart
from tmsm.manifolds.charts import Curve, FlatChart, SurfaceChart, Window
from tmsm.manifolds.euclidean import Euclidean
from tmsm.manifolds.guess import manifold_of
from tmsm.manifolds.hyperbolic import Hyperbolic
from tmsm.manifolds.level_set import LevelSet
from tmsm.manifolds.product import Product, Torus
from tmsm.manifolds.rotations import Rotations
from tmsm.manifolds.solid_charts import SolidChart
from tmsm.manifolds.sphere import Sphere
from tmsm.manifolds.views import View

__all__ = [
    "Chart",
    "Curve",
    "DistanceUnit",
    "Euclidean",
    "FlatChart",
    "Hyperbolic",
    "LevelSet",
    "Manifold",
    "Product",
    "Rotations",
    "SolidChart",
    "Sphere",
    "SurfaceChart",
    "Torus",
    "View",
    "Window",
    "WrittenCoordinates",
    "manifold_of",
]
