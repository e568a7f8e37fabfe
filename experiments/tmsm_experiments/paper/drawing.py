"""How the figures look: colours that the colour-blind can tell apart, a globe, a map, PNG and SVG."""

from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

import tmsm
from tmsm_experiments.cells import write_whole
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED, TRUNCSM, TRUNCSM_OVAL

# Okabe and Ito's colours and a brown; markers and lines differ as well.
BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE, BLACK, GREY, BROWN = (
    "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#000000", "#9A9A9A", "#6B4226",
)  # fmt: skip
METHOD_STYLES = {
    GEODESIC: {"color": BLUE, "marker": "o", "ls": "-"},
    PROJECTED: {"color": SKY, "marker": "s", "ls": "--"},
    TRUNCSM: {"color": ORANGE, "marker": "^", "ls": "-."},
    TRUNCSM_OVAL: {"color": BROWN, "marker": "<", "ls": "-."},
    NAIVE: {"color": VERMILION, "marker": "X", "ls": ":"},
    DEFAULT: {"color": GREEN, "marker": "D", "ls": "-"},
    COMBINED: {"color": PURPLE, "marker": "v", "ls": "--"},
    EXACT: {"color": BLACK, "marker": "P", "ls": "-"},
}
SEEN = {"color": GREEN, "s": 6, "alpha": 0.55, "linewidths": 0, "rasterized": True}
UNSEEN = {"color": GREY, "s": 6, "alpha": 0.55, "linewidths": 0, "rasterized": True}
BORDER = {"color": BLACK, "lw": 1.4}
TRUTH = {"marker": "+", "ms": 20, "mec": BLACK, "mew": 1.4, "ls": "none", "zorder": 6}
_SETTINGS = {
    "font.size": 9, "axes.titlesize": 10, "axes.labelsize": 9, "legend.fontsize": 8, "xtick.labelsize": 8,
    "ytick.labelsize": 8, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "tmsm",
    "svg.fonttype": "path",
}  # fmt: skip


class Drawing:
    """A figure in our style, in a with-block at whose end it is saved: PNG for screens, SVG for print.

    The same picture gives the same files; nothing of matplotlib's global state is left changed.
    """

    def __init__(self, folder: Path, name: str, width: float, height: float, rows=1, columns=1, **options) -> None:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        self._style = mpl.rc_context(_SETTINGS)
        self._style.__enter__()
        self.folder, self.name = folder, name
        self.figure = Figure(figsize=(width, height), layout="constrained")
        self.axes = self.figure.subplots(rows, columns, squeeze=False, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                for ending, options in (("png", {}), ("svg", {"metadata": {"Date": None}})):
                    save = partial(self.figure.savefig, format=ending, dpi=160, **options)
                    write_whole(self.folder / f"{self.name}.{ending}", save)
        finally:
            self._style.__exit__(None, None, None)

    def legend(self, columns: int) -> None:
        """One for all axes, below them."""
        handles: dict = {}
        for ax in self.axes.flat:
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        self.figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)


def marker_style(method: str) -> dict:
    """A method's marker without a line, light round its edge; of two in one place both can be seen."""
    style = METHOD_STYLES[method]
    size = 6.5 if method == PROJECTED else 11.0
    return {"color": style["color"], "marker": style["marker"], "ms": size, "mec": "white", "mew": 0.9, "ls": "none"}


class Globe:
    """The sphere seen from afar (orthographic): ``towards`` faces the viewer, ``up`` points up."""

    def __init__(self, ax, towards, up) -> None:
        self.ax = ax
        self.front = np.asarray(towards, dtype=float) / np.linalg.norm(towards)
        up = np.asarray(up, dtype=float) - (self.front @ up) * self.front
        self.up = up / np.linalg.norm(up)
        self.right = np.cross(self.up, self.front)
        ax.set(xlim=(-1.04, 1.04), ylim=(-1.04, 1.04), aspect="equal")
        ax.set_axis_off()
        turn = np.linspace(0.0, 2.0 * np.pi, 361)
        ax.fill(np.cos(turn), np.sin(turn), fc="#F4F6F8", ec=GREY, lw=0.8, zorder=0)

    def scatter(self, X, **style) -> None:
        X = X[X @ self.front > 0.0]
        self.ax.scatter(X @ self.right, X @ self.up, **style)

    def plot(self, X, **style) -> None:
        X = np.atleast_2d(X)
        hidden = (X @ self.front <= 0.0)[:, None]
        flat = np.where(hidden, np.nan, np.column_stack([X @ self.right, X @ self.up]))
        self.ax.plot(*flat.T, **style)

    def graticule(self) -> None:
        """Parallels and meridians of the paper's angles, every 30 degrees."""
        fine = np.radians(np.linspace(0.0, 360.0, 361))
        for colat in np.radians(np.arange(30.0, 180.0, 30.0)):
            self.plot(tmsm.colatlon_to_xyz(np.full_like(fine, colat), fine), color="0.82", lw=0.5, zorder=0.5)
        down = np.linspace(0.0, np.pi, 181)
        for lon in np.radians(np.arange(0.0, 360.0, 30.0)):
            self.plot(tmsm.colatlon_to_xyz(down, np.full_like(down, lon)), color="0.82", lw=0.5, zorder=0.5)


def draw_map(ax, west: float, south: float, east: float, north: float) -> None:
    """Land in longitude and latitude, with ticks in degrees; east-west distances are right in the middle."""
    for ring in tmsm.datasets.load_land().rings:
        lon, lat = tmsm.xyz_to_lonlat(np.vstack([ring, ring[:1]]))
        if np.abs(np.diff(lon)).max() < 180.0:
            ax.fill(lon, lat, fc="#ECE9E2", ec="#B9B4A8", lw=0.4, zorder=0)
    ax.set(xlim=(west, east), ylim=(south, north), aspect=1.0 / np.cos(np.radians(0.5 * (south + north))))
    ax.xaxis.set_major_formatter(lambda x, _: f"{abs(x):.0f}°{'W' if x < 0 else 'E' if x > 0 else ''}")
    ax.yaxis.set_major_formatter(lambda y, _: f"{abs(y):.0f}°{'S' if y < 0 else 'N' if y > 0 else ''}")
    ax.set(xlabel="longitude", ylabel="latitude")
    ax.set_facecolor("#FAFCFE")
