"""Manifolds: the spaces that points live in, their coordinates, charts and views."""

from tmsm.manifolds.base import DistanceUnit, Manifold, WrittenCoordinates
from tmsm.manifolds.charts import Chart, Curve, FlatChart, Window
from tmsm.manifolds.euclidean import Euclidean
from tmsm.manifolds.guess import manifold_of
from tmsm.manifolds.sphere import Sphere
from tmsm.manifolds.views import View

__all__ = [
    "Chart",
    "Curve",
    "DistanceUnit",
    "Euclidean",
    "FlatChart",
    "Manifold",
    "Sphere",
    "View",
    "Window",
    "WrittenCoordinates",
    "manifold_of",
]
