"""Orientations: a limb that can point only into a cone.

An orientation is a rotation. It was recorded only where the third axis of the limb pointed to within 40° of a fixed
direction, its range of motion, and the mean orientation lies close to the border of this range. The picture shows
where the third axis points. The rotation about this axis is fitted, too, but cannot be shown here. The ordinary fit
misses the mean orientation by 15°, score matching by 1°.
"""

import sys

import numpy as np

import tmsm

SPACE = tmsm.Rotations()
MEAN = SPACE.to_matrices(SPACE.from_rotation_vectors([0.2, 0.65, 0.4]))[0]
TRUTH = MEAN @ np.diag([9.0, 6.0, 3.0])  # F = UDVᵀ, with the mean rotation UVᵀ


def main(picture: str | None = None) -> None:
    model, cone = tmsm.MatrixFisher(), tmsm.Cap([0.0, 0.0, 1.0], radius=np.radians(40.0))
    region = tmsm.AxisWithin([0.0, 0.0, 1.0], cone)
    X = model.sample(10_000, region, random_state=0, parameter=TRUTH)
    fits = {
        "score matching": tmsm.ScoreMatching(model, region).fit(X),
        "ignoring the cone": tmsm.NaiveMLE(model).fit(X),
    }
    print(fits["score matching"].summary())
    for name, fit in fits.items():
        turn = SPACE.to_rotation(SPACE.from_matrices(fit.params_.mean_rotation @ MEAN.T)).magnitude()[0]
        print(f"{name:<18} {np.degrees(turn):4.1f}° off, concentration {fit.params_.concentration.round(1)}")
    if picture:
        draw(SPACE.to_matrices(X)[:, :, 2], cone, fits, picture)


def draw(axes, cone, fits, picture: str) -> None:
    import matplotlib.pyplot as plt

    estimates = {name: fit.params_.mean_rotation[:, 2] for name, fit in fits.items()}
    view = tmsm.Sphere(2).view("globe", axes, np.array([MEAN[:, 2], *estimates.values()]), cone.border_curves[0])
    figure, ax = plt.subplots(figsize=(6.2, 6.6), layout="constrained")
    view.prepare(ax)
    view.scatter(ax, axes, s=3, color="#009E73", alpha=0.45, linewidths=0, label="third axis of 10,000 orientations")
    view.line(ax, cone.border_curves[0], closed=True, color="black", lw=1.2, label="range of motion")
    view.scatter(ax, MEAN[None, :, 2], s=260, marker="*", color="#F0E442", edgecolors="black", label="truth", zorder=4)
    for (name, axis), colour, marker in zip(estimates.items(), ("#0072B2", "#D55E00"), ("o", "X"), strict=True):
        view.scatter(ax, axis[None], s=70, marker=marker, color=colour, edgecolors="white", label=name, zorder=5)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
