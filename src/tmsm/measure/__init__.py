"""Integrals over regions: cells, nodes, draws."""
