"""What compiled loops are told: each kind of a thing by its number, which is its place here."""

__all__ = ["BORDERS", "FIELDS", "MAX_DEGREE", "TASKS", "WEIGHTS"]

BORDERS = ("none", "cap", "arcs")
WEIGHTS = ("constant", "distance", "saturating", "normal")
# Sums of A and b; of e eᵀ; of both, the second with the products of A's entries and e.
TASKS = ("sums", "squares", "features")
# Kinds of fields of stacked equations, and the highest degree of their polynomials.
FIELDS = ("statistics", "gradients", "streams")
MAX_DEGREE = 3
