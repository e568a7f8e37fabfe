"""An ellipsoid: a surface, a border and a family that are given as formulas.

Points of a surface in space were observed only above a wavy border. The surface is the zero set of one function.
The region is where another function is positive. The family has the densities exp(θ·x). JAX computes the
derivatives. The fit that ignores the border is wrong by many standard errors.
"""

import sys

import jax.numpy as jnp
import numpy as np

import tmsm

HALF_AXES = np.array([2.0, 1.3, 0.8])
TRUTH = np.array([1.5, -1.0, 1.0])


def ellipsoid(x):
    return jnp.sum((x / HALF_AXES) ** 2) - 1.0


def wave(x):
    return x[2] - 0.25 * jnp.sin(2.0 * x[0]) - 0.1 + 0.15 * x[1]


def coordinates(x):
    return x


def draws(n, region, rng):
    """Exact draws inside the region: points of the sphere, stretched, and kept by rejection."""
    u = rng.standard_normal((n, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    X = u * HALF_AXES
    area = np.linalg.norm(u / HALF_AXES, axis=1) * HALF_AXES.min()  # of the stretched sphere over that of the sphere
    peak = np.linalg.norm(TRUTH * HALF_AXES)  # the largest θ·x
    return X[(rng.random(n) < area * np.exp(X @ TRUTH - peak)) & region.contains(X)]


def main(picture: str | None = None) -> None:
    surface = tmsm.LevelSet(ellipsoid, 3)
    region, model = tmsm.Implicit(wave, surface), tmsm.ExponentialFamily(coordinates, surface)
    X = draws(100_000, region, np.random.default_rng(0))
    fits = {
        "score matching": tmsm.ScoreMatching(model, region).fit(X),
        "ignoring the border": tmsm.ScoreMatching(model, tmsm.Everywhere(surface)).fit(X),
    }
    print(fits["score matching"].summary())
    for name, fit in fits.items():
        print(f"{name:<20} θ = {fit.params_.coefficients.round(2)} ± {fit.std_errors_.coefficients.round(2)}")
    print(f"{'truth':<20} θ = {TRUTH}")
    if picture:
        draw(X, region, fits, picture)


def draw(X, region, fits, picture: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained", width_ratios=(1.6, 1.0))
    # The ellipsoid as it is seen from far away: two directions of the picture, and one towards the viewer.
    near = np.array([0.35, -0.75, 0.56])
    near, across = near / np.linalg.norm(near), np.array([0.75, 0.35, 0.0]) / np.hypot(0.75, 0.35)
    up = np.cross(near, across)
    u, v = np.linspace(-2.1, 2.1, 420), np.linspace(-1.4, 1.4, 280)
    plane = u[None, :, None] * across + v[:, None, None] * up
    # |(p + s near) / a|² = 1: two points of the surface for each of the picture.
    a, b, c = (
        ((near / HALF_AXES) ** 2).sum(),
        (plane * near / HALF_AXES**2).sum(-1),
        ((plane / HALF_AXES) ** 2).sum(-1),
    )
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b**2 - a * (c - 1.0))
    for side, style in ((-1.0, "--"), (1.0, "-")):
        points = plane + ((side * root - b) / a)[:, :, None] * near
        seen = np.isfinite(root)
        distance = np.full(seen.shape, np.nan)
        distance[seen] = region.border_distance(points[seen])[0]
        if side > 0.0:
            left.contourf(u, v, distance, levels=[-np.inf, 0.0, np.inf], colors=["#C4C4C4", "#E4EFF8"], zorder=0)
        left.contour(u, v, distance, levels=[0.0], colors="black", linewidths=1.4, linestyles=style, zorder=2)
    front = X[X / HALF_AXES**2 @ near > 0.0]
    left.scatter(
        front @ across, front @ up, s=4, color="#009E73", alpha=0.5, linewidths=0, label="rows on the near side"
    )
    left.plot([], [], color="black", lw=1.4, label="border, on the far side dashed")
    left.fill([], [], color="#C4C4C4", label="nothing is seen here")
    left.set_aspect("equal")
    left.set_axis_off()
    left.legend(
        loc="upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
        markerscale=3,
        bbox_to_anchor=(0.5, 0.02),
        columnspacing=1.2,
    )

    place = np.arange(3.0)
    right.plot(place, TRUTH, ls="none", marker="*", ms=16, mfc="#F0E442", mec="black", label="truth")
    styles = (("#0072B2", "o", 0.16), ("#D55E00", "X", 0.32))
    for (name, fit), (colour, marker, shift) in zip(fits.items(), styles, strict=True):
        style = {"ls": "none", "marker": marker, "color": colour, "capsize": 3, "label": name}
        right.errorbar(place + shift, fit.params_.coefficients, 2.0 * fit.std_errors_.coefficients, **style)
    right.axhline(0.0, color="#9A9A9A", lw=0.8)
    right.set(ylabel="coefficient, ± 2 standard errors", xlim=(-0.4, 2.7))
    right.set_xticks(place + 0.16, ["θ₁", "θ₂", "θ₃"])
    right.legend(loc="upper left", frameon=False, fontsize=9)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
