"""Rows become equations, and equations an estimate."""
