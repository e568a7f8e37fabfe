"""What all pictures of S² have in common: lines that end at the edge, a graticule with labels, a scale bar."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.cut_lines import Box, chained, drawn_line
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.graticule import Graticule, Label, digits_of, place_labels, scale_bar
from tmsm.manifolds.lonlat import lonlat_of, point_at
from tmsm.manifolds.views import View

__all__ = ["SphereView", "enclosing_cap"]

GRATICULE = "0.85"
_TEXT = {"fontsize": 7.5, "color": "0.35"}
_HIGH, _WIDE = 10.0, 4.4  # of a label and of one of its letters, in points
_ENOUGH = 4  # labels of meridians on a parallel
_LIFT = 5.0  # of a scale bar above the picture, in points
_EVEN = 0.1  # by which a scale may differ over a picture before the bar says where it holds


class SphereView(View):
    """A picture of S² in a frame, in a window of the plane."""

    frame: Frame

    @property
    @abstractmethod
    def window(self) -> Box:
        """What is drawn: left, bottom, right and top in coordinates of the picture."""

    @property
    def shape(self) -> float | None:
        left, bottom, right, top = self.window
        return (top - bottom) / (right - left)

    def reach(self) -> tuple[FloatArray, float]:
        """A point and an angle in radians within which lies all that the window shows."""
        X = self.grid(25)[2].reshape(-1, 3)
        return enclosing_cap(X[np.isfinite(X).all(axis=1)])

    def line(self, ax: Any, X: FloatArray, *, closed: bool = False, **style: Any) -> None:
        self.lines(ax, [X], closed=closed, **style)

    def lines(self, ax: Any, curves: Sequence[FloatArray], *, closed: bool = False, **style: Any) -> None:
        """Draw several chains of points as one artist."""
        ax.plot(*self.flat_lines(curves, closed=closed).T, **style)

    def flat_lines(self, curves: Sequence[FloatArray], *, closed: bool = False) -> FloatArray:
        """Chains of points in the picture, shape (m, 2), with NaN between the pieces that are seen."""
        if not len(curves):
            return np.empty((0, 2))
        return drawn_line(self.forward, chained(curves, closed=closed), self.window)

    def draw_graticule(self, ax: Any) -> None:
        """Meridians and parallels, with their degrees where they leave the picture."""
        X = self.grid(41)[2].reshape(-1, 3)
        graticule = Graticule.over(X[np.isfinite(X).all(axis=1)])
        flat = {
            "lon": [(lon, self.flat_lines([line])) for lon, line in graticule.meridians],
            "lat": [(lat, self.flat_lines([line])) for lat, line in graticule.parallels],
        }
        for _, line in flat["lon"] + flat["lat"]:
            ax.plot(*line.T, color=GRATICULE, lw=0.5, zorder=0.4)
        lon_digits, lat_digits = digits_of(graticule.lon_step), digits_of(graticule.lat_step)
        meridians = [(self.frame.longitude_text(lon, lon_digits), line) for lon, line in flat["lon"]]
        parallels = [(self.frame.latitude_text(lat, lat_digits), line) for lat, line in flat["lat"]]
        for label in self._labels(ax, meridians, parallels, graticule):
            _write(ax, label)

    def _labels(
        self,
        ax: Any,
        meridians: list[tuple[str, FloatArray]],
        parallels: list[tuple[str, FloatArray]],
        graticule: Graticule,
    ) -> list[Label]:
        left, bottom, right, top = self.window
        extent = ax.get_window_extent()
        points = 72.0 / ax.figure.dpi
        across, up = (right - left) / max(extent.width * points, 1.0), (top - bottom) / max(extent.height * points, 1.0)
        across = up = max(across, up)  # the aspect is equal

        def room(text: str) -> tuple[float, float]:
            return (_WIDE * (len(text) + 1)) * across, _HIGH * up

        order = ("bottom", "top", "right", "left")
        labels = place_labels(parallels, self.window, ("left", "right", "top", "bottom"), room)
        if self._shows_whole_meridians(meridians):
            labels += self._on_a_parallel(meridians, graticule, room)
        else:
            labels += place_labels(meridians, self.window, order, room)
        if len({label.text for label in labels} & {text for text, _ in parallels}) < min(2, len(parallels)):
            labels += self._on_a_meridian(parallels, graticule, room)
        # The scale bar stands above the right half.
        return [label for label in labels if label.side != "top" or label.x < 0.5 * (left + right)]

    def _shows_whole_meridians(self, meridians: list[tuple[str, FloatArray]]) -> bool:
        """Whether no meridian leaves the window, as on a map of the whole sphere."""
        left, bottom, right, top = self.window
        every = np.vstack([line for _, line in meridians])
        every = every[np.isfinite(every).all(axis=1)]
        inside = (every >= [left, bottom]).all(axis=1) & (every <= [right, top]).all(axis=1)
        return bool(inside.mean() > 0.98)

    def _on_a_parallel(self, meridians: list[tuple[str, FloatArray]], graticule: Graticule, room: Any) -> list[Label]:
        """Labels of meridians where they cross the parallel, of those drawn, that shows most of them."""
        best: list[Label] = []
        for lat in sorted((lat for lat, _ in graticule.parallels), key=abs):
            X = point_at(np.array([lon for lon, _ in graticule.meridians]), lat)
            labels = _thinned([text for text, _ in meridians], self.forward(X), self.window, room)
            best = labels if len(labels) > len(best) else best
            if len(best) >= _ENOUGH:
                break
        return best

    def _on_a_meridian(self, parallels: list[tuple[str, FloatArray]], graticule: Graticule, room: Any) -> list[Label]:
        """Labels of parallels that do not leave the picture, on the meridian drawn that shows most of them."""
        best: list[Label] = []
        for lon, _ in graticule.meridians:
            X = point_at(lon, np.array([lat for lat, _ in graticule.parallels]))
            labels = _thinned([text for text, _ in parallels], self.forward(X), self.window, room)
            best = labels if len(labels) > len(best) else best
        return best

    def draw_scale_bar(self, ax: Any) -> None:
        """A bar of a round length, above the right corner of the picture."""
        from matplotlib.transforms import ScaledTranslation, blended_transform_factory

        per_radian, where = self._scale()
        left, _, right, _ = self.window
        bar = scale_bar(self.frame, (right - left) / per_radian)
        end, begin = ax.get_xlim()[1], ax.get_xlim()[0]
        start = end - np.sign(end - begin) * bar.radians * per_radian
        lifted = ScaledTranslation(0.0, _LIFT / 72.0, ax.figure.dpi_scale_trans)
        place = blended_transform_factory(ax.transData, ax.transAxes) + lifted
        ax.plot(
            [start, end], [1.0, 1.0], transform=place, color="0.25", lw=1.6, clip_on=False, scalex=False, scaley=False
        )
        style = {**_TEXT, "fontsize": 8, "ha": "right", "va": "bottom", "annotation_clip": False}
        ax.annotate(bar.text + where, (1.0, 1.0), (0.0, _LIFT + 2.0), "axes fraction", "offset points", **style)

    def _scale(self) -> tuple[float, str]:
        """Units of the picture for one radian across its middle, and words where others are wrong by much."""
        _, _, X = self.grid(9)
        seen = np.isfinite(X).all(axis=-1)
        nearest = np.argwhere(seen)[np.argmin(np.abs(np.argwhere(seen) - 4).sum(axis=1))]
        scales = self._scales(X[seen])
        middle = float(self._scales(X[tuple(nearest)][None, :])[0])
        if not np.isfinite(middle):
            middle = float(np.nanmedian(scales))
        uneven = np.nanmax(scales) > (1.0 + _EVEN) * middle or np.nanmin(scales) < (1.0 - _EVEN) * middle
        return middle, " in the middle" if uneven else ""

    def _scales(self, X: FloatArray) -> FloatArray:
        """Units of the picture for one radian on the sphere, along its rows, shape (n,)."""
        h = 1e-5
        east, north = _across(X)
        slopes = [(self.forward(_moved(X, h * t)) - self.forward(_moved(X, -h * t))) / (2.0 * h) for t in (east, north)]
        (a, c), (b, d) = slopes[0].T, slopes[1].T
        # The step s on the sphere with J s = (1, 0) has the length |(d, −c)| / |ad − bc|.
        with np.errstate(invalid="ignore", divide="ignore"):
            found: FloatArray = np.abs(a * d - b * c) / np.hypot(d, c)
        return found


def _across(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unit vectors to the east and to the north."""
    lon, _ = lonlat_of(X)
    east = np.column_stack([-np.sin(np.radians(lon)), np.cos(np.radians(lon)), np.zeros(len(X))])
    return east, np.cross(X, east)


def _moved(X: FloatArray, step: FloatArray) -> FloatArray:
    moved = X + step
    return np.asarray(moved / np.linalg.norm(moved, axis=1)[:, None])


def _thinned(texts: list[str], flat: FloatArray, window: Box, room: Any) -> list[Label]:
    left, bottom, right, top = window
    labels: list[Label] = []
    for text, (x, y) in zip(texts, flat, strict=True):
        wide, high = room(text)
        if not (left + 0.5 * wide < x < right - 0.5 * wide and bottom < y < top):
            continue
        if all(abs(x - o.x) > wide or abs(y - o.y) > high for o in labels):
            labels.append(Label(text, float(x), float(y), "on"))
    return labels


def _write(ax: Any, label: Label) -> None:
    if label.side == "on":
        box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75}
        ax.text(label.x, label.y, label.text, ha="center", va="center", zorder=0.7, bbox=box, clip_on=True, **_TEXT)
        return
    offset = {"left": (-3, 0), "right": (3, 0), "bottom": (0, -3), "top": (0, 3)}[label.side]
    across = {"left": "right", "right": "left"}.get(label.side, "center")
    up = {"bottom": "top", "top": "bottom"}.get(label.side, "center")
    style = {**_TEXT, "textcoords": "offset points", "annotation_clip": False}
    ax.annotate(label.text, (label.x, label.y), offset, ha=across, va=up, **style)


def enclosing_cap(X: FloatArray, rounds: int = 200) -> tuple[FloatArray, float]:
    """A small cap that holds all points (n, 3): its middle and its radius, hardly above the smallest one."""
    X = X[:: max(1, len(X) // 20_000)]
    ball = 0.5 * (X.min(axis=0) + X.max(axis=0))
    for k in range(rounds):  # Bădoiu and Clarkson: towards the farthest point, by smaller and smaller steps
        far = ((X - ball) ** 2).sum(axis=1)
        ball = ball + (X[np.argmax(far)] - ball) / (k + 2.0)
    length = float(np.linalg.norm(ball))
    middle = ball / length if length > 1e-6 else np.asarray(X[0])
    chord = float(np.sqrt(((X - middle) ** 2).sum(axis=1).max()))
    return middle, 2.0 * float(np.arcsin(min(0.5 * chord, 1.0)))
