"""Draw docs/figures/families.png: one density of each family on the sphere, with draws from it."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm

N_DRAWS, N_PIXELS = 400, 400
# Towards the reader, up on the paper, and to the right.
FRONT, UP, RIGHT = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


def unit(vector):
    return vector / np.linalg.norm(vector)


POLE = unit(0.35 * RIGHT + 0.55 * FRONT + 0.75 * UP)
SIDE = unit(0.9 * FRONT - (0.9 * FRONT @ POLE) * POLE)  # across the pole, on the near half
CENTRES = np.array([unit(0.8 * FRONT - 0.5 * RIGHT + 0.3 * UP), unit(0.85 * FRONT + 0.5 * RIGHT - 0.25 * UP)])

PANELS = [
    ("VonMisesFisher", "κ = 12", tmsm.VonMisesFisher(), {"mean_direction": FRONT, "concentration": 12.0}),
    (
        "Kent",
        "κ = 12, β = 5",
        tmsm.Kent(),
        {"mean_direction": FRONT, "major_axis": unit(RIGHT + UP), "concentration": 12.0, "ovalness": 5.0},
    ),
    (
        "FisherBingham",
        "here an arc",
        tmsm.FisherBingham(),
        {"linear": 24.0 * POLE + 4.0 * FRONT, "quadratic": -24.0 * np.outer(POLE, POLE)},
    ),
    (
        "HeavyTailed",
        "κ = 12, ν = 2",
        tmsm.HeavyTailed(),
        {"mean_direction": FRONT, "concentration": 12.0, "degrees_of_freedom": 2.0},
    ),
    ("Watson", "κ = 8, both ends of an axis", tmsm.Watson(), {"axis": POLE, "concentration": 8.0}),
    ("Watson", "κ = −12, a girdle", tmsm.Watson(), {"axis": POLE, "concentration": -12.0}),
    (
        "Bingham",
        "here an uneven girdle",
        tmsm.Bingham(),
        {"quadratic": 3.0 * np.outer(SIDE, SIDE) - 12.0 * np.outer(POLE, POLE)},
    ),
    (
        "Mixture",
        "two of VonMisesFisher",
        tmsm.Mixture(tmsm.VonMisesFisher(), 2),
        {"shares": [0.6, 0.4], "mean_direction": CENTRES, "concentration": [25.0, 60.0]},
    ),
]


def draw_globe(ax, model, params):
    """The density as colours on the near half of the sphere; draws on the near half dark, on the far half light."""
    side = np.linspace(-1.0, 1.0, N_PIXELS)
    x, z = np.meshgrid(side, side)
    y = -np.sqrt(np.maximum(1.0 - x**2 - z**2, 0.0))
    X = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    log_p = model.logpdf(X / np.linalg.norm(X, axis=1)[:, None], **params).reshape(x.shape)
    disc = plt.Circle((0.0, 0.0), 1.0, fill=False, color="0.5", lw=0.8)
    ax.add_patch(disc)
    image = np.exp(0.5 * (log_p - log_p.max()))  # the square root of the density, so that tails are seen
    filled = ax.contourf(x, z, image, levels=np.linspace(0.0, 1.3, 14), cmap="Blues")
    filled.set_clip_path(disc)
    draws = model.sample(N_DRAWS, random_state=1, **params)
    near = draws[:, 1] < 0.0
    ax.plot(draws[~near, 0], draws[~near, 2], ".", color="#c9a98f", ms=2.0)
    ax.plot(draws[near, 0], draws[near, 2], ".", color="#1b3a57", ms=2.0)
    ax.set(aspect="equal", xlim=(-1.03, 1.03), ylim=(-1.03, 1.03))
    ax.set_axis_off()


def main():
    fig, axes = plt.subplots(2, 4, figsize=(9.6, 5.8))
    for ax, (name, words, model, params) in zip(axes.flat, PANELS, strict=True):
        draw_globe(ax, model, params)
        ax.set_title(f"{name}\n{words}", fontsize=10)
    fig.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.92, wspace=0.06, hspace=0.24)
    fig.savefig(Path(__file__).with_name("families.png"), dpi=100)


if __name__ == "__main__":
    main()
