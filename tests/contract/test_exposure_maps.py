"""Maps of exposure: interpolation, gradients, files, frames, and what they are refused for."""

import pickle
import sys
import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import tmsm
from tests.sky_files import healpix_file, image_file
from tmsm.data.map_grids import RingGrid
from tmsm.data.named_tables import FramedPoints
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS, PLAIN
from tmsm.manifolds.lonlat import lonlat_of, point_at

SPHERE = tmsm.Sphere(2)
SLOPE = np.array([0.5, -0.3, 0.8])


def smooth(X):
    return np.exp(X @ SLOPE)


@lru_cache(maxsize=4)
def points(n=2000, seed=0):
    """All over the sphere, the poles and the antimeridian too."""
    edges = point_at(
        np.array([0.0, 0.0, 180.0, -180.0, 179.9999, 30.0]), np.array([90.0, -90.0, 0.0, 50.0, 10.0, 89.99])
    )
    return np.vstack([SPHERE.uniform(n, seed), edges])


def healpix(nside, function=smooth, **options):
    return tmsm.ExposureMap.from_healpix(function(RingGrid.healpix(nside).centres(np.arange(12 * nside**2))), **options)


def raster(lon, lat, function=smooth, **options):
    return tmsm.ExposureMap.from_raster(function(point_at(*np.meshgrid(lon, lat))), lon, lat, **options)


@pytest.mark.parametrize("nside", [1, 2, 16])
def test_a_healpix_map_is_interpolated_as_everybody_does(nside):
    from astropy import units
    from astropy_healpix import HEALPix

    grid = HEALPix(nside, order="ring")
    values = np.random.default_rng(0).uniform(0.5, 1.5, grid.npix)
    lon, lat = lonlat_of(points())
    known = grid.interpolate_bilinear_lonlat(np.remainder(lon, 360.0) * units.deg, lat * units.deg, values)
    found = tmsm.ExposureMap.from_healpix(values)
    np.testing.assert_allclose(found.log_values(points())[:-6], np.log(known)[:-6], atol=1e-12)
    # At centres it is the map, in either order.
    centres = point_at(*(part.to_value("deg") for part in grid.healpix_to_lonlat(np.arange(grid.npix))))
    np.testing.assert_allclose(np.exp(found.log_values(centres)), values, rtol=1e-12)
    assert tmsm.ExposureMap.from_healpix(values[grid.nested_to_ring(np.arange(grid.npix))], nest=True) == found


LON, LAT = np.arange(-178.0, 180.0, 4.0), np.arange(-88.0, 90.0, 4.0)


def made(name, folder):
    """A map of `smooth` of each kind, its spacing in radians, and points well inside."""
    everywhere = points()
    window = point_at(np.random.default_rng(1).uniform(30, 50, 500), np.random.default_rng(2).uniform(22, 38, 500))
    if name == "healpix":
        return healpix(16), 0.06, everywhere
    if name == "raster":
        return raster(LON, LAT), 0.07, everywhere
    if name == "raster from the north":
        return raster(LON[::-1], LAT[::-1]), 0.07, everywhere
    if name == "raster from 0 to 360":
        return raster(LON + 180.0, LAT), 0.07, everywhere
    if name == "window across the antimeridian":
        shifted = point_at(lonlat_of(window)[0] + 140.0, lonlat_of(window)[1])
        return raster(np.arange(165.0, 195.5, 1.0), np.arange(20.0, 40.5, 1.0)), 0.02, shifted
    if name == "with poles":
        return raster(np.arange(0.0, 361.0, 5.0), np.arange(-90.0, 91.0, 5.0)), 0.09, everywhere
    kinds = ("RA---", "DEC--") if name != "GAL" else ("GLON-", "GLAT-")
    options = {"projection": "TAN" if name == "GAL" else name, "kinds": kinds}
    if name == "CAR":
        options |= {"shape": (90, 180), "at": (0.0, 0.0), "step": 2.0}
        return tmsm.ExposureMap.from_file(image_file(folder / "map.fits", smooth, **options)), 0.035, everywhere
    if name == "AIT":
        options |= {"shape": (180, 360), "at": (40.0, 0.0), "step": 1.0}
    return tmsm.ExposureMap.from_file(image_file(folder / "map.fits", smooth, **options)), 0.018, window


KINDS = [
    "healpix", "raster", "raster from the north", "raster from 0 to 360", "window across the antimeridian",
    "with poles", "TAN", "SIN", "GAL", "CAR", "AIT",
]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_maps_are_near_what_they_are_maps_of_and_gradients_are_theirs(name, tmp_path):
    found, spacing, X = made(name, tmp_path)
    value, gradient = found(X)
    np.testing.assert_allclose(value, X @ SLOPE, atol=2.0 * spacing**2)
    np.testing.assert_array_equal(found.log_values(X), value)
    # The gradient belongs to the values, but next to the edges of cells.
    V = SPHERE.project_tangent(X, np.random.default_rng(3).standard_normal(X.shape))
    h = 1e-6
    ahead, back = (found.log_values(SPHERE.exponential(X, side * h * V)) for side in (1.0, -1.0))
    agree = np.abs((ahead - back) / (2.0 * h) - (gradient * V).sum(axis=1)) < 1e-6
    assert agree.mean() > 0.98
    np.testing.assert_allclose((gradient * X).sum(axis=1)[:-6], 0.0, atol=1e-8)
    true = SPHERE.project_tangent(X, np.broadcast_to(SLOPE, X.shape))
    assert np.quantile(np.linalg.norm(gradient - true, axis=1), 0.99) < 2.0 * spacing
    assert np.isfinite(gradient).all()
    # It is continuous: nowhere steeper than pixels are.
    assert np.abs(ahead - back).max() < 2.0 * h * 6.0
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    assert hash(copy) == hash(found)
    assert copy(X[:5])[0].tolist() == value[:5].tolist()


def test_orders_of_columns_and_rows_do_not_matter():
    maps = [raster(LON, LAT), raster(LON[::-1], LAT), raster(LON + 360.0, LAT[::-1])]
    assert maps[0] == maps[1]
    for other in maps[1:]:
        np.testing.assert_allclose(other.log_values(points()), maps[0].log_values(points()), atol=1e-12)
    assert maps[0] != raster(LON, LAT, frame="earth")
    assert repr(raster(LON, LAT, frame="icrs")).endswith("4,050 pixels>, frame='icrs')")


def test_the_reader_of_files_knows_blanks_and_frames(tmp_path):
    values = smooth(RingGrid.healpix(4).centres(np.arange(192)))
    values[[3, 4, 5]] = np.nan, -1.6375e30, 0.0
    found = tmsm.ExposureMap.from_file(healpix_file(tmp_path / "g.fits", values, coordsys="G", width=96, code="D"))
    assert found.frame == "galactic"
    assert np.flatnonzero(~(found.values > 0)).tolist() == [3, 4, 5]
    assert "3 of them blank" in repr(found)
    part = healpix_file(tmp_path / "p.fits", values[:3], pixels=np.array([8, 1, 2]), nside=4, code="D")
    explicit = tmsm.ExposureMap.from_file(part)
    np.testing.assert_array_equal(np.flatnonzero(explicit.values > 0), [1, 2, 8])
    assert explicit.values[8] == values[0]
    assert made("GAL", tmp_path)[0].frame == "galactic"
    assert made("TAN", tmp_path)[0].frame == "icrs"


def raster_file(path, values, crs="EPSG:4326", origin=(-10.0, 60.0, 0.5), driver="GTiff"):
    import rasterio

    west, north, step = origin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transform = rasterio.Affine(step, 0.0, west, 0.0, -step, north)
        shape = {"height": values.shape[-2], "width": values.shape[-1], "count": 1 if values.ndim == 2 else len(values)}
        options = {"driver": driver, "dtype": "float64", "crs": crs, "transform": transform, "nodata": -9999.0}
        with rasterio.open(path, "w", **shape, **options) as file:
            file.write(values[None] if values.ndim == 2 else values)
    return path


def test_rasters_of_the_earth(tmp_path):
    lon, lat = np.arange(-9.75, 10.0, 0.5), np.arange(59.75, 40.0, -0.5)
    values = smooth(point_at(*np.meshgrid(lon, lat)))
    values[3, 4] = -9999.0
    X = point_at(np.random.default_rng(0).uniform(-9, 9, 500), np.random.default_rng(1).uniform(41, 57, 500))
    found = tmsm.ExposureMap.from_file(raster_file(tmp_path / "map.tif", values))
    blank = values.copy()
    blank[3, 4] = np.nan
    assert found == tmsm.ExposureMap.from_raster(blank, lon, lat, frame="earth")
    np.testing.assert_allclose(found.log_values(X), X @ SLOPE, atol=1e-4)
    head = "ncols 40\nnrows 40\nxllcorner -10\nyllcorner 40\ncellsize 0.5\nNODATA_value -9999\n"
    (tmp_path / "map.asc").write_text(head + "\n".join(" ".join(f"{x:.12g}" for x in row) for row in values))
    text = tmsm.ExposureMap.from_file(tmp_path / "map.asc")
    np.testing.assert_allclose(text(X)[1], found(X)[1], atol=1e-4)  # read in single precision

    from rasterio.warp import transform

    column, row = np.meshgrid(np.arange(160) + 0.5, np.arange(140) + 0.5)
    place = transform("EPSG:3035", "OGC:CRS84", (2.5e6 + 25e3 * column).ravel(), (4.5e6 - 25e3 * row).ravel())
    values = smooth(point_at(*map(np.array, place))).reshape(140, 160)
    flat = tmsm.ExposureMap.from_file(raster_file(tmp_path / "eu.tif", values, "EPSG:3035", (2.5e6, 4.5e6, 25e3)))
    assert flat.frame == "earth"
    value, gradient = flat(X)
    np.testing.assert_allclose(value, X @ SLOPE, atol=1e-5)
    true = SPHERE.project_tangent(X, np.broadcast_to(SLOPE, X.shape))
    np.testing.assert_allclose(gradient, true, atol=5e-3)
    assert np.isnan(flat.log_values(-X)).all()


def test_blank_pixels_have_no_part_in_their_neighbours():
    """A survey's map is zero beyond its border: next to it the exposure is that of the pixels inside."""
    seen = tmsm.HealpixMask(16, np.arange(12 * 16**2) < 1400)
    values = np.where(np.arange(12 * 16**2) < 1400, 2.0, 0.0)
    values[2000:] = np.nan
    found = tmsm.ExposureMap.from_healpix(values)
    X = points(20_000)
    X = X[seen.contains(X)]
    value, gradient = found(X)
    np.testing.assert_allclose(value, np.log(2.0), atol=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    assert np.isnan(found.log_values(points(2000)[points(2000)[:, 2] < -0.3])).all()


def test_a_map_that_ends_before_the_region_is_refused():
    region = tmsm.Cap(tmsm.lonlat_to_xyz(0.0, 0.0), 0.5)
    X = tmsm.VonMisesFisher().sample(300, region, random_state=0, mean_direction=[1.0, 0, 0], concentration=20.0)
    lon, lat = np.arange(-40.0, 40.5), np.arange(-40.0, 10.5)
    short = raster(lon, lat)
    with pytest.raises(ValueError, match=r"The exposure map must be finite at every row; .* The map ends before"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, log_exposure=short).fit(X)
    north = np.degrees(np.arcsin(X[:, 2]))
    for estimator in (tmsm.ScoreMatching, tmsm.TruncatedMLE):
        with pytest.raises(
            ValueError, match=r"The exposure map has no value at \d+ of [\d,]+ points inside .*lat [12]"
        ):
            estimator(tmsm.VonMisesFisher(), region, log_exposure=short).fit(X[north < 9.0])


@pytest.mark.parametrize("bad", [0.0, np.nan])
@pytest.mark.parametrize("estimator", [tmsm.ScoreMatching, tmsm.TruncatedMLE])
def test_a_blank_pixel_inside_the_region_is_refused_with_its_place(bad, estimator):
    region = tmsm.Cap(tmsm.lonlat_to_xyz(20.0, 40.0), 0.5)
    X = tmsm.VonMisesFisher().sample(300, region, random_state=0, mean_direction=[0, 0, 1.0], concentration=5.0)
    values = smooth(point_at(*np.meshgrid(LON, LAT)))
    inside, beyond = (np.argmin(np.abs(LAT - 32.0)), np.argmin(np.abs(LON - 14.0))), (0, 0)
    values[inside] = values[beyond] = bad
    holed = tmsm.ExposureMap.from_raster(values, LON, LAT)
    with pytest.raises(
        ValueError, match=r"in 1 pixel whose centre lies inside the region \(such as lon 14\.0°, lat 32\.0°\)"
    ):
        estimator(tmsm.VonMisesFisher(), region, log_exposure=holed).fit(X)
    named = tmsm.ExposureMap.from_raster(values, LON, LAT, frame="icrs")
    with pytest.raises(ValueError, match=r"such as RA 14\.0°, Dec 32\.0°"):
        estimator(tmsm.VonMisesFisher(), region, log_exposure=named).fit(X)
    # What lies outside is nobody's business, and a hole that is cut out is outside.
    cut = region & ~tmsm.Cap(tmsm.lonlat_to_xyz(14.0, 32.0), 0.05)
    estimator(tmsm.VonMisesFisher(), cut, log_exposure=holed).fit(X[cut.contains(X)])


def test_on_centres_of_pixels_the_gradient_is_the_mean_of_both_sides():
    """Where points were rounded as the centres are, all of them lie on lines where the map bends."""
    lon, lat = np.arange(-180.0, 180.0), np.arange(-90.0, 91.0)
    found = raster(lon, lat)
    X = point_at(*(part.ravel() for part in np.meshgrid(np.arange(-150.0, 151.0, 30.0), np.arange(-60.0, 61.0, 15.0))))
    _, gradient = found(X)
    # Of exp(a·x) the mean of both sides is right to the second order in the step.
    np.testing.assert_allclose(gradient, SPHERE.project_tangent(X, np.tile(SLOPE, (len(X), 1))), atol=2e-4)
    region, model = tmsm.Cap([0.0, 0.0, 1.0], 1.2), tmsm.VonMisesFisher()
    rows = model.sample(2000, region, random_state=0, mean_direction=[0.0, 0.6, 0.8], concentration=3.0)
    rounded = point_at(*(np.round(part) for part in lonlat_of(rows)))
    rounded = rounded[region.contains(rounded)]
    with_map, exact = (
        tmsm.ScoreMatching(model, region, log_exposure=exposure).fit(rounded)
        for exposure in (found, lambda X: (X @ SLOPE, np.tile(SLOPE, (len(X), 1))))
    )
    away = np.abs(with_map.natural_params_ - exact.natural_params_)
    assert (away < 1e-2 * np.sqrt(np.diag(exact.covariance_))).all()


def test_tiny_pixels_have_slopes_as_large_ones():
    from tmsm.data.map_grids import ImageGrid, WcsProjection

    step = 0.03 / 3600.0  # degrees
    header = (
        "CTYPE1  = 'RA---TAN'\nCTYPE2  = 'DEC--TAN'\nCRPIX1  = 50.0\nCRPIX2  = 50.0\nCRVAL1  = 30.0\nCRVAL2  = 20.0\n"
        f"CDELT1  = {-step:.12E}\nCDELT2  = {step:.12E}\nCUNIT1  = 'deg'\nCUNIT2  = 'deg'"
    )
    grid = ImageGrid(100, 100, WcsProjection(header))
    centres = grid.centres(np.arange(10_000))
    across = np.degrees(SPHERE.logarithm(np.tile(centres[4949], (10_000, 1)), centres)) / step  # in pixels
    found = tmsm.ExposureMap(grid, np.exp(0.01 * across[:, 2]), None)
    _, gradient = found(centres[[3333, 6666]])
    np.testing.assert_allclose(
        np.linalg.norm(gradient, axis=1), 0.01 / np.radians(step) * np.cos(np.radians(20)), rtol=1e-3
    )


def test_an_old_equinox_is_not_taken_for_icrs(tmp_path):
    from astropy.io import fits

    path = image_file(tmp_path / "old.fits", smooth)
    with fits.open(path, mode="update") as file:
        for hdu in file:
            if "CTYPE1" in hdu.header:
                hdu.header["RADESYS"], hdu.header["EQUINOX"] = "FK5", 1950.0
    with pytest.raises(ValueError, match=r"old\.fits is in the coordinates RA FK5 of 1950\. Give it in ICRS"):
        tmsm.ExposureMap.from_file(path)


def test_frames_must_agree():
    region = tmsm.Cap([0, 0, 1.0], 1.0)
    X = tmsm.VonMisesFisher().sample(300, region, random_state=0, mean_direction=[0, 0, 1.0], concentration=5.0)

    def fit(frame, of_points):
        rows = FramedPoints(X, of_points)
        return tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, log_exposure=healpix(8, frame=frame)).fit(rows)

    fit("galactic", PLAIN)  # bare rows agree with everything
    fit("icrs", ICRS)
    fit(None, ICRS)
    with pytest.raises(
        ValueError,
        match=r"^The exposure map is in galactic coordinates and the points are in ICRS\. Give the points in galactic",
    ):
        fit("galactic", ICRS)
    with pytest.raises(ValueError, match=r"The exposure map is in ICRS and the points are on the Earth\."):
        fit("icrs", EARTH)
    mask = tmsm.HealpixMask(1, [0, 1, 2, 3], frame="icrs")
    with pytest.raises(ValueError, match="map has the frame 'galactic' and the region 'icrs'"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), mask, outside="drop", log_exposure=healpix(8, frame="galactic")).fit(
            X
        )


def test_maps_of_equal_value_are_one_exposure():
    region = tmsm.Cap([0, 0, 1.0], 1.0)
    X = tmsm.VonMisesFisher().sample(300, region, random_state=0, mean_direction=[0, 0, 1.0], concentration=5.0)
    fits = [
        tmsm.ScoreMatching(model, region, log_exposure=healpix(8)).fit(X)
        for model in (tmsm.VonMisesFisher(), tmsm.FisherBingham())
    ]
    assert len(tmsm.compare(fits)) == 2
    assert dict(fits[0].facts())["exposure"] == "a map (HEALPix, nside 8)"
    with pytest.raises(ValueError, match="The fits have different exposures"):
        tmsm.compare([fits[0], tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, log_exposure=healpix(4)).fit(X)])


def test_a_map_is_of_s2_only():
    region, X = tmsm.Cap([0, 0, 0, 1.0], 1.0), tmsm.Sphere(3).uniform(500, 0)
    with pytest.raises(ValueError, match=r"An exposure map is of the sphere S², and the points lie on Sphere\(dim=3\)"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, outside="drop", log_exposure=healpix(8)).fit(X)


BAD = {
    "negative": (lambda: tmsm.ExposureMap.from_healpix([-1.0] * 12), r"12 pixels it is not \(first: pixel 0, -1\)"),
    "infinite": (lambda: tmsm.ExposureMap.from_healpix([np.inf] * 12), "must be finite and not negative"),
    "blank": (lambda: tmsm.ExposureMap.from_healpix([np.nan] * 12), "zero or missing in all 12 pixels"),
    "length": (lambda: tmsm.ExposureMap.from_healpix(np.ones(13)), r"has 12 nside² values .* got shape \(13,\)"),
    "nest": (lambda: tmsm.ExposureMap.from_healpix(np.ones(108), nest=True), "power of two; got 3"),
    "frame": (lambda: tmsm.ExposureMap.from_healpix(np.ones(12), frame="fk5"), "frame='fk5' is not an option"),
    "shape": (lambda: tmsm.ExposureMap.from_raster(np.ones((3, 4)), [1, 2, 3], [1, 2, 3, 4]), r"\(n_lat, n_lon\)"),
    "steps": (lambda: tmsm.ExposureMap.from_raster(np.ones((2, 3)), [0, 1, 3], [0, 1]), "lon must be in equal steps"),
    "same": (lambda: tmsm.ExposureMap.from_raster(np.ones((2, 3)), [0, 1, 2], [5, 5]), "lat must be in equal steps"),
    "swapped": (
        lambda: tmsm.ExposureMap.from_raster(np.ones((360, 180)), np.arange(-89.5, 90), np.arange(-179.5, 180)),
        "lat must be degrees between −90 and 90",
    ),
    "turns": (
        lambda: tmsm.ExposureMap.from_raster(np.ones((1, 400)), np.arange(400.0), [0.0]),
        "more than a turn",
    ),
    "nan": (lambda: tmsm.ExposureMap.from_raster(np.ones((2, 2)), [0, np.nan], [0, 1]), "lon has entries that are no"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_maps_are_refused(name):
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_one_row_or_column_of_pixels_is_a_map():
    row = tmsm.ExposureMap.from_raster([[1.0, 3.0]], [10.0, 20.0], [0.0])
    np.testing.assert_allclose(np.exp(row.log_values(tmsm.lonlat_to_xyz([10, 15, 24], [0, 30, -40]))), [1, 2, 3])
    one = tmsm.ExposureMap.from_raster([[2.0]], [0.0], [0.0])
    assert np.exp(one.log_values(points())) == pytest.approx(2.0)
    assert one(np.empty((0, 3)))[1].shape == (0, 3)


def test_files_that_are_no_maps(tmp_path, monkeypatch):
    def refused(path, message):
        with pytest.raises(ValueError, match=message):
            tmsm.ExposureMap.from_file(path)

    (tmp_path / "x.csv").write_text("lon,lat\n1,2\n")
    refused(tmp_path / "x.csv", r"x\.csv is no map: it is neither FITS nor a raster that can be read")
    (tmp_path / "x.fits").write_bytes(b"SIMPLE  =  T")
    refused(tmp_path / "x.fits", r"x\.fits cannot be read as FITS")
    (tmp_path / "x.moc").write_text("3/1-4")
    refused(tmp_path / "x.moc", r"x\.moc is a coverage map \(MOC\), which tells what was observed")
    refused(tmp_path / "none.fits", "There is no file")
    refused(
        healpix_file(tmp_path / "log.fits", -np.ones(12)), r"log\.fits: The exposure must be finite and not negative"
    )
    refused(healpix_file(tmp_path / "E.fits", np.ones(12), coordsys="E"), "coordinate system 'E'")
    refused(raster_file(tmp_path / "three.tif", np.ones((3, 4, 4))), r"three\.tif has 3 bands")
    refused(
        raster_file(tmp_path / "no.tif", np.ones((4, 4)), None, (5e5, 4e6, 25.0)), "has no coordinate reference system"
    )

    from astropy.io import fits

    fits.PrimaryHDU(np.ones((4, 4))).writeto(tmp_path / "plain.fits")
    refused(tmp_path / "plain.fits", r"plain\.fits is no map of the sky: its image has no celestial coordinates")
    fits.PrimaryHDU().writeto(tmp_path / "bare.fits")
    refused(tmp_path / "bare.fits", r"bare\.fits is no map: it holds no image")
    image_file(tmp_path / "old.fits", smooth)
    fits.setval(tmp_path / "old.fits", "RADESYS", value="FK4")
    refused(tmp_path / "old.fits", r"old\.fits is in the coordinates RA FK4")
    image_file(tmp_path / "cube.fits", smooth)
    with fits.open(tmp_path / "cube.fits") as file:
        header, data = file[0].header, file[0].data
    fits.PrimaryHDU(data[None], header).writeto(tmp_path / "one.fits")
    assert tmsm.ExposureMap.from_file(tmp_path / "one.fits").values.size == data.size
    fits.PrimaryHDU(np.stack([data, data]), header).writeto(tmp_path / "two.fits")
    refused(tmp_path / "two.fits", "holds images in 2 planes")

    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(tmsm.errors.MissingDependencyError, match=r"needs rasterio: pip install 'tmsm\[geo\]'"):
        tmsm.ExposureMap.from_file(tmp_path / "three.tif")


def test_the_command_corrects_for_a_map(tmp_path, capsys):
    """`--exposure` for fit and compare; what is wrong with it in one line."""
    import json

    from tmsm.cli import main
    from tmsm.cli.inputs import read_exposure

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        return caught.value.code, *capsys.readouterr()

    rng, truth = np.random.default_rng(0), tmsm.lonlat_to_xyz(0.0, 48.0)
    region = tmsm.Cap(truth, np.radians(6.0))
    X = tmsm.VonMisesFisher().sample(6000, region, random_state=rng, mean_direction=truth, concentration=300.0)
    steep = 30.0 * X[:, 1]
    lon, lat = lonlat_of(X[rng.random(len(X)) < np.exp(steep - steep.max())])
    points = tmp_path / "points.csv"
    points.write_text("lon,lat\n" + "".join(f"{a:.9f},{b:.9f}\n" for a, b in zip(lon, lat, strict=True)))
    place = point_at(*np.meshgrid(np.arange(-9.75, 10.0, 0.5), np.arange(59.75, 40.0, -0.5)))
    path = raster_file(tmp_path / "seen.tif", np.exp(30.0 * place[..., 1]))
    given = (points, "--region", "cap:0,48,6", "--exposure", path)
    code, out, _ = run("fit", *given, "--json")
    assert code == 0
    answer = json.loads(out)
    center = answer["estimates"]["mean_direction"]
    assert "exposure" in dict(answer["facts"])
    east = np.degrees(np.arctan2(center["estimate"][1], center["estimate"][0]))
    assert abs(east) < 4.0 * np.degrees(center["std_error"]) < 3.0
    blind = json.loads(run("fit", *given[:3], "--json")[1])["estimates"]["mean_direction"]["estimate"]
    assert np.degrees(np.arctan2(blind[1], blind[0])) > 4.0
    code, out, _ = run("compare", *given, "--models", "vmf,watson")
    assert code == 0
    assert "vmf" in out
    for arguments, message in (
        (("--method", "naive"), "--exposure is not for --method naive"),
        (("--save", path), "would overwrite a file that is read"),
        (("--exposure", points), "points.csv is no map"),
        (("--exposure", healpix_file(tmp_path / "g.fits", np.ones(12), coordsys="G")), "Say --sky galactic"),
    ):
        code, _, error = run("fit", *given, *arguments)
        assert code == 2
        assert message in error
        assert error.count("\n") == 1
    assert read_exposure(tmp_path / "g.fits", GALACTIC).frame == "galactic"
    with pytest.raises(ValueError, match=r"seen\.tif is a map of the Earth, .* Leave out --sky"):
        read_exposure(path, ICRS)
    assert read_exposure(None, ICRS) is None


def test_what_is_expected_and_the_likelihood_know_of_the_exposure():
    from tmsm.display.plots.diagnostics import histograms

    region, model = tmsm.Cap([0.0, 0.0, 1.0], 1.4), tmsm.VonMisesFisher()
    X = model.sample(6000, region, random_state=3, mean_direction=[0.6, 0.0, 0.8], concentration=3.0)
    strong = np.array([2.5, 0.0, 0.0])
    seen = X[np.random.default_rng(0).random(len(X)) < np.exp(X @ strong - 2.5)]
    exposures = [raster(LON, LAT, lambda X, unit=unit: unit * np.exp(X @ strong)) for unit in (1.0, 1000.0)]
    fits = [tmsm.TruncatedMLE(model, region, log_exposure=exposure).fit(seen) for exposure in exposures]
    # Bars within the band, of twice the error; without the exposure they leave it.
    for panel in histograms(fits[0].result_):
        assert np.mean(np.abs(panel.observed - panel.expected) > panel.error + 2.0) < 0.1
    blind = histograms(replace(fits[0].result_, exposure=None))
    assert max(np.mean(np.abs(panel.observed - panel.expected) > panel.error + 2.0) for panel in blind) > 0.2
    # The unit of a map does not matter, and the density is that of what was seen: compare with plain sums over the cap.
    assert fits[1].log_likelihood_ == pytest.approx(fits[0].log_likelihood_, abs=1e-6)
    assert fits[0].log_likelihood_ == pytest.approx(fits[0].score(seen), abs=1e-9)
    nodes = SPHERE.uniform(400_000, 1)
    nodes = nodes[region.contains(nodes)]
    log_density = lambda Y: Y @ (fits[0].natural_params_ + strong)  # noqa: E731
    area = 2.0 * np.pi * (1.0 - np.cos(1.4))
    expected = log_density(seen).mean() - np.log(np.exp(log_density(nodes)).mean() * area)
    assert fits[0].log_likelihood_ == pytest.approx(expected, abs=0.01)
