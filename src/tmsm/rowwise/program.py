"""What compiled loops can do for a region, a weight and a family, and the sums that they give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.data.device_source import is_on_device
from tmsm.data.sources import RawBlock
from tmsm.foundation.arrays import FloatArray
from tmsm.models.base import Model
from tmsm.models.row_form import RowForm
from tmsm.models.von_mises_fisher import VonMisesFisher
from tmsm.regions import Region
from tmsm.regions.borders import RowBorder
from tmsm.rowwise.kinds import BORDERS, FORM_LENGTHS, HEAD, LENGTHS, TASKS, WEIGHTS
from tmsm.weights import Weight

__all__ = ["Program", "RowSums", "program_of"]

# Rows of a block: few enough that several threads have something to do, enough that starting one costs nothing.
_CHEAP_BLOCK, _COSTLY_BLOCK = 2**17, 2**14
_NONE = np.empty(0)
_NO_FORM = None, None, None


@final
@dataclass(frozen=True)
class RowSums:
    """Additive sums of rows: numbers of those inside and outside, Σ w, Σ w², the largest distance, and the rest."""

    n: int
    n_outside: int
    weight_sum: float
    weight_squares: float
    farthest: float
    values: FloatArray

    @classmethod
    def of(cls, out: FloatArray) -> RowSums | None:
        """What a loop gave; None where rows were off the sphere."""
        if out[2] > 0.0:
            return None
        return cls(int(out[0]), int(out[1]), float(out[3]), float(out[4]), float(out[5]), out[HEAD:])

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(
            self.n + other.n,
            self.n_outside + other.n_outside,
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            max(self.farthest, other.farthest),
            self.values + other.values,
        )

    def linear(self, p: int) -> tuple[FloatArray, FloatArray]:
        """Σ w A_i, shape (p, p), and Σ w b_i, shape (p,), with which the values begin."""
        half = p * (p + 1) // 2
        return symmetric(self.values[:half], p), self.values[half : half + p]

    @property
    def feature_squares(self) -> FloatArray:
        """Σ w² f fᵀ, shape (9, 9), f the upper triangle of A_i and e_i."""
        return symmetric(self.values[9:], 9)


def symmetric(upper: FloatArray, size: int) -> FloatArray:
    """The matrix (size, size) with this upper triangle, row by row."""
    out = np.zeros((size, size))
    i, j = np.triu_indices(size)
    out[i, j] = out[j, i] = upper
    return out


def _upper(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix))]


def _slopes(form: RowForm, theta: FloatArray | None) -> FloatArray:
    return np.zeros((3, 4)) if theta is None else form.at(theta)


@final
@dataclass(frozen=True)
class Program:
    """A region, a weight and a family on S², as loops take them; without a form the von Mises–Fisher family."""

    border: RowBorder
    weight: str
    numbers: FloatArray
    form: RowForm | None = None

    @property
    def block_size(self) -> int:
        """Rows to be summed at a time."""
        return _COSTLY_BLOCK if self.border.kind == "arcs" else _CHEAP_BLOCK

    def run(self, raw: RawBlock, task: str, theta: FloatArray | None = None) -> RowSums | None:
        """The sums of a block for one of the `kinds.TASKS`, about θ (p,); None where rows are off the sphere.

        Rows on a graphics card are summed there.
        """
        if is_on_device(raw.X):
            return self._on_device(raw, task, theta)
        if raw.X.shape[1] == 2:  # longitudes and latitudes
            return self.run_degrees(raw.X[:, 0], raw.X[:, 1], raw.weight, task, theta)
        points = np.ascontiguousarray(raw.X, dtype=np.float64).reshape(-1)
        return self._sums(points, _NONE, _NONE, raw.weight, task, theta)

    def run_degrees(
        self, lon: FloatArray, lat: FloatArray, weight: FloatArray | None, task: str, theta: FloatArray | None = None
    ) -> RowSums | None:
        """The same of longitudes and latitudes in degrees, shape (n,) each; None where they are no places."""
        columns = np.ascontiguousarray(lon, dtype=np.float64), np.ascontiguousarray(lat, dtype=np.float64)
        return self._sums(_NONE, *columns, weight, task, theta)

    def _sums(
        self,
        points: FloatArray,
        lon: FloatArray,
        lat: FloatArray,
        weight: FloatArray | None,
        task: str,
        theta: FloatArray | None,
    ) -> RowSums | None:
        from tmsm.rowwise.loops import sum_block

        form = self.form
        out = np.zeros(HEAD + (LENGTHS if form is None else FORM_LENGTHS)[task])
        at = np.zeros(3) if theta is None else np.ascontiguousarray(theta)
        sum_block(
            points, lon, lat, _NONE if weight is None else np.ascontiguousarray(weight),
            BORDERS.index(self.border.kind), self.border.numbers, *self.border.tree,
            WEIGHTS.index(self.weight), self.numbers, TASKS.index(task),
            at, *(_NO_FORM if form is None else (form.rotation, form.factors, _slopes(form, theta))), out,
        )  # fmt: skip
        return self._found(out, task)

    def _found(self, out: FloatArray, task: str) -> RowSums | None:
        """The sums of the statistics, from those that a loop gave."""
        found, form = RowSums.of(out), self.form
        if form is None or found is None:
            return found
        values = found.values
        if task == "squares":
            squares = form.of_products @ symmetric(values, 9) @ form.of_products.T
            return replace(found, values=_upper(squares))
        sums, along = values[:60].reshape(6, 10), values[60:].reshape(3, 4)
        return replace(found, values=np.append(_upper(form.A_of(sums)), form.b_of(sums, along)))

    def _on_device(self, raw: RawBlock, task: str, theta: FloatArray | None) -> RowSums | None:
        given = raw.X, raw.weight, (self.weight, task), self.border, self.numbers
        if self.form is not None:
            from tmsm.rowwise.card_forms import form_device_sums

            return self._found(form_device_sums(*given, self.form, _slopes(self.form, theta)), task)
        from tmsm.rowwise.card_single import device_sums

        return RowSums.of(device_sums(*given, np.zeros(3) if theta is None else theta))


def program_of(model: Model, weight: Weight, region: Region) -> Program | None:
    """The loops for a model, a resolved weight and a region; None where only arrays will do."""
    family = None if isinstance(model, VonMisesFisher) else model.row_form
    if not region.manifold.has_loops or (family is None and not isinstance(model, VonMisesFisher)):
        return None
    border, form = region.row_border, weight.row_form()
    if border is None or form is None:
        return None
    kind, numbers = form
    if (kind == "constant") != (border.kind == "none") or (kind == "normal" and border.kind != "cap"):
        return None
    return Program(border, kind, np.array([*numbers, 0.0]), family)
