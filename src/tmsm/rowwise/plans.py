"""Which stacked equations compiled loops are to evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray
from tmsm.models.row_form import RowForm
from tmsm.rowwise.kinds import FIELDS, FORM_LENGTHS

__all__ = ["StackPlan", "Tilt"]


@final
@dataclass(frozen=True)
class Tilt:
    """How rows are tilted, by the π of `tmsm.matching.equations.tilt_equations`, and by how much their leverage counts.

    With shares s = w/W of the weights, π = exp(−s λ·(e − ē)) between e^−limit and e^limit, and squares get the factor
    f = w/(1 − s² |R (e − ē)|²), of which what is below is at least the rest.

    Attributes
    ----------
    mean, multiplier
        The ē and λ, shapes (m,).
    root
        R, shape (k, m).
    numbers
        W, the limit and the rest, shape (3,).
    """

    mean: FloatArray
    multiplier: FloatArray
    root: FloatArray
    numbers: FloatArray

    @classmethod
    def none(cls, m: int) -> Tilt:
        """None at all, of m equations: f = w."""
        return cls(np.zeros(m), np.zeros(m), np.zeros((1, m)), np.ones(3))


@final
@dataclass(frozen=True)
class StackPlan:
    """Which equations there are, as loops take them.

    Attributes
    ----------
    parts
        Kind by its number, number of the scale, and first and last but one monomial of each part, shape (k, 4).
    scales
        Of the saturating weights, shape (q,).
    center, axes
        Of the polynomials' coordinates, shapes (3,) and (2, 3).
    form
        Of the statistics; None where these are the points themselves.
    """

    parts: IntArray
    scales: FloatArray
    center: FloatArray
    axes: FloatArray
    form: RowForm | None = None

    @property
    def _sizes(self) -> IntArray:
        """Number of equations in each part."""
        p = 3 if self.form is None else self.form.size
        return np.where(self._has_statistics, p, self.parts[:, 3] - self.parts[:, 2])

    @property
    def _has_statistics(self) -> BoolArray:
        """Whether a part is one of statistics, not of polynomials."""
        found: BoolArray = self.parts[:, 0] == FIELDS.index("statistics")
        return found

    @property
    def n_equations(self) -> int:
        """Number m of equations."""
        return int(self._sizes.sum())

    def residuals(self, X: FloatArray, d: FloatArray, gradient: FloatArray, theta: FloatArray) -> FloatArray:
        """e_i(θ) at rows (n, 3) with distances (n,) and their gradients (n, 3), shape (n, m)."""
        from tmsm.rowwise.stacked import stack_residuals

        E = np.empty((self.n_equations, len(X)))
        if self.form is not None:
            from tmsm.rowwise.stacked_forms import form_residuals

            given = *self._turned(self.form, X, d, gradient), self.form.factors
            form_residuals(*given, self.form.at(theta), self.form.of_products, E)
            return E.T
        stack_residuals(_columns(X), d, _columns(gradient), self.center, self.axes, self.scales, self.parts, theta, E)
        return E.T

    def sums(
        self, X: FloatArray, d: FloatArray, gradient: FloatArray, w: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Σ w A_i, shape (m, p), and Σ w b_i, shape (m,)."""
        from tmsm.rowwise.stacked import stack_sums

        weight = np.empty(0) if w is None else np.ascontiguousarray(w)
        if self.form is not None:
            return self._form_sums(self.form, X, d, gradient, weight)
        A, b = np.zeros((self.n_equations, 3)), np.zeros(self.n_equations)
        stack_sums(_columns(X), d, _columns(gradient), self.center, self.axes, self.scales, self.parts, weight, A, b)
        return A, b

    def _turned(self, form: RowForm, X: FloatArray, d: FloatArray, gradient: FloatArray) -> tuple[Any, ...]:
        """Rows and polynomials in the frame of a form, as loops take them."""
        rows = np.vstack([form.turned(X), form.turned(gradient)])
        return rows, d, form.rotation @ self.center, self.axes @ form.rotation.T, self.scales, self.parts

    def _form_sums(
        self, form: RowForm, X: FloatArray, d: FloatArray, gradient: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        from tmsm.rowwise.stacked_forms import form_sums

        sizes, has_statistics = self._sizes, self._has_statistics
        n_fields = int(sizes[~has_statistics].sum())
        statistics = np.zeros((int(has_statistics.sum()), FORM_LENGTHS["sums"]))
        fields, pushes = np.zeros((n_fields, 12)), np.zeros(n_fields)
        form_sums(*self._turned(form, X, d, gradient), weight, form.factors, statistics, fields, pushes)
        along = form.A_along(fields.reshape(-1, 3, 4))
        A, b, k, j = [], [], 0, 0
        for size, own in zip(sizes, has_statistics, strict=True):
            if own:
                products, firsts = statistics[k, :60].reshape(6, 10), statistics[k, 60:].reshape(3, 4)
                A.append(form.A_of(products))
                b.append(form.b_of(products, firsts))
                k += 1
                continue
            A.append(along[j : j + size])
            b.append(pushes[j : j + size])
            j += size
        return np.concatenate(A), np.concatenate(b)


def _columns(rows: FloatArray) -> FloatArray:
    """One coordinate of all rows after the other, shape (3, n)."""
    return np.ascontiguousarray(rows.T)
