"""Draw a border, the distance to it and its gradient."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tmsm


def main():
    region = tmsm.datasets.load_border("usa")
    lon, lat = np.meshgrid(np.linspace(-128, -64, 640), np.linspace(22, 52, 400))
    d, _ = region.border_distance(tmsm.lonlat_to_xyz(lon.ravel(), lat.ravel()))
    km = d.reshape(lon.shape) * 6371.0088

    figure, axes = plt.subplots(figsize=(9.2, 4.9), layout="constrained")
    levels = np.arange(-900, 901, 100)
    shades = axes.contourf(lon, lat, km, levels=levels, cmap="RdBu", norm=plt.Normalize(-1000, 1000), extend="both")
    axes.contour(lon, lat, km, levels=levels[levels > 0], colors="#1a365d", linewidths=0.4)
    region.plot(axes, lw=1.3)

    grid_lon, grid_lat = (g.ravel() for g in np.meshgrid(np.arange(-124, -66, 2.5), np.arange(25.5, 50, 2.0)))
    X = tmsm.lonlat_to_xyz(grid_lon, grid_lat)
    inside = region.contains(X)
    X, grid_lon, grid_lat = X[inside], grid_lon[inside], grid_lat[inside]
    _, gradient = region.border_distance(X)
    east = np.column_stack([-np.sin(np.radians(grid_lon)), np.cos(np.radians(grid_lon)), 0 * grid_lon])
    north = np.cross(X, east)
    # An arrow of one degree on the ground; a degree of longitude is shorter.
    u = (gradient * east).sum(axis=1) / np.cos(np.radians(grid_lat))
    v = (gradient * north).sum(axis=1)
    axes.quiver(grid_lon, grid_lat, u, v, angles="xy", scale_units="xy", scale=0.75, width=0.0016, color="black")
    axes.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)", xlim=(-128, -64), ylim=(22, 52))
    axes.set_aspect(1 / np.cos(np.radians(38)))
    figure.colorbar(
        shades,
        ax=axes,
        label="distance to the border (km), positive inside",
        shrink=0.85,
        ticks=np.arange(-900, 901, 300),
    )
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
