"""Cubes cut by planes: the part on one side and the cut itself, by their volume or area, mean and covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray

__all__ = ["CutCubes", "cut_cubes"]

# Cubes that are cut at once: what is computed in between has some 100 numbers for each.
_AT_ONCE = 8192
# Gauss's rules of two and of three points on [0, 1]: between the breakpoints what is summed is a cubic of v and of
# degree four in u.
_TWO = (0.5 - np.sqrt(1.0 / 12.0), 0.5), (0.5 + np.sqrt(1.0 / 12.0), 0.5)
_THREE = (0.5 - np.sqrt(0.15), 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.5 + np.sqrt(0.15), 5.0 / 18.0)
# A cut of such a standard deviation (half a side is one) is wide enough to tell how it is tilted.
_WIDE = 0.05
# Corners of a regular tetrahedron with mean zero and covariance one.
_TETRAHEDRON = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


@dataclass(frozen=True)
class CutCubes:
    """The parts of cubes [−1, 1]³ where c + g·s > 0.

    Axes are sorted and turned: ``order`` (n, 3) says which axis of the cube each is, the steepest last, and ``sign``
    which way it goes, so that no slope is negative.

    Attributes
    ----------
    order, sign
        Shape (n, 3).
    form
        (c, g) along the sorted axes, shape (n, 4).
    volume, mean, root
        Of the part inside: shapes (n,), (n, 3) and (n, 3, 3), a root of the covariance.
    area, middle, flat_root
        Of the cut, seen along the last axis: shapes (n,), (n, 2) and (n, 2, 2).
    """

    order: IntArray
    sign: FloatArray
    form: FloatArray
    volume: FloatArray
    mean: FloatArray
    root: FloatArray
    area: FloatArray
    middle: FloatArray
    flat_root: FloatArray

    def original(self, s: FloatArray) -> FloatArray:
        """Points (n, 3) along the sorted axes in the cubes' own coordinates."""
        out = np.empty_like(s)
        np.put_along_axis(out, self.order, s * self.sign, axis=1)
        return out

    def nodes(self) -> list[FloatArray]:
        """Four points of equal weight with the mean and the covariance of the part inside, shape (n, 3) each."""
        return [self.original(self.mean + self.root @ corner) for corner in _TETRAHEDRON]

    def on_cut(self) -> list[FloatArray]:
        """Four points of the cut with its mean and covariance, shape (n, 3) each along the sorted axes.

        They lie at ±√2 roots of the covariance, one root after the other.
        """
        c, g = self.form[:, 0], self.form[:, 1:]
        out = []
        for k in (0, 1):
            for way in (1.0, -1.0):
                flat = self.middle + way * np.sqrt(2.0) * self.flat_root[:, :, k]
                height = -(c + (g[:, :2] * flat).sum(axis=1)) / np.maximum(g[:, 2], 1e-300)
                out.append(np.column_stack([flat, height]))
        return out

    def bent(self, offsets: FloatArray) -> CutCubes:
        """Cubes cut along the planes that fit values (4, n) of the form which are missing at the points `on_cut`."""
        mean = offsets.mean(axis=0)
        # Slopes along the two roots; where the cut is small they are not known, and not needed.
        along = np.stack([offsets[0] - offsets[1], offsets[2] - offsets[3]], axis=1) / np.sqrt(8.0)
        a, b, c = self.flat_root[:, 0, 0], self.flat_root[:, 1, 0], self.flat_root[:, 1, 1]
        wide = np.minimum(a, c) > _WIDE
        with np.errstate(divide="ignore", invalid="ignore"):
            second = np.where(wide, along[:, 1] / c, 0.0)
            first = np.where(wide, (along[:, 0] - b * second) / a, 0.0)
        tilt = np.column_stack([first, second])
        form = self.form.copy()
        form[:, 0] += mean - (tilt * self.middle).sum(axis=1)
        form[:, 1:3] += tilt
        original = np.column_stack([form[:, 0], self.original(form[:, 1:])])
        return cut_cubes(original)


def cut_cubes(form: FloatArray) -> CutCubes:
    """Cut cubes [−1, 1]³ where c + g·s = 0, with (c, g) in rows of shape (n, 4).

    With slopes g₁ ≤ g₂ ≤ g₃ the part is: u in pieces between the corners of the cut, v in the two pieces in which
    the height is part of the cube's or all of it, w from the plane to the face.
    """
    g = form[:, 1:]
    order = np.argsort(np.abs(g), axis=1)
    sign = np.where(np.take_along_axis(g, order, axis=1) < 0.0, -1.0, 1.0)
    form = np.column_stack([form[:, 0], np.abs(np.take_along_axis(g, order, axis=1))])
    n = len(form)
    inside, cut = np.empty((n, 10)), np.empty((n, 6))
    for start in range(0, n, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        inside[rows], cut[rows] = _moments(form[rows])
    volume, mean, covariance = inside[:, 0], *_centred(inside, 3)
    area, middle, flat = cut[:, 0], *_centred(cut, 2)
    return CutCubes(order, sign, form, volume, mean, _root(covariance), area, middle, _root(flat))


def _moments(form: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of 1, s and products of s over the part inside (n, 10), and over the cut in two coordinates (n, 6)."""
    c, g1, g2, g3 = (column[:, None] for column in form.T)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        corners = [-(c + i * g2 + j * g3) / np.maximum(g1, 1e-300) for i in (-1.0, 1.0) for j in (-1.0, 1.0)]
        ends = np.sort(np.clip(np.concatenate(corners, axis=1), -1.0, 1.0), axis=1)
        one = np.ones_like(c)
        u, du = _gauss(np.concatenate([-one, ends], axis=1), np.concatenate([ends, one], axis=1), _THREE)
        e = c + g1 * u
        low, high = (np.clip(-(e + way * g3) / np.maximum(g2, 1e-300), -1.0, 1.0) for way in (1.0, -1.0))
        part, part_weight = _gauss(low, high, _TWO)
        full, full_weight = _gauss(high, np.ones_like(high), _TWO)
        u, du, e = (np.concatenate([x, x], axis=1) for x in (u, du, e))
        bottom = np.clip(-(e + g2 * part) / np.maximum(g3, 1e-300), -1.0, 1.0)
    inside, cut = np.zeros((len(form), 10)), np.zeros((len(form), 6))
    for v, dv, low in ((part, part_weight, bottom), (full, full_weight, np.full_like(full, -1.0))):
        flat = du * dv
        height = 1.0 - low
        weight, w = flat * height, 0.5 * (1.0 + low)
        wu, wv, ww = weight * u, weight * v, weight * w
        second = (wu * u, wu * v, wv * v, wu * w, wv * w, ww * w + weight * height**2 / 12.0)
        inside += np.stack([x.sum(axis=1) for x in (weight, wu, wv, ww, *second)], axis=1)
        if low is bottom:
            fu, fv = flat * u, flat * v
            cut += np.stack([x.sum(axis=1) for x in (flat, fu, fv, fu * u, fu * v, fv * v)], axis=1)
    return inside, cut


def _gauss(low: FloatArray, high: FloatArray, rule: tuple[tuple[float, float], ...]) -> tuple[FloatArray, FloatArray]:
    """Points and weights of a rule on intervals, a block of columns for each point."""
    length = high - low
    points = [low + length * at for at, _ in rule]
    return np.concatenate(points, axis=1), np.concatenate([weight * length for _, weight in rule], axis=1)


def _centred(moments: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Mean (n, k) and covariance (n, k, k) from sums of 1, s and s_i s_j, j ≥ i, by columns j."""
    total = moments[:, 0]
    share = np.divide(1.0, total, out=np.zeros_like(total), where=total > 1e-200)[:, None]
    mean, second = moments[:, 1 : k + 1] * share, moments[:, k + 1 :] * share
    covariance = np.empty((len(total), k, k))
    place = 0
    for j in range(k):
        for i in range(j + 1):
            covariance[:, i, j] = covariance[:, j, i] = second[:, place] - mean[:, i] * mean[:, j]
            place += 1
    return mean, covariance


def _root(covariance: FloatArray) -> FloatArray:
    """Lower triangular L with LLᵀ = covariance; zero where rounding has left nothing."""
    k = covariance.shape[1]
    root = np.zeros_like(covariance)
    for j in range(k):
        pivot = covariance[:, j, j] - (root[:, j, :j] ** 2).sum(axis=1)
        root[:, j, j] = np.sqrt(np.maximum(pivot, 0.0))
        for i in range(j + 1, k):
            rest = covariance[:, i, j] - (root[:, i, :j] * root[:, j, :j]).sum(axis=1)
            known = root[:, j, j] > 1e-7
            root[:, i, j] = np.divide(rest, root[:, j, j], out=np.zeros_like(rest), where=known)
    return root
