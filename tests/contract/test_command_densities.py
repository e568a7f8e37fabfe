"""The command with mixtures, backgrounds, heavy tails, covariates, robust fits and expectations outside the border."""

import json
import warnings

import numpy as np
import pytest

import tmsm
from tmsm.cli import main
from tmsm.data.point_files import read_points
from tmsm.manifolds.frames import EARTH

CAP = tmsm.Cap(tmsm.lonlat_to_xyz(0.0, 50.0), np.radians(25.0))
REGION = ["--region", "cap:0,50,25"]
MIXTURE = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
CENTRES = tmsm.lonlat_to_xyz([-10.0, 45.0], [45.0, 52.0])  # the second is outside
TRUTH = {"shares": [0.6, 0.4], "mean_direction": CENTRES, "concentration": [80.0, 60.0]}


def write(path, X, **columns):
    lon, lat = tmsm.xyz_to_lonlat(X)
    rows = zip(lon, lat, *columns.values(), strict=True)
    lines = [",".join(str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([",".join(["lon", "lat", *columns]), *lines]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("densities")
    write(place / "mixture.csv", MIXTURE.sample(1500, CAP, random_state=0, **TRUTH))
    background = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=True)
    one = {"shares": [0.7], "mean_direction": CENTRES[:1], "concentration": [80.0]}
    write(place / "background.csv", background.sample(1500, CAP, random_state=1, **one))
    rng = np.random.default_rng(2)
    year = rng.integers(1980, 2020, 600)
    turned = tmsm.lonlat_to_xyz(-10.0 + 0.5 * (year - 1980.0), np.full(600, 47.0))
    family = tmsm.VonMisesFisher()
    X = np.vstack([family.sample(1, CAP, random_state=rng, mean_direction=mu, concentration=30.0) for mu in turned])
    write(place / "years.csv", X, Year=year, depth=rng.normal(size=600))
    cells = [*map(str, year[:-3]), "", "", "later"]
    write(place / "blanks.csv", X, year=cells)
    bad = family.sample(30, CAP, random_state=3, mean_direction=tmsm.lonlat_to_xyz(60.0, 70.0), concentration=200.0)
    good = family.sample(570, CAP, random_state=4, mean_direction=CENTRES[0], concentration=80.0)
    write(place / "outliers.csv", np.vstack([good, bad]))
    return place


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """Runs the command in this process: its exit, what it printed, and what it said."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main(arguments)
        printed = capsys.readouterr()
        return done.value.code, printed.out, printed.err

    return run


def found(command, *arguments):
    code, out, err = command(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_mixture_has_its_centres_and_shares(command):
    fit = found(command, "fit", "mixture.csv", *REGION, "--model", "mixture:2")
    assert fit["title"].startswith("TruncatedMLE: Mixture")
    first, second = fit["components"]
    for one, truth, share in ((first, CENTRES[0], 0.6), (second, CENTRES[1], 0.4)):
        away = np.arccos(np.clip(np.dot(one["centre"], truth), -1.0, 1.0))
        assert away < 4.0 * one["centre_std_error"]
        assert abs(one["share"] - share) < 4.0 * one["share_std_error"]
    assert (first["inside"], second["inside"]) == (True, False)
    assert second["share_of_rows"] < 0.6 * second["share"]  # most of it lies outside
    np.testing.assert_allclose(first["longitude_latitude"], np.ravel(tmsm.xyz_to_lonlat(np.array(first["centre"]))))
    assert first["share_of_rows"] + second["share_of_rows"] == pytest.approx(1.0)


def test_the_table_is_grouped_and_the_method_decides(command):
    code, out, _ = command("fit", "mixture.csv", *REGION, "--model", "mixture:2", "--method", "score")
    assert code == 0
    assert out.startswith("ScoreMatching: Mixture(component=VonMisesFisher, n_components=2)")
    rows = [line.split("  ")[0] for line in out.splitlines()]
    assert rows.index("component 1") < rows.index("component 2")
    plain = " ".join(out.split())
    assert "The centre of component 2 lies outside the region" in plain
    assert "The centre of component 1 lies outside" not in plain


def test_a_background_makes_a_mixture_of_one(command):
    fit = found(command, "fit", "background.csv", *REGION, "--model", "vmf", "--background")
    assert [one["component"] for one in fit["components"]] == [1, "background"]
    share = fit["components"][1]
    assert abs(share["share"] - 0.3) < 4.0 * share["share_std_error"]


def test_a_background_that_is_not_there_is_said_so(command):
    code, out, _ = command("fit", "mixture.csv", *REGION, "--model", "mixture:2", "--background")
    told = " ".join(out.split())
    assert code == 0
    assert "background share 0 at its limit of the rows seen 0 " in told
    assert "The background share is zero, at the end of its range" in told


def test_a_background_may_be_a_map(command, folder):
    """Nine times as dense in the west as in the east: taken for uniform, its share would be wrong."""
    head = "ncols 60\nnrows 30\nxllcorner -60\nyllcorner 20\ncellsize 2\nNODATA_value -9999\n"
    (folder / "map.asc").write_text(head + ("9 " * 30 + "1 " * 30 + "\n") * 30)
    given = tmsm.ExposureMap.from_file(folder / "map.asc")
    model = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=given)
    truth = {"shares": [0.5], "mean_direction": CENTRES[:1], "concentration": [80.0]}
    write(folder / "on_map.csv", model.sample(1500, CAP, random_state=5, **truth))
    options = ("fit", "on_map.csv", *REGION, "--model", "mixture:1")
    right = found(command, *options, "--background-map", "map.asc")["components"][1]
    wrong = found(command, *options, "--background")["components"][1]
    assert abs(right["share"] - 0.5) < 4.0 * right["share_std_error"]
    assert abs(wrong["share"] - 0.5) > 4.0 * wrong["share_std_error"]


def test_a_heavy_tail_with_known_degrees_of_freedom(command):
    known = ("--known", "degrees_of_freedom=5")
    fit = found(command, "fit", "outliers.csv", *REGION, "--model", "heavy-tailed", *known)
    assert fit["title"] == "TruncatedMLE: HeavyTailed(degrees_of_freedom=5.0)"
    assert fit["estimates"]["degrees_of_freedom"]["std_error"] == 0.0


def test_covariates_stay_with_their_rows(command, folder):
    options = (*REGION, "--covariate", "year", "--points-where", "depth > 0")
    fit = found(command, "fit", "years.csv", *options)
    table = read_points(folder / "years.csv", covariates=["year", "depth"])
    chosen = table.covariates["depth"] > 0.0
    own = tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP).fit(
        table.X[chosen], covariates={"year": table.covariates["year"][chosen]}
    )
    assert fit["n_samples"] == chosen.sum() < 600
    np.testing.assert_allclose(fit["covariates"]["coefficients"], own.coefficients_, rtol=1e-12)
    assert fit["covariates"]["columns"] == ["constant", "year"]
    tests = {one["question"]: one["wald"]["p_value"] for one in fit["covariates"]["tests"]}
    assert tests["centre"] < 1e-3
    (move,) = fit["covariates"]["centre_moves"]
    east, north = np.degrees(move["for_one_unit"]), np.degrees(move["std_errors"])
    assert abs(east[0] - 0.5 * np.cos(np.radians(47.0))) < 4.0 * north[0]
    assert abs(east[1]) < 4.0 * north[1]


def test_covariates_in_the_table(command):
    code, out, _ = command("fit", "years.csv", *REGION, "--covariate", "year", "--covariate", "depth")
    assert code == 0
    for words in (
        "θ1: year",
        "θ3: depth",
        "year: east",
        "The centre moves with year",
        "No move of the centre with depth",
    ):
        assert words in " ".join(out.split())


def test_a_saved_fit_with_covariates_is_shown_again(command, tmp_path):
    _, out, _ = command("fit", "years.csv", *REGION, "--covariate", "year", "--save", str(tmp_path / "fit.json"))
    assert command("show", str(tmp_path / "fit.json"))[:2] == (0, out)


def test_a_robust_fit_says_what_it_leaves_aside(command):
    fit = found(command, "fit", "outliers.csv", *REGION, "--robust", "0.5")
    assert fit["robust"]["power"] == 0.5
    assert 25 <= fit["robust"]["rows_with_nearly_no_weight"] <= 40
    _, out, _ = command("fit", "outliers.csv", *REGION, "--robust", "auto")
    plain = " ".join(out.split())
    assert "--robust auto took c = " in plain
    assert "the report shows which" in plain


def test_compare_shows_what_is_expected_outside(command):
    options = (*REGION, "--models", "vmf,mixture:2", "--extrapolate", "250,500")
    shown = found(command, "compare", "mixture.csv", *options)
    assert [fit["model"] for fit in shown["fits"]] == ["mixture:2", "vmf"]
    assert [fit["method"] for fit in shown["fits"]] == ["mle", "score"]
    assert shown["extrapolation"]["unit"] == "km"
    numbers = shown["fits"][0]["extrapolation"]
    assert list(numbers) == ["0–250 km", "250–500 km"]
    own = tmsm.TruncatedMLE(MIXTURE, CAP).fit(read_points("mixture.csv").X)
    expected = own.extrapolate(CAP.surroundings(250.0 / EARTH.unit.scale, 500.0 / EARTH.unit.scale))
    assert numbers["250–500 km"]["expected"] == pytest.approx(expected.value, rel=1e-4)
    assert numbers["250–500 km"]["std_error"] == pytest.approx(expected.std_error, rel=1e-2)
    assert "the range over all models that fit equally well" in shown["extrapolation"]["meaning"]


def test_compare_prints_two_tables_and_reports_them(command, tmp_path):
    sky = ("--sky", "icrs", "--columns", "lon,lat", "--report", str(tmp_path / "page.html"))
    code, out, _ = command("compare", "mixture.csv", *REGION, "--models", "vmf", "--extrapolate", "1,2.5", *sky)
    assert code == 0
    above, below = out.split("Points expected outside the border for each point seen")
    assert "criterion" in above
    assert "1–2.5°" not in above
    assert "1–2.5°" in below
    assert "compare several" in below
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Points expected outside the border for each point seen" in page
    assert "1–2.5°" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fit mixture.csv --model mixture:0", "must be mixture, mixture:NUMBER or mixture:NUMBER:COMPONENT"),
        ("fit mixture.csv --model mixture:2:cauchy", "components may be vmf and kent"),
        ("fit mixture.csv --model mixture:400", "1,500 rows cannot carry 400 components"),
        ("fit mixture.csv --model mixture:2 --known ovalness=2", "--known ovalness is not for the model mixture:2"),
        ("fit mixture.csv --model heavy-tailed --background", "A background is one of a mixture"),
        ("fit mixture.csv --model mixture:2 --background --background-map a.fits", "are two backgrounds"),
        ("fit mixture.csv --model mixture:2 --background --method naive", "which --method naive ignores"),
        ("fit mixture.csv --model mixture:2 --also lon:line", "is not for points with further columns"),
        ("fit mixture.csv --model mixture --method score", "use --method mle, or say it, as in --model mixture:2"),
        ("fit years.csv --covariate age", "years.csv has no column 'age' for the covariates; it has 'lon'"),
        ("fit years.csv --covariate lat", "'lat' is a coordinate of the points"),
        ("fit years.csv --covariate year --covariate YEAR", "--covariate has the column 'YEAR' twice"),
        ("fit years.csv --covariate year --model mixture:2", "as yet not for mixtures and heavy tails"),
        ("fit years.csv --covariate year --method naive", "does not take covariates: use --method score"),
        ("fit years.csv --covariate year --robust auto", "--robust is for fits without --covariate"),
        ("fit blanks.csv --covariate year", "3 of 600 points whose covariate 'year' is no number, such as 'later'"),
        ("fit mixture.csv --robust strong", "must be auto, or a number from 0 to 2"),
        ("fit mixture.csv --robust 0.3 --method mle", "--robust is for --method score, not for --method mle"),
        ("fit mixture.csv --robust 0.3 --model mixture:2", "--robust is for exponential families"),
        ("compare mixture.csv --extrapolate 500,250", "must be distances from the border that grow"),
        ("compare mixture.csv --models vmf --background", "--background is that of mixtures, and --models names none"),
        ("compare mixture.csv --models mixture:2 --known degrees_of_freedom=3", "is for none of the models mixture:2"),
    ],
)
def test_one_sentence_for_every_mistake(command, arguments, said):
    name, points, *options = arguments.split()
    code, out, err = command(name, points, *REGION, *options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_blanks_are_counted_and_can_be_left_out(command, folder):
    text = (folder / "blanks.csv").read_text().replace("later", "")
    (folder / "more.csv").write_text(text)
    _, _, err = command("fit", "more.csv", *REGION, "--covariate", "year")
    assert "3 of 600 points without a value of the covariate 'year' (lines 599, 600, 601)" in err
    assert "leave such points out with --bad skip" in err
    assert found(command, "fit", "more.csv", *REGION, "--covariate", "year", "--bad", "skip")["n_samples"] == 597


def test_where_no_model_fits_the_comparison_says_so(command):
    code, out, _ = command("compare", "mixture.csv", *REGION, "--models", "vmf,kent", "--report", "none.html")
    assert code == 0
    assert "rejects every model of this table (p below 0.01)" in " ".join(out.split())
    assert "rejects every model that it can test" in " ".join(
        command("compare", "mixture.csv", *REGION, "--models", "vmf", "--methods", "score,naive")[1].split()
    )
    code, out, _ = command("compare", "mixture.csv", *REGION, "--models", "vmf,mixture:2")
    assert code == 0
    assert "rejects every model" not in out


def test_a_report_says_what_was_left_out(command, folder):
    smaller = ["--region", "cap:0,50,10", "--outside", "drop"]
    code, _, said = command("fit", "mixture.csv", *smaller, "--report", "left-out.html")
    assert code == 0
    (note,) = [line for line in said.splitlines() if line.endswith("lie outside the border and were left out.")]
    assert note in (folder / "left-out.html").read_text()


def test_a_table_of_points_is_no_border(command):
    code, _, said = command("region", "mixture.csv")
    assert code == 2
    assert "A border has polygons, and this is a table with the columns 'lon', 'lat'." in said
    assert command("region", "USA")[0] == 0
