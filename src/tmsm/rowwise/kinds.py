"""What compiled loops are told: each kind of a thing by its number, which is its place here."""

__all__ = [
    "BORDERS",
    "FIELDS",
    "FORM_LENGTHS",
    "HEAD",
    "LENGTHS",
    "MAX_DEGREE",
    "ON_BORDER",
    "ROUNDING",
    "STACK_TASKS",
    "TASKS",
    "TOLERANCE",
    "WEIGHTS",
]

BORDERS = ("none", "cap", "arcs")
WEIGHTS = ("constant", "distance", "saturating", "normal")
# Sums of A and b; of e eᵀ; of both, the second with the products of A's entries and e.
TASKS = ("sums", "squares", "features")
# All sums begin with: rows inside, those outside, those off the sphere, Σ w, Σ w², and the largest distance.
HEAD = 6
# How many numbers follow for each task.
LENGTHS = {"sums": 9, "squares": 6, "features": 54}
# Of families of degree two: Q times ten monomials and k times four; products of nine numbers of a residual.
FORM_LENGTHS = {"sums": 72, "squares": 45}
# Sums of A and b of stacked equations; of e and e eᵀ; of both with tilted weights.
STACK_TASKS = ("sums", "residuals", "tilted")
# Kinds of fields of stacked equations, and the highest degree of their polynomials.
FIELDS = ("statistics", "gradients", "streams")
MAX_DEGREE = 3

# A distance up to this is rounding: the row lies on the border.
ON_BORDER = 8.0 * 2.0**-52
# Squared norms that are off by more are moved onto the sphere; off by more than the second, they are no points of it.
ROUNDING, TOLERANCE = 1e-14, 2e-6
