"""Frames and readings: the same direction as people write it, and lengths and azimuths against their definitions."""

import numpy as np
import pytest

import tmsm
from tmsm.manifolds.frames import EARTH, FRAMES, GALACTIC, ICRS, ICRS_TO_GALACTIC, PLAIN, frame_named
from tmsm.models.readings import azimuth_reading, turned_east

SAGITTARIUS = tmsm.lonlat_to_xyz(266.417, -29.008)


@pytest.mark.parametrize(
    ("frame", "place", "length", "longitude", "latitude"),
    [
        (EARTH, "29.0° S, 93.6° W", "1,910 km", "93.5°W", "29°S"),
        (ICRS, "RA 266.4°, Dec −29.0°", "17.2°", "266.5°", "−29°"),
        (GALACTIC, "l 266.4°, b −29.0°", "17.2°", "266.5°", "−29°"),
        (PLAIN, "lon −93.6°, lat −29.0°", "17.2°", "−93.5°", "−29°"),
    ],
    ids=FRAMES,
)
def test_a_direction_in_words(frame, place, length, longitude, latitude):
    assert frame.place(SAGITTARIUS) == place
    assert frame.length(0.3) == length
    assert frame.longitude_text(-93.5) == frame.longitude_text(266.5) == longitude
    assert frame.latitude_text(-29.0) == latitude
    assert frame_named(frame.name) is frame


def test_digits_follow_the_error_and_longitudes_the_frame():
    assert ICRS.place(SAGITTARIUS, np.radians(0.002)) == "RA 266.4170°, Dec −29.0080°"
    assert ICRS.place(tmsm.lonlat_to_xyz(-0.001, 0.0)) == "RA 0.0°, Dec 0.0°"
    lon, _ = ICRS.lonlat(tmsm.lonlat_to_xyz([-90.0, 0.0, 90.0, 180.0], 0.0))
    np.testing.assert_allclose(lon, [270.0, 0.0, 90.0, 180.0])
    assert [PLAIN.longitude_text(lon) for lon in (180.0, -180.0, 0.0)] == ["180°", "180°", "0°"]
    assert [EARTH.longitude_text(lon) for lon in (180.0, -170.0, 190.0)] == ["180°", "170°W", "170°W"]
    assert EARTH.lengths([0.1, 0.05]) == "637 × 319 km"
    with pytest.raises(ValueError, match=r"frame='mars' is not an option. Choose one of \['plain', 'earth'"):
        frame_named("mars")


def test_the_galactic_frame_is_that_of_astropy():
    from astropy.coordinates import SkyCoord

    rng = np.random.default_rng(0)
    ra, dec = rng.uniform(0, 360, 200), np.degrees(np.arcsin(rng.uniform(-1, 1, 200)))
    there = SkyCoord(ra, dec, unit="deg").galactic
    expected = tmsm.lonlat_to_xyz(there.l.deg, there.b.deg)
    np.testing.assert_allclose(tmsm.lonlat_to_xyz(ra, dec) @ ICRS_TO_GALACTIC.T, expected, atol=1e-13)


def test_an_azimuth_is_the_way_that_an_axis_leads():
    rng = np.random.default_rng(1)
    for mean in tmsm.Sphere(2).uniform(20, rng):
        axis = np.cross(mean, rng.standard_normal(3))
        axis = turned_east(mean, axis / np.linalg.norm(axis))
        reading = azimuth_reading("major_axis", mean, axis)
        assert 0.0 <= reading.value < np.pi
        # The initial course of the great circle to a point along the axis, by spherical trigonometry.
        (lon, lat), (lon2, lat2) = (np.radians(tmsm.xyz_to_lonlat(x)) for x in (mean, mean + 1e-6 * axis))
        course = np.arctan2(
            np.sin(lon2 - lon) * np.cos(lat2),
            np.cos(lat) * np.sin(lat2) - np.sin(lat) * np.cos(lat2) * np.cos(lon2 - lon),
        )
        assert reading.value == pytest.approx(np.remainder(course, np.pi), abs=1e-5)
        # Another sign of the axis is the same axis.
        np.testing.assert_allclose(turned_east(mean, -axis), axis)
        assert azimuth_reading("major_axis", mean, -axis).value == pytest.approx(reading.value)
    assert azimuth_reading("major_axis", np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])) is None
    np.testing.assert_allclose(turned_east(np.array([0.0, 0.0, -1.0]), np.array([-1.0, 0.0, 0.0])), [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("model", "truth", "names"),
    [
        (tmsm.VonMisesFisher(), {"mean_direction": [0.6, 0.0, 0.8], "concentration": 900.0}, ["spread (1σ)"]),
        (
            tmsm.Kent(),
            {"mean_direction": [0.6, 0, 0.8], "major_axis": [0.8, 0, -0.6], "concentration": 2500.0, "ovalness": 800.0},
            ["major (1σ)", "minor (1σ)"],
        ),
        (tmsm.Watson(), {"axis": [0.6, 0.0, 0.8], "concentration": 400.0}, ["from the axis (1σ)"]),
        (tmsm.Watson(), {"axis": [0.6, 0.0, 0.8], "concentration": -400.0}, ["from the circle (1σ)"]),
    ],
    ids=["vmf", "kent", "watson", "girdle"],
)
def test_one_sigma_is_the_spread_of_a_concentrated_density(model, truth, names):
    fit = tmsm.NaiveMLE(model).fit(model.sample(4000, random_state=0, **truth)).result_
    lengths = [one for one in model.on(fit.region.manifold).readings(fit.params) if one.kind == "length"]
    assert [one.name for one in lengths] == names
    X = fit.kept.sample().X
    mean = np.asarray(fit.params[fit.centre.name])
    if names == ["from the circle (1σ)"]:
        expected = [np.std(np.arcsin(X @ mean))]
    elif "major (1σ)" in names:
        expected = [np.std(np.arcsin(X @ fit.params[axis])) for axis in ("major_axis", "minor_axis")]
    else:
        expected = [np.sqrt(np.mean(np.arccos(np.minimum(np.abs(X @ mean), 1.0)) ** 2) / 2.0)]
    np.testing.assert_allclose([one.value for one in lengths], expected, rtol=0.03)


def test_errors_of_readings_are_those_of_resamples():
    model, region = tmsm.Kent(), tmsm.Cap([-1.0, 0.0, 0.0], 1.4)
    truth = {"mean_direction": [-0.6, -0.8, 0], "major_axis": [0, 0, 1.0], "concentration": 30.0, "ovalness": 8.0}
    X = model.sample(1500, region, random_state=2, **truth)
    fit = tmsm.NaiveMLE(model).fit(X)
    again = fit.bootstrap(X, 200, random_state=0).params
    readings = {one.name: one for one in fit.result_.model.readings(fit.params_)}

    def spread(name, values):
        assert fit.result_.reading_error(readings[name]) == pytest.approx(np.std(values), rel=0.25)

    spread("major (1σ)", 1.0 / np.sqrt(again.concentration - 2.0 * again.ovalness))
    spread("minor (1σ)", 1.0 / np.sqrt(again.concentration + 2.0 * again.ovalness))
    turn = [azimuth_reading("a", m, a).value for m, a in zip(again.mean_direction, again.major_axis, strict=True)]
    spread("azimuth", 0.5 * np.angle(np.exp(2j * (np.array(turn) - readings["azimuth"].value))))


def test_the_table_has_lengths_in_the_unit_of_the_frame():
    X = tmsm.VonMisesFisher().sample(500, random_state=0, mean_direction=[0.6, 0.0, 0.8], concentration=100.0)
    fit = tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(X).result_
    from tmsm.display.summary import estimate_rows

    def table(frame):
        return {row[0].strip(): row[1:] for row in estimate_rows(fit.in_frame(frame))}

    sigma = 1.0 / np.sqrt(fit.params.concentration)
    assert table(EARTH)["spread (1σ)"][0] == f"{6371.0088 * sigma:.0f} km"
    assert table(ICRS)["spread (1σ)"][0] == f"{np.degrees(sigma):.3g}°"
    assert table(EARTH)["lon, lat"][1].endswith(" km")
    assert table(ICRS)["RA, Dec"][1].endswith("°")
    low, high = (1.0 / np.sqrt(end) for end in reversed(fit.intervals(0.95, None).concentration))
    assert table(ICRS)["spread (1σ)"][2] == f"{np.degrees(low):.3g}° to {np.degrees(high):.3g}°"


def test_shares_are_never_all_or_nothing():
    from tmsm.foundation.text import readable_share

    words = {1.0: "> 99 %", 0.995: "> 99 %", 0.99: "99 %", 0.4: "40 %", 0.0: "< 1 %"}
    assert {share: readable_share(share) for share in words} == words


def test_points_of_one_frame_are_not_shown_as_those_of_another():
    from astropy.coordinates import SkyCoord

    clusters = tmsm.datasets.load_globular_clusters()
    sky = SkyCoord(clusters.right_ascension, clusters.declination, unit="deg")
    fit = tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(sky)
    assert fit.result_.frame is ICRS
    with pytest.raises(
        ValueError, match=r"points are of the sky \(ICRS\), and cannot be shown as those of the sky \(gal"
    ):
        fit.plot(frame="galactic")
    # Of bare arrays anything may be said, and nothing of any.
    assert fit.result_.in_frame(PLAIN).frame is PLAIN
    assert tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(clusters.X).result_.in_frame(GALACTIC).frame is GALACTIC


def test_small_regions_have_the_digits_that_their_errors_leave():
    from tmsm.display.summary import estimate_rows
    from tmsm.manifolds.frames import readable_length

    truth = {"mean_direction": tmsm.lonlat_to_xyz(10.0, 50.0), "concentration": 3e8}
    X = tmsm.VonMisesFisher().sample(600, random_state=0, **truth)
    fit = tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(X).result_
    rows = {row[0].strip(): row for row in estimate_rows(fit.in_frame(EARTH))}
    lon, lat = fit.frame.lonlat(fit.params.mean_direction)
    assert rows["lon, lat"][1] == f"({lon:.5f}°, {lat:.5f}°)"  # 0.0002 degrees
    assert [readable_length(x) for x in (0.0000934, 0.0, 1234.5, 99.96, 12.34)] == [
        "0.0000934",
        "0",
        "1,230",
        "100",
        "12.3",
    ]
