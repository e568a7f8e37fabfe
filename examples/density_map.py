"""A density map that respects the border.

No family is assumed. The logarithm of the density is a smooth function, fitted inside the border alone, and the
likelihood of held-out points chooses how smooth it is. The true density has two maxima, one of which continues
beyond the coast. An ordinary kernel density map would be too low next to the coast and would put mass into the sea.
The lines contain 50 and 90 % of the mass. The right panel shows the error: the factor by which the 95 % band extends
above and below the estimate.
"""

import sys

import numpy as np

import tmsm


def main(picture: str | None = None) -> None:
    border = tmsm.datasets.load_border("usa")
    clusters = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
    X = clusters.sample(
        5000,
        border,
        random_state=0,
        shares=[0.6, 0.4],
        mean_direction=tmsm.lonlat_to_xyz([-79.0, -112.0], [30.0, 41.0]),
        concentration=[60.0, 200.0],
    )
    density = tmsm.DensityMap(border).fit(X)
    print(density.summary())
    florida = tmsm.LonLatBox(-88.0, 24.0, -79.0, 31.0)
    share = density.share(florida)
    low, high = share.confidence_interval()
    print(f"{100 * share:.1f} % of the points are expected in Florida ({100 * low:.1f} to {100 * high:.1f} %)")
    print(f"and {100 * np.mean(florida.contains(X)):.1f} % of them are there.")

    if picture:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 2, figsize=(12.0, 4.0), layout="constrained")
        density.plot(axes[0], frame="earth", legend=False)
        density.plot(axes[1], what="error", frame="earth", legend=False)
        figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
