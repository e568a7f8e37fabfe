"""Draw six regions of the sphere on a map of longitude and latitude, each under the code that makes it."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm


def regions():
    """Pairs of code and region."""
    pole = [0.0, 0.0, 1.0]
    here = tmsm.lonlat_to_xyz(-45.0, -15.0)
    polygon = tmsm.SphericalPolygon.from_geojson(
        {
            "type": "Polygon",
            "coordinates": [
                [[-75, -30], [-40, -55], [60, -45], [100, 20], [60, 60], [-30, 55], [-50, 10], [-75, -30]],
                [[0, -10], [50, -10], [40, 25], [5, 20], [0, -10]],
            ],
        }
    )
    both = tmsm.LonLatBox(-150.0, -50.0, 20.0, 50.0) | tmsm.Cap(pole, 1.0)
    return [
        ("Cap(here, 0.7)", tmsm.Cap(here, 0.7)),
        ("LonLatBox(120, -20, -120, 50)", tmsm.LonLatBox(120.0, -20.0, -120.0, 50.0)),
        ("SphericalPolygon, with a hole", polygon),
        ("HealpixMask(4, range(60, 130))", tmsm.HealpixMask(4, range(60, 130))),
        ("Cap(pole, 2.0) & ~Cap(here, 0.6)", tmsm.Cap(pole, 2.0) & ~tmsm.Cap(here, 0.6)),
        ("LonLatBox(…) | Cap(pole, 1.0)", both),
    ]


def main():
    lon, lat = np.meshgrid(np.linspace(-179.75, 179.75, 720), np.linspace(-89.75, 89.75, 360))
    X = tmsm.lonlat_to_xyz(lon.ravel(), lat.ravel())
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 3.9), sharex=True, sharey=True, layout="constrained")
    for ax, (code, region) in zip(axes.ravel(), regions(), strict=True):
        d = np.degrees(region.border_distance(X)[0]).reshape(lon.shape)
        ax.contourf(lon, lat, d, levels=[0.0, 180.0], colors=["#9ecae1"])
        ax.contour(lon, lat, d, levels=[0.0], colors="black", linewidths=1.1)
        ax.set_title(code, family="monospace", fontsize=9)
        ax.set(xticks=[-180, -90, 0, 90, 180], yticks=[-90, -45, 0, 45, 90], aspect=1.0)
        ax.tick_params(labelsize=8)
        ax.grid(color="0.85", linewidth=0.5)
    figure.supxlabel("longitude (degrees)", fontsize=9)
    figure.supylabel("latitude (degrees)", fontsize=9)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
