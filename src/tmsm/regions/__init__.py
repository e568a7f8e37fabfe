"""Regions: the part of a manifold in which data were observed."""

from tmsm.regions.base import AxisAligned, BorderView, Region, SmoothBorder
from tmsm.regions.combinations import Complement, Everywhere, Intersection, Union
from tmsm.regions.flat import Ball, Box, HalfSpace, Polygon
from tmsm.regions.points import BorderPoints
from tmsm.regions.spherical import Cap, Hemisphere

__all__ = [
    "AxisAligned",
    "Ball",
    "BorderPoints",
    "BorderView",
    "Box",
    "Cap",
    "Complement",
    "Everywhere",
    "HalfSpace",
    "Hemisphere",
    "Intersection",
    "Polygon",
    "Region",
    "SmoothBorder",
    "Union",
]
