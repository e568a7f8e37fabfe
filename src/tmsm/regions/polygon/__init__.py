"""Borders made of edges: the exact tree over them, outlines, GeoJSON, and the two polygons."""
