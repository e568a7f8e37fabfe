"""Figures to reach, measured: ``make bench``."""
