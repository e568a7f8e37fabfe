"""Tables, maps and reports of mixtures, covariates and robust fits, true to the fit."""

import json
import re
from html import unescape

import matplotlib as mpl
import numpy as np
import pytest

import tmsm
from tmsm.display.plots.diagnostics import histograms
from tmsm.inference.centre_moves import centre_moves, centre_paths
from tmsm.inference.centres import centres_of, ellipse_of, row_shares
from tmsm.inference.delta import direction_ellipse

mpl.use("Agg")
import matplotlib.pyplot as plt

CAP = tmsm.Cap(tmsm.lonlat_to_xyz(0.0, 50.0), np.radians(25.0))
MODEL = tmsm.Mixture(tmsm.VonMisesFisher(), 2, background=True)
CENTRES = tmsm.lonlat_to_xyz([-10.0, 40.0], [45.0, 52.0])
FAMILY = tmsm.VonMisesFisher()


@pytest.fixture(scope="module")
def mixture():
    truth = {"shares": [0.5, 0.3], "mean_direction": CENTRES, "concentration": [90.0, 60.0]}
    X = MODEL.sample(1500, CAP, random_state=0, **truth)
    return tmsm.TruncatedMLE(MODEL, CAP).fit(X)


@pytest.fixture(scope="module")
def turning():
    """A centre that goes east with a year, and does nothing with a second covariate."""
    rng = np.random.default_rng(1)
    year = rng.uniform(1980.0, 2020.0, 500)
    means = tmsm.lonlat_to_xyz(-10.0 + 0.5 * (year - 1980.0), np.full(500, 47.0))
    X = np.vstack([FAMILY.sample(1, CAP, random_state=rng, mean_direction=mu, concentration=30.0) for mu in means])
    return tmsm.ScoreMatching(FAMILY, CAP).fit(X, covariates={"year": year, "depth": rng.normal(size=500)})


@pytest.fixture(scope="module")
def robust():
    good = FAMILY.sample(570, CAP, random_state=4, mean_direction=CENTRES[0], concentration=80.0)
    far = tmsm.lonlat_to_xyz(60.0, 70.0)
    bad = FAMILY.sample(30, CAP, random_state=3, mean_direction=far, concentration=200.0)
    return tmsm.ScoreMatching(FAMILY, CAP, robust=0.5).fit(np.vstack([good, bad]))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def labels(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def page_of(fit, path):
    fit.report(path, frame="plain", beside={})
    page = path.read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
    found = re.findall(r'\{"globe":.*\}', page) if data is None else [data.group(1)]
    return unescape(page.split("const data")[0]), json.loads(found[0].rstrip(";"))


def test_every_centre_has_its_ellipse_and_share(mixture):
    fit = mixture.result_
    centres = centres_of(fit)
    np.testing.assert_allclose([one.point for one in centres], mixture.params_.mean_direction)
    for one in centres:
        ring = direction_ellipse(fit.model, fit.theta, fit.covariance, one.field, 0.95)
        ellipse = ellipse_of(fit, one, 0.95)
        np.testing.assert_allclose(ellipse.ring, ring, atol=1e-12)
        inner, outer = (one.point + share * (ring - one.point) for share in (0.98, 1.02))
        assert ellipse.contains(inner / np.linalg.norm(inner, axis=1)[:, None]).all()
        assert not ellipse.contains(outer / np.linalg.norm(outer, axis=1)[:, None]).any()
    seen = row_shares(fit)
    assert seen.sum() == pytest.approx(1.0)
    assert abs(seen[2] - 0.2 / (0.2 + 0.8 * 0.55)) < 0.2  # the background is all seen, of the clusters about half


def test_a_map_shows_all_centres(mixture):
    display = mixture.plot(land=False)
    shares = mixture.params_.shares
    wanted = [f"TruncatedMLE: component {k + 1} ({100 * shares[k]:.0f} %), 95 % region" for k in range(2)]
    assert [label for label in labels(display) if "component" in label] == wanted
    assert "50, 90 % of the fitted mass without the background" in labels(display)
    drawn = [line.get_xydata() for line in display.ax_.get_lines() if line.get_markersize() == 13]
    np.testing.assert_allclose(np.vstack(drawn), display.view_.forward(mixture.params_.mean_direction))
    assert [text.get_text() for text in display.ax_.texts if text.get_text() in ("1", "2")] == ["1", "2"]


def test_rows_in_the_colours_of_their_components(mixture):
    display = mixture.plot(by_component=True, density=False, land=False)
    rows = [label for label in labels(display) if label.startswith("rows, ")]
    numbers = [int(re.search(r"\(([\d,]+)\)", label).group(1).replace(",", "")) for label in rows]
    posterior = mixture.result_.model.posterior_at(mixture.result_.kept.sample().X, mixture.result_.theta)
    assert numbers == np.bincount(posterior.argmax(axis=1), minlength=3).tolist()
    assert rows[-1].startswith("rows, background")


def test_diagnostics_of_a_mixture_agree_with_its_rows(mixture):
    border, centre = histograms(mixture.result_)
    assert centre.title.startswith("distance to the nearest centre")
    for panel in (border, centre):
        assert panel.expected.sum() == pytest.approx(1500.0, rel=1e-9)
        assert (np.abs(panel.observed - panel.expected) <= 2.0 * panel.error + 1.0).all()


def test_geojson_has_every_centre_and_region(mixture):
    features = mixture.to_geojson()["features"]
    roles = [(one["properties"]["role"], one["properties"].get("component")) for one in features]
    assert roles[:4] == [("centre", 1), ("confidence region", 1), ("centre", 2), ("confidence region", 2)]
    lon, lat = tmsm.xyz_to_lonlat(mixture.params_.mean_direction)
    np.testing.assert_allclose(features[2]["geometry"]["coordinates"], [lon[1], lat[1]])
    assert features[2]["properties"]["share"] == pytest.approx(mixture.params_.shares[1])
    ring = np.array(features[1]["geometry"]["coordinates"][0])
    assert np.abs(ring - [lon[0], lat[0]]).max() < 5.0


def test_tables_of_a_mixture(mixture):
    frame = mixture.to_frame()
    assert {"shares_1", "mean_direction_2", "concentration_2", "background_share"} <= set(frame["parameter"])
    rows = [row[0] for row in mixture.estimate_rows()]
    assert rows[1] == "component 1"
    assert rows[2:4] == ["  share", "    of the rows seen"]
    assert rows[-2:] == ["background share", "  of the rows seen"]
    assert "component 2" in mixture._repr_html_()


def test_the_report_of_a_mixture(mixture, tmp_path):
    page, data = page_of(mixture, tmp_path / "page.html")
    assert "The centres lie at" in page
    assert "a mixture of 2 von Mises–Fisher components on a uniform background" in page
    assert "The centre of component 1 lies inside the region that was observed" in page
    names = [trace["name"] for trace in data["globe"]["traces"]]
    for k in (1, 2):
        assert f"the fit, component {k}: centre" in names
        assert f"the fit, component {k}: 95 % region" in names


def test_the_centre_moves_as_it_is_predicted(turning):
    paths = centre_paths(turning.result_)
    assert [path.covariate for path in paths] == ["year", "depth"]
    year = turning.result_.regression.standard.center
    ends = [[paths[0].values[0], year[1]], [paths[0].values[-1], year[1]]]
    np.testing.assert_allclose(paths[0].points[[0, -1]], turning.predict_params(ends).mean_direction, atol=1e-12)
    step = 1e-3
    near = [[year[0] + step, year[1]], [year[0] - step, year[1]]]
    ahead, behind = turning.predict_params(near).mean_direction
    move = centre_moves(turning.result_)[0]
    assert move.axes == ("east", "north")
    assert np.linalg.norm(move.velocity) == pytest.approx(np.linalg.norm(ahead - behind) / (2.0 * step), rel=1e-5)
    assert abs(np.degrees(move.velocity[0]) - 0.5 * np.cos(np.radians(47.0))) < 4.0 * np.degrees(move.std_errors[0])
    assert move.std_errors[0] > 0.0


def test_pictures_and_report_of_covariates(turning, tmp_path):
    display = turning.plot(land=False)
    low, high = (
        f"{end[0]:.4g}" for end in (turning.result_.regression.standard.low, turning.result_.regression.standard.high)
    )
    assert any(label.startswith(f"centre as year goes from {low} to {high}") for label in labels(display))
    page, data = page_of(turning, tmp_path / "page.html")
    assert "At the mean of the covariates the centre lies at" in page
    assert turning.covariate_tests_.of("year", "centre").sentence in page
    assert "How the centre moves" in page
    names = [trace["name"] for trace in data["globe"]["traces"]]
    assert any(name.startswith("centre as depth goes from") for name in names)
    for panel in histograms(turning.result_):  # draws follow the covariates of the rows
        assert (np.abs(panel.observed - panel.expected) <= 2.0 * panel.error + 1.0).all()


def test_rows_that_a_robust_fit_leaves_aside_are_marked(robust, tmp_path):
    count = int((robust.row_weights_ < 0.05).sum())
    assert 25 <= count <= 40
    assert f"rows with nearly no weight ({count})" in labels(robust.plot(land=False))
    page, data = page_of(robust, tmp_path / "page.html")
    assert f"{count} of 600 points have nearly no weight, because" in page
    (marked,) = (one for one in data["globe"]["traces"] if one["name"] == "points with nearly no weight")
    assert len(marked["lon"]) == count
