"""Regions: the part of a manifold in which data were observed."""

from tmsm.regions.base import AxisAligned, AxisFrame, BorderView, Region, SmoothBorder
from tmsm.regions.combinations import Complement, Everywhere, Intersection, Union
from tmsm.regions.flat import Ball, Box, HalfSpace, Polygon
from tmsm.regions.healpix import HealpixMask
from tmsm.regions.lonlat_box import LonLatBox
from tmsm.regions.points import BorderPoints
from tmsm.regions.polygons import SphericalPolygon
from tmsm.regions.spherical import Cap, Hemisphere

__all__ = [
    "AxisAligned",
    "AxisFrame",
    "Ball",
    "BorderPoints",
    "BorderView",
    "Box",
    "Cap",
    "Complement",
    "Everywhere",
    "HalfSpace",
    "HealpixMask",
    "Hemisphere",
    "Intersection",
    "LonLatBox",
    "Polygon",
    "Region",
    "SmoothBorder",
    "SphericalPolygon",
    "Union",
]
