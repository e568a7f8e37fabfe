"""The command with columns beside the place: circles, lines, and their bounds."""

import json

import numpy as np
import pytest

import tmsm
from tests.contract.test_command import good, run
from tmsm.cli.factors import read_factors

MODEL = tmsm.VonMisesFisher() * tmsm.VonMisesFisher() * tmsm.MultivariateNormal()
ALSO = ["--also", "month:circle:12", "--also", "mag:line"]
BOUNDS = ["--within", "month > 9.5 and month < 4.5", "--within", "mag > 4.5"]


def angle(month):
    return 2.0 * np.pi * month / 12.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Winter storms above a magnitude, in a cap: as text with months from 0 to 12 and from 1 to 13, and as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = tmp_path_factory.mktemp("data")
    middle = angle(1.0)
    arc = tmsm.Cap([np.cos(middle), np.sin(middle)], angle(3.5))
    region = tmsm.Cap(tmsm.lonlat_to_xyz(-90.0, 35.0), 0.3) * arc * tmsm.Box([4.5], [np.inf])
    X = MODEL.sample(
        800, region, random_state=0, mean_direction_1=tmsm.lonlat_to_xyz(-85.0, 33.0), concentration_1=20.0,
        mean_direction_2=[np.cos(angle(2.0)), np.sin(angle(2.0))], concentration_2=2.0, mean=[4.7], covariance=[[0.5]],
    )  # fmt: skip
    lon, lat = tmsm.xyz_to_lonlat(X[:, :3])
    month = np.remainder(np.arctan2(X[:, 4], X[:, 3]) / angle(1.0), 12.0)
    for name, shift in (("points.csv", 0.0), ("later.csv", 12.0)):
        rows = zip(lon, lat, month + shift * (month < 1.0), X[:, 5], strict=True)
        lines = [",".join(map(repr, map(float, row))) + ",a" for row in rows]
        (place / name).write_text("\n".join(["lon,lat,month,Mag,kind", *lines]))
    columns = {"lon": lon, "lat": lat, "month": month, "mag": X[:, 5]}
    pq.write_table(pa.table(columns), place / "points.parquet")
    return place


def fitted(folder, name, *options):
    region = ["--region", "cap:-90,35,17.188733853924695"]
    return json.loads(good("fit", name, *region, *ALSO, *BOUNDS, *options, "--json", cwd=folder).stdout)["estimates"]


def test_a_product_finds_the_truth_in_any_format(folder):
    found = fitted(folder, "points.csv", "--model", "product")
    assert list(found) == [
        "mean_direction_1", "concentration_1", "mean_direction_2", "concentration_2", "mean", "covariance",
    ]  # fmt: skip
    for name, truth in (("concentration_1", 20.0), ("concentration_2", 2.0), ("mean", 4.7), ("covariance", 0.5)):
        assert abs(np.ravel(found[name]["estimate"])[0] - truth) < 3.5 * np.ravel(found[name]["std_error"])[0]
    mean = np.arctan2(*found["mean_direction_2"]["estimate"][::-1]) / angle(1.0)
    assert mean == pytest.approx(2.0, abs=3.5 * found["mean_direction_2"]["std_error"] / angle(1.0))
    for other in ("later.csv", "points.parquet"):
        assert fitted(folder, other)["mean"]["estimate"] == pytest.approx(found["mean"]["estimate"], rel=1e-9)


def test_negative_control_the_threshold_matters(folder):
    region = ["--region", "cap:-90,35,17.188733853924695"]
    done = good("fit", "points.csv", *region, "--also", "mag:line", "--json", cwd=folder)
    mean = json.loads(done.stdout)["estimates"]["mean"]
    assert mean["estimate"][0] - 4.7 > 5 * mean["std_error"][0]


def test_tables_notes_and_saved_fits(folder):
    region = ["--region", "cap:-90,35,17.188733853924695"]
    done = good("fit", "points.csv", *region, *ALSO, *BOUNDS, "--model", "kent", "--save", "fit.json", cwd=folder)
    assert "lon, lat" in done.stdout
    assert "km" in done.stdout
    assert "Mean direction 2 and concentration 2 are those of month, whose mean is" in done.stderr
    assert "Mean and covariance are those of mag." in done.stderr
    assert good("show", "fit.json", cwd=folder).stdout == done.stdout
    drawn = run("show", "fit.json", "--plot", "map.png", cwd=folder)
    assert drawn.returncode == 2
    assert "There is no picture of a fit on Product" in drawn.stderr


def test_an_interaction(folder):
    region = ["--region", "cap:-90,35,17.188733853924695"]
    options = [*region, "--also", "mag:line", "--within", "mag > 5", "--outside", "drop", "--interaction"]
    done = good("fit", "points.csv", *options, cwd=folder)
    assert "interaction[2, 1]" in done.stdout
    assert "of 800 points lie outside the border or the bounds of other columns" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "product"], "name them with --also"),
        (["--also", "depth:line"], "no column 'depth' for the numbers beside the place"),
        (["--also", "kind:line"], "line 2: 'a' in the column 'kind' is no number"),
        (["--also", "mag:line", "--within", "mag > 50"], "None of the 800 points of points.csv has mag > 50"),
        (["--also", "mag:line", "--within", "mag > 5"], "Leave them out with --outside drop"),
        (["--also", "mag:line", "--plot", "map.png"], "--plot is not for points with further columns"),
        (["--also", "mag:line", "--model", "kent", "--interaction"], "restricts its parameters"),
        (["--interaction"], "name them with --also"),
    ],
)
def test_one_sentence_for_what_is_wrong(folder, options, words):
    done = run("fit", "points.csv", "--region", "cap:-90,35,17.188733853924695", *options, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("also", "within", "words"),
    [
        (["month:circle"], [], "needs the period"),
        (["month:circle:-3"], [], "must be a positive number"),
        (["month:wheel:3"], [], "COLUMN:circle:PERIOD"),
        (["mag:line:3"], [], "which a line has not"),
        (["mag:line", "Mag:line"], [], "twice"),
        (["mag:line"], ["depth > 3"], "which --also does not name"),
        (["mag:line"], ["mag > 5 or mag < 2"], "must be bounds of columns alone"),
        (["mag:line"], ["mag > 5 and mag > 2"], "two lower ends"),
        (["mag:line"], ["7 > mag and mag > 8"], "leaves nothing of 'mag'"),
        (["month:circle:12"], ["month > 3"], "both ends of 'month'"),
    ],
)
def test_one_sentence_for_what_cannot_be_read(also, within, words):
    with pytest.raises(ValueError, match=words):
        read_factors(also, within)


def test_an_error_names_the_column(folder):
    rng = np.random.default_rng(0)
    place = tmsm.LonLatBox(-100.0, 30.0, -80.0, 40.0)
    X = tmsm.VonMisesFisher().sample(
        4000, place, random_state=0, mean_direction=tmsm.lonlat_to_xyz(-85.0, 33.0), concentration=30.0
    )
    rows = np.column_stack([*tmsm.xyz_to_lonlat(X), 4.5 + rng.exponential(0.4, 4000)])
    np.savetxt(folder / "exponential.csv", rows, delimiter=",", header="lon,lat,size", comments="")
    done = run(
        "fit", "exponential.csv", "--region", "box:-100,30,-80,40", "--also", "size:line", "--within", "size > 4.5",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("tmsm: The column size: The estimated precision matrix is not positive definite")
