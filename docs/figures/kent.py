"""Draw docs/figures/kent.png: half of an oval cloud, and where its centre is found."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm

TRUTH = {"mean_direction": [0, -1, 0], "major_axis": [0, 0, 1], "concentration": 10.0, "ovalness": 3.0}


def flat(X):
    """Seen along the y axis from outside: x to the right, z up."""
    X = np.atleast_2d(X)
    return X[:, 0], X[:, 2]


def contours(ax, params, **style):
    x, z = np.meshgrid(np.linspace(-1, 1, 400), np.linspace(-1, 1, 400))
    inside = x**2 + z**2 < 1
    y = -np.sqrt(np.where(inside, 1 - x**2 - z**2, 0.0))
    log_p = tmsm.Kent(unimodal=False).logpdf(np.column_stack([x[inside], y[inside], z[inside]]), **params)
    image = np.full(x.shape, np.nan)
    image[inside] = log_p
    top = np.nanmax(image)
    ax.contour(x, z, image, levels=[top - 3.0, top - 1.5, top - 0.5], **style)


def main():
    model = tmsm.Kent()
    region = tmsm.Hemisphere([-1, 0, 0])
    everything = model.sample(3000, random_state=7, **TRUTH)
    inside = region.contains(everything)
    X = everything[inside]
    fit, naive = tmsm.ScoreMatching(model, region).fit(X), tmsm.NaiveMLE(model).fit(X)

    fig, axes = plt.subplots(1, 2, figsize=(9.6, 5.4), sharey=True)
    for ax, title, params in zip(
        axes,
        ("naive likelihood", "tmsm.ScoreMatching"),
        (naive.params_, fit.params_),
        strict=True,
    ):
        ax.add_patch(plt.Circle((0, 0), 1.0, fill=False, color="0.6", lw=0.8))
        ax.scatter(*flat(everything[~inside]), s=4, color="0.8", label="not seen")
        ax.scatter(*flat(X), s=4, color="#7aa6c2", label="seen")
        ax.axvline(0.0, color="black", lw=1.2)
        contours(ax, TRUTH, colors="0.35", linestyles="dashed", linewidths=1.0)
        contours(ax, params, colors="#c0392b", linestyles="solid", linewidths=1.3)
        ax.plot(*flat(TRUTH["mean_direction"]), "+", color="0.2", ms=12, mew=1.8, label="true centre and oval")
        ax.plot(*flat(params.mean_direction), "o", color="#c0392b", ms=6, label="estimate")
        ax.set_title(f"{title}: κ = {params.concentration:.1f}, β = {params.ovalness:.1f} (10, 3)", fontsize=11, pad=10)
        ax.set(aspect="equal", xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), xticks=[], yticks=[])
        ax.set_frame_on(False)
    ellipse = fit.mean_direction_ellipse()
    axes[1].plot(*flat(np.vstack([ellipse, ellipse[:1]])), color="#c0392b", lw=1.2, label="its 95 % ellipse")
    fig.legend(*axes[1].get_legend_handles_labels(), loc="lower center", ncols=5, fontsize=9, frameon=False)
    fig.subplots_adjust(left=0.01, right=0.99, bottom=0.08, top=0.91, wspace=0.04)
    fig.savefig(Path(__file__).with_name("kent.png"), dpi=110)


if __name__ == "__main__":
    main()
