"""The report: one file, safe, true to the fit, and alive in a real browser."""

import json
import re
import shutil
import time

import numpy as np
import pytest

import tmsm
from tmsm.display.plots.marks import Mark
from tmsm.display.report import html_report
from tmsm.display.report.globe import MAX_POINTS
from tmsm.display.report.words import findings
from tmsm.manifolds.frames import EARTH

MODEL = tmsm.VonMisesFisher()
BORDER = tmsm.datasets.load_border("usa", "110m")
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(-78.0, 30.0), "concentration": 60.0}
HOSTILE = '"><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">${x} </script>'


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(3000, BORDER, random_state=0, **TRUTH)


@pytest.fixture(scope="module")
def both(X):
    return {"the fit": tmsm.ScoreMatching(MODEL, BORDER).fit(X), "ignoring the border": tmsm.NaiveMLE(MODEL).fit(X)}


def payload(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL)[1])


def test_the_page_says_what_the_fit_found(both):
    page = html_report(both, title="Storms", made_by={"command": "tmsm fit a.csv", "tmsm": "1"}, frame="earth")
    fit = both["the fit"]
    assert "<title>Storms</title>" in page
    assert f"{fit.params_.concentration:.4g}" in page
    assert "The fit: score matching, von Mises–Fisher (a round cluster)" in page
    assert "The centre lies" in page
    assert "tmsm fit a.csv" in page
    data = payload(page)
    names = [trace["name"] for trace in data["globe"]["traces"]]
    assert names[:3] == ["land", "points", "border"]
    assert "the fit: centre" in names
    centre = next(trace for trace in data["globe"]["traces"] if trace["name"] == "the fit: centre")
    lon, lat = tmsm.xyz_to_lonlat(fit.params_.mean_direction)
    assert (centre["lon"][0], centre["lat"][0]) == (pytest.approx(lon, abs=1e-3), pytest.approx(lat, abs=1e-3))
    assert data["globe"]["layout"]["geo"]["visible"] is False
    assert len(data["panels"]) == 2


def test_no_address_is_asked_for(both):
    page = html_report(both, title="t")
    without_script = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "http" not in without_script.replace("http-equiv", "")
    assert "default-src 'none'" in page


def test_what_comes_from_outside_is_escaped(both):
    page = html_report({HOSTILE: both["the fit"]}, title=HOSTILE, made_by={HOSTILE: HOSTILE})
    assert "<script>window.hacked" not in page
    assert "<img src=x" not in page
    assert payload(page)["globe"]["traces"][-1]["name"] == f"{HOSTILE}: centre"


def test_many_points_are_thinned_and_it_says_so():
    many = MODEL.sample(100_000, BORDER, random_state=1, **TRUTH)
    page = html_report({"the fit": tmsm.ScoreMatching(MODEL, BORDER, "saturating").fit(many)}, title="t")
    points = next(trace for trace in payload(page)["globe"]["traces"] if trace["name"] == "points")
    assert 0.7 * MAX_POINTS < len(points["lon"]) <= MAX_POINTS
    assert f"{len(points['lon']):,} of 100,000 points are drawn" in page


def test_findings_are_in_plain_words(X, both):
    def texts(fits):
        shown = {label: fit.result_.in_frame(EARTH) for label, fit in fits.items()}
        return {finding.text: finding.kind for finding in findings(shown, [Mark("truth", truth[None, :])])}

    truth = TRUTH["mean_direction"]

    found = texts(both)
    fit = both["the fit"]
    depth = -6371.0088 * float(BORDER.border_distance(fit.params_.mean_direction[None, :])[0][0])
    outside = f"The centre lies {EARTH.length(depth / 6371.0088)} outside the region that was observed"
    assert EARTH.length(depth / 6371.0088) == f"{depth:,.0f} km"
    away = EARTH.length(float(tmsm.Sphere(2).geodesic_distance(fit.params_.mean_direction, truth)[0]))
    assert f"truth: {away} from the centre, inside its 95 % confidence region." in found
    assert found[f"{outside}: it is extrapolated, and depends on the shape of the model."] == "warning"
    assert any(text.startswith("The points do not contradict the model") for text in found)
    assert any(text.startswith("Ignoring the border: the centre would lie") for text in found)
    # A wrong model is called one.
    kent = tmsm.Kent().sample(
        2000, tmsm.Hemisphere([-1.0, 0.0, 0.0]), random_state=0, mean_direction=[0, -1, 0], major_axis=[0, 0, 1],
        concentration=10.0, ovalness=4.0,
    )  # fmt: skip
    wrong = tmsm.ScoreMatching(MODEL, tmsm.Hemisphere([-1.0, 0.0, 0.0])).fit(kent)
    assert any(text.startswith("The points contradict the model") for text in texts({"a": wrong}))
    grouped = tmsm.ScoreMatching(MODEL, BORDER).fit(X[:90], groups=np.arange(90) // 2)
    found = texts({"a": grouped})
    assert any(text.startswith("The points belong to 45 groups") for text in found)
    assert any(text.startswith("90 points are few") for text in found)


def test_small_regions_are_drawn_as_exactly_as_large_ones():
    centre = tmsm.lonlat_to_xyz(-4.0, 40.0)
    for region in (tmsm.Cap(centre, np.radians(0.5)), tmsm.Cap(centre, 0.01) & tmsm.LonLatBox(-5, 39, -3, 41)):
        rows = MODEL.sample(800, region, random_state=0, mean_direction=centre, concentration=50_000.0)
        fit = tmsm.ScoreMatching(MODEL, region, "saturating").fit(rows)
        data = payload(html_report({"park": fit}, title="t"))
        traces = {trace["name"]: trace for trace in data["globe"]["traces"]}
        for name, function, tolerance in (
            ("border", lambda Y, region=region: region.signed_distance(np.asfortranarray(Y))[0], 2e-5),
            ("50 and 90 % of the fitted mass", None, 0.02),
        ):
            lon, lat = (np.array([v for v in traces[name][k] if v is not None]) for k in ("lon", "lat"))
            assert lon.size > 100
            Y = tmsm.lonlat_to_xyz(lon, lat)
            if function is not None:
                assert np.abs(function(Y)).max() < tolerance
            else:  # circles that hold half and nine tenths of a von Mises–Fisher density
                angle = np.linalg.norm(Y - fit.params_.mean_direction, axis=1)
                kappa = fit.params_.concentration
                wanted = np.sqrt(2.0 * np.log([2.0, 10.0]) / kappa)
                off = np.abs(angle[:, None] / wanted - 1.0).min(axis=1)
                assert off.max() < tolerance
        assert data["globe"]["layout"]["geo"]["projection"]["scale"] > 50
        assert "40.0" in html_report({"park": fit}, title="t")


def test_caps_and_models_without_a_mean():
    cap = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    rows = tmsm.Watson().sample(500, cap, random_state=0, axis=[0.6, 0.0, 0.8], concentration=5.0)
    page = html_report({"axes": tmsm.ScoreMatching(tmsm.Watson(), cap).fit(rows)}, title="t")
    border = next(trace for trace in payload(page)["globe"]["traces"] if trace["name"] == "border")
    lon, lat = (np.array([v for v in border[k] if v is not None]) for k in ("lon", "lat"))
    assert np.abs(tmsm.lonlat_to_xyz(lon, lat)[:, 0]).max() < 0.01  # the circle x₁ = 0
    box, normal = tmsm.Box([0.0, 0.0], [1.0, 1.0]), tmsm.MultivariateNormal(np.eye(2))
    flat = tmsm.ScoreMatching(normal, box).fit(normal.sample(99, box, random_state=0, mean=[0, 0]))
    with pytest.raises(ValueError, match="it is for points on S²"):
        html_report({"flat": flat}, title="t")


def traces_of(page):
    return {trace["name"]: trace for trace in payload(page)["globe"]["traces"]}


def test_the_frame_decides_on_land_units_and_the_side_of_east(both):
    plain = html_report(both, title="t")
    assert "land" not in traces_of(plain)
    assert "The centre lies at <strong>lon −" in plain
    earth, sky = (html_report(both, title="t", frame=name) for name in ("earth", "icrs"))
    assert "land" in traces_of(earth)
    assert "distance to the border (km)" in earth
    assert "land" not in traces_of(sky)
    assert "distance to the border (degrees)" in sky
    # Plotly has no mirror: longitudes are drawn with the other sign, and told as they are.
    centre = both["the fit"].params_.mean_direction
    lon, lat = (float(angle) for angle in tmsm.xyz_to_lonlat(centre))
    drawn = traces_of(sky)["the fit: centre"]
    np.testing.assert_allclose([drawn["lon"][0], drawn["lat"][0]], [-lon, lat], atol=1e-3)
    said = re.fullmatch(r"RA ([\d.]+)°, Dec ([\d.]+)°", drawn["customdata"][0])
    np.testing.assert_allclose([float(said[1]), float(said[2])], [lon + 360.0, lat], atol=1e-2)
    projection = payload(sky)["globe"]["layout"]["geo"]["projection"]["rotation"]
    other = payload(earth)["globe"]["layout"]["geo"]["projection"]["rotation"]
    assert projection["lon"] == pytest.approx(-other["lon"])
    assert payload(sky)["globe"]["view"]["frame"] == "icrs"


def test_marks_are_drawn_and_have_room(both):
    truth, hidden = TRUTH["mean_direction"], tmsm.lonlat_to_xyz(np.array([-75.0, -20.0]), np.array([30.0, 33.0]))
    page = html_report(both, title="t", frame="earth", marks={"truth": truth, "hidden </script>": hidden})
    found = traces_of(page)
    np.testing.assert_allclose([found["truth"]["lon"][0], found["truth"]["lat"][0]], [-78.0, 30.0], atol=1e-3)
    assert found["truth"]["marker"]["symbol"] == "star"
    assert len(found["hidden </script>"]["lon"]) == 2
    near = payload(html_report(both, title="t"))["globe"]["view"]
    wide = payload(html_report(both, title="t", marks={"far": tmsm.lonlat_to_xyz(-30.0, 0.0)}))["globe"]["view"]
    assert wide["across"] > 1.2 * near["across"]
    with pytest.raises(ValueError, match="The mark 'truth' is not on the sphere"):
        html_report(both, title="t", marks={"truth": [2.0, 0.0, 0.0]})


def test_the_globe_opens_on_the_whole_border_and_stays_small():
    """A border beside the rows is in the picture; one far beyond them says that it goes on; land is cut to both."""
    for region, kappa, name in (
        (tmsm.LonLatBox(11.45, 48.05, 11.72, 48.23), 1.5e6, "border"),
        (tmsm.Cap(tmsm.lonlat_to_xyz(11.5, 48.1), 0.5), 1.5e6, "border (zoom out to see it)"),
    ):
        where = {"mean_direction": tmsm.lonlat_to_xyz(11.55, 48.12), "concentration": kappa}
        fit = tmsm.ScoreMatching(MODEL, region, "saturating").fit(MODEL.sample(300, region, random_state=0, **where))
        data = payload(html_report({"city": fit}, title="t", frame="earth"))["globe"]
        traces = {trace["name"]: trace for trace in data["traces"]}
        assert name in traces
        assert len(json.dumps(traces["land"])) < 300_000
        turn = data["layout"]["geo"]["projection"]["rotation"]
        front = tmsm.lonlat_to_xyz(turn["lon"], turn["lat"])
        lon, lat = (np.array([v for v in traces[name][k] if v is not None]) for k in ("lon", "lat"))
        off = np.linalg.norm(tmsm.lonlat_to_xyz(lon, lat) - front, axis=1)
        reach = np.hypot(data["view"]["across"], data["view"]["up"])
        assert (off < reach).all() if name == "border" else (off > reach).all()
        assert reach < 0.01


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium that tells what it logs and asks for."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("there is no Chromium with its driver on this machine")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory, both):
    path = tmp_path_factory.mktemp("report") / "report.html"
    fits = {f"the fit {HOSTILE}": both["the fit"], "ignoring the border": both["ignoring the border"]}
    marks = {"truth": TRUTH["mean_direction"]}
    path.write_text(
        html_report(fits, title=f"Storms {HOSTILE}", made_by={"command": HOSTILE}, frame="earth", marks=marks)
    )
    return path


def becomes_true(browser, condition):
    """Whether a condition holds in the end: the page, which answers when it has done its work, is asked many times."""
    for _ in range(1000):
        if browser.execute_script(condition):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_in_a_real_browser(browser, page_file, width):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    # No window of this browser is narrower than 500 pixels: a page is, on a telephone.
    screen = {"width": width, "height": 1200, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get_log("performance")
    browser.get(page_file.as_uri())
    assert browser.execute_script("return window.innerWidth") == width
    assert becomes_true(browser, "return document.body.dataset.drawn === 'yes'")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {page_file.as_uri()}
    assert browser.execute_script("return window.hacked") is None
    # Nothing is wider than the window.
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    # The points are drawn, and dragging turns the globe.
    globe = browser.find_element(By.ID, "globe")
    assert browser.execute_script("return document.querySelectorAll('#globe .scattergeo path.point').length") > 1000
    rotation = "document.getElementById('globe')._fullLayout.geo._subplot.projection.rotate()"
    browser.execute_script(f"window.before = {rotation}")
    chain = ActionChains(browser).move_to_element_with_offset(globe, -60, -60)
    chain.click_and_hold().move_by_offset(50, 30).move_by_offset(20, 10).release().perform()
    assert becomes_true(browser, f"return {rotation}.some((angle, k) => Math.abs(angle - window.before[k]) > 1)")
    # A scale bar and labels of the graticule stand over it, none upon another, and follow the zoom.
    shown = "return [...document.querySelectorAll('#over text')].map((text) => text.textContent)"
    assert becomes_true(browser, "return document.querySelectorAll('#over text').length > 4")
    first = browser.execute_script(shown)
    assert any(re.fullmatch(r"[\d,]+ km", text) for text in first)
    assert sum(bool(re.fullmatch(r"\d+°[NSWE]?", text)) for text in first) >= 4
    assert browser.execute_script(_OVERLAPS) == 0
    browser.execute_script("Plotly.relayout('globe', {'geo.projection.scale': 200})")
    assert becomes_true(browser, f"{shown}.some((text) => ['2 km', '5 km', '10 km', '20 km'].includes(text))")
    # The legend is a list that fits and hides what is clicked.
    assert browser.execute_script("return document.getElementById('legend').scrollWidth <= window.innerWidth")
    browser.execute_script(
        "[...document.querySelectorAll('#legend button')].find((b) => b.textContent === 'points').click()"
    )
    assert becomes_true(browser, "return document.querySelectorAll('#globe .scattergeo path.point').length < 10")


_OVERLAPS = """
const boxes = [...document.querySelectorAll('#over text')].map((text) => text.getBoundingClientRect());
let count = 0;
boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
  if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) count += 1;
}));
return count;
"""
