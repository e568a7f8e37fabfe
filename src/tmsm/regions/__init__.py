"""Regions: the part of a manifold in which data were observed."""

from tmsm.regions.angle_box import AngleBox
from tmsm.regions.axis_within import AxisWithin
from tmsm.regions.ball import Ball
from tmsm.regions.border_points import BorderPoints
from tmsm.regions.border_view import BorderView
from tmsm.regions.borders import AxisAligned, AxisFrame, Constrained, ConstraintFrame, SmoothBorder
from tmsm.regions.box import Box
from tmsm.regions.cap import Cap, Hemisphere
from tmsm.regions.everywhere import Everywhere
from tmsm.regions.geodesic_ball import GeodesicBall
from tmsm.regions.half_space import HalfSpace
from tmsm.regions.healpix_mask import HealpixMask
from tmsm.regions.implicit import Implicit
from tmsm.regions.lonlat_box import LonLatBox
from tmsm.regions.polygon.planar import Polygon
from tmsm.regions.polygon.spherical import SphericalPolygon
from tmsm.regions.product import ProductRegion
from tmsm.regions.region import Complement, Intersection, Region, Union
from tmsm.regions.rotation_cap import RotationCap
from tmsm.regions.surroundings import Surroundings

__all__ = [
    "AngleBox",
    "AxisAligned",
    "AxisFrame",
    "AxisWithin",
    "Ball",
    "BorderPoints",
    "BorderView",
    "Box",
    "Cap",
    "Complement",
    "Constrained",
    "ConstraintFrame",
    "Everywhere",
    "GeodesicBall",
    "HalfSpace",
    "HealpixMask",
    "Hemisphere",
    "Implicit",
    "Intersection",
    "LonLatBox",
    "Polygon",
    "ProductRegion",
    "Region",
    "RotationCap",
    "SmoothBorder",
    "SphericalPolygon",
    "Surroundings",
    "Union",
]
