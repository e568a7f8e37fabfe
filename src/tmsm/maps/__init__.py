"""Densities as maps: a smooth series or kernels inside a border, with bands, regions of highest density and pixels."""
