"""Sums of one weight's equations by compiled loops, where a family, a border and a weight have such; else by arrays.

Both give the same sums to rounding; of few rows compiled ones would not pay.
"""

from __future__ import annotations

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.matching.equations import Equations, residual_squares
from tmsm.matching.one_weight import OneWeight, WeightTerms
from tmsm.rowwise.program import Program, RowSums, program_of, symmetric

__all__ = ["feature_rows", "loops_for", "squares_of", "sums_by_loops"]

# Of fewer rows arrays are summed before compiled code is loaded.
_FEWEST_ROWS = 50_000


def loops_for(equations: Equations, rows: Rows, *, with_features: bool = False) -> Program | None:
    """The loops that sum these equations over rows; None where only arrays will do, or are as fast.

    Features, which are second moments of A_i and e_i, are those of small families alone.
    """
    if not isinstance(equations, OneWeight) or equations.exposure is not None or len(rows) < _FEWEST_ROWS:
        return None
    program = program_of(equations.model, equations.weight, rows.region)
    return None if with_features and program is not None and program.form is not None else program


def sums_by_loops(
    program: Program, equations: OneWeight, rows: Rows, reference: FloatArray | None = None
) -> RowSums | None:
    """Σ w A_i and Σ w b_i, and about a reference θ₀ the second moments of (A_i, e_i); None if no row lies inside."""
    task = "sums" if reference is None else "features"
    return _summed(program, equations, rows, task, reference)


def squares_of(equations: Equations, rows: Rows, theta: FloatArray) -> FloatArray:
    """Σ w² e eᵀ over the rows at θ, shape (m, m): the second pass of a single weight."""
    program = loops_for(equations, rows)
    if program is None:
        return residual_squares(equations, rows, theta)
    assert isinstance(equations, OneWeight), "others have no loops"
    found = _summed(program, equations, rows, "squares", theta)
    assert found is not None, "there are rows inside"
    return symmetric(found.values, equations.model.size)


def _summed(program: Program, equations: OneWeight, rows: Rows, task: str, theta: FloatArray | None) -> RowSums | None:
    def by_arrays(block: Block) -> RowSums:
        return _sums_of_arrays(equations.terms(block), block, task, theta)

    return rows.compiled_total(program.block_size, lambda raw: program.run(raw, task, theta), by_arrays)


def _sums_of_arrays(terms: WeightTerms, block: Block, task: str, theta: FloatArray | None) -> RowSums:
    """What the loops give, by arrays."""
    w, parts = block.sample_weight, []
    if task != "squares":
        A = terms.A_sum(w)
        parts += [A[np.triu_indices(len(A))], terms.b_sum(w)]
    if task != "sums":
        assert theta is not None, "these sums are about an estimate"
        rows = terms.residuals(theta) if task == "squares" else feature_rows(terms, theta)
        squares = weighted_gram(rows, None if w is None else w**2)
        parts.append(squares[np.triu_indices(len(squares))])
    one = block.weights()
    return RowSums(len(one), 0, float(one.sum()), float(one @ one), block.farthest, np.concatenate(parts))


def feature_rows(terms: WeightTerms, reference: FloatArray) -> FloatArray:
    """The upper triangle of A_i, row by row, and the residual at a reference θ₀ (p,), shape (n, p (p + 3)/2)."""
    p = reference.size
    i, j = np.triu_indices(p)
    model, X = terms.model, terms.X
    features = np.empty((len(X), i.size + p), order="F")
    for k in range(p):
        # Column k of A_i is ⟨∇t, W ∇t_k⟩.
        flux = terms.field.apply(model.log_gradient(X, np.eye(p)[k]))
        features[:, : i.size][:, j == k] = model.tangent(reference).gradient_dot(X, flux)[:, : k + 1]
    features[:, i.size :] = terms.residuals(reference)
    return features
