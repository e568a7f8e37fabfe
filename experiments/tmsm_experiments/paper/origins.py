"""Kernel density of the places where storms begin, on the sphere."""

import numpy as np

import tmsm

SHARES = (0.9, 0.5, 0.25)
_CONCENTRATIONS = np.geomspace(10.0, 1000.0, 41)


def log_kernel(cosine: np.ndarray, kappa: float) -> np.ndarray:
    """Log of the von Mises–Fisher density at an angle with this cosine."""
    return kappa * (cosine - 1.0) + np.log(kappa / (2.0 * np.pi)) - np.log1p(-np.exp(-2.0 * kappa))


def best_concentration(X: np.ndarray) -> float:
    """The kernel's concentration with the largest leave-one-out likelihood."""
    cosine = X @ X.T
    np.fill_diagonal(cosine, -np.inf)

    def likelihood(kappa):
        with np.errstate(divide="ignore"):
            return float(np.log(np.exp(log_kernel(cosine, kappa)).sum(axis=1)).sum())

    return float(max(_CONCENTRATIONS, key=likelihood))


def density_levels(X: np.ndarray, lon_range: tuple[float, float], lat_range: tuple[float, float]):
    """Longitudes, latitudes, density on their grid, and the levels that hold the shares of its mass, ascending."""
    lon, lat = np.linspace(*lon_range, 201), np.linspace(*lat_range, 121)
    grid_lon, grid_lat = np.meshgrid(lon, lat)
    nodes = tmsm.lonlat_to_xyz(grid_lon.ravel(), grid_lat.ravel())
    density = np.exp(log_kernel(nodes @ X.T, best_concentration(X))).mean(axis=1)
    order = np.argsort(density)[::-1]
    mass = np.cumsum((density * np.cos(np.radians(grid_lat.ravel())))[order])
    levels = [float(density[order][np.searchsorted(mass, share * mass[-1])]) for share in SHARES]
    return lon, lat, density.reshape(grid_lon.shape), levels
