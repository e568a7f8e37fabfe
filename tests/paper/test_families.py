"""Other families on the storms: the pieces of the comparison, and what the page says of it."""

from pathlib import Path

import numpy as np
import pytest

import tmsm
from tmsm_experiments.paper import catalogues, families, instead
from tmsm_experiments.paper.results import Results

RECORDED = Results(Path(__file__).parents[2] / "docs" / "reproduction")


@pytest.fixture(scope="module")
def border():
    return tmsm.datasets.load_border("usa")


@pytest.fixture(scope="module")
def cyclones():
    return catalogues.catalogue("cyclones", None)


def recorded(name, family, catalogue="cyclones"):
    return next(r for r in RECORDED.read(name) if (r["family"], r["catalogue"]) == (family, catalogue))


def test_storms_are_left_out_as_wholes(cyclones, border):
    assert all(len(np.unique(cyclones.part[cyclones.group == storm])) == 1 for storm in range(cyclones.group.max() + 1))
    seen = cyclones.inside(border)
    assert len(seen.X) == len(seen.group) == len(seen.part) == border.contains(cyclones.X).sum() == 1264
    assert min(np.bincount(seen.part)) > 0.1 * len(seen.X)


def test_agencys_reports_are_grouped_by_their_numbers(tmp_path):
    rows = [f"{1_000_000 - k},{2015 + k % 6},35.0,{-90.0 - 0.001 * k},{k % 50 == 0:d}" for k in range(6000)]
    lines = ["EVENT_ID,YEAR,LATITUDE,LONGITUDE,FATALITIES", *rows]
    (tmp_path / "storm_events.csv").write_text("\n".join(lines))
    storms = ["AL012018,               ONE,      1,", "20180601, 0000,  , TS, 20.0N,  60.0W,  40, 1000" + ", -999" * 14]
    (tmp_path / "hurdat2.txt").write_text("\n".join(storms) + "\n")
    found = catalogues.catalogue("events", str(tmp_path))
    assert len(found.X) == 4000  # of 2017 to 2020
    assert np.bincount(found.group).tolist() == 4 * [catalogues.REPORTS_IN_A_ROW]
    assert set(found.part) == set(catalogues.YEARS)
    # In the order of the numbers, the last of which lie in the east.
    assert np.all(np.diff(tmsm.xyz_to_lonlat(found.X)[0]) > 0.0)
    deadly = catalogues.catalogue("fatal events", str(tmp_path))
    assert 0 < len(deadly.X) < 200
    assert set(deadly.group) <= set(found.group)


def test_the_east_coast():
    for lon, lat in ((-75.5, 35.25), (-81.4, 31.3), (-70.0, 41.9), (-67.0, 44.8)):
        assert catalogues.km_to_east_coast(tmsm.lonlat_to_xyz(lon, lat), "50m")[0] < 60.0
    far = tmsm.lonlat_to_xyz([-122.5, -94.0, -83.5], [37.8, 29.5, 42.0])  # the Pacific, the Gulf, Lake Erie
    assert catalogues.km_to_east_coast(far, "50m").min() > 600.0


def test_what_was_counted_outside(cyclones, border):
    found, inside = families.counted(border), border.contains(cyclones.X)
    away = -border.border_distance(cyclones.X)[0] * catalogues.EARTH_RADIUS_KM
    for low, high in families.RINGS:
        direct = np.sum(~inside & (away > low) & (away <= high)) / inside.sum()
        assert found[f"outside_{low}_{high}"] == pytest.approx(direct, abs=1e-12)
    # The error by drawing storms with replacement.
    rng, storms, ratios = np.random.default_rng(0), int(cyclones.group.max()) + 1, []
    parts = [
        np.bincount(cyclones.group, chosen, storms) for chosen in (~inside & (away > 0.0) & (away <= 250.0), inside)
    ]
    for _ in range(400):
        drawn = rng.integers(storms, size=storms)
        ratios.append(parts[0][drawn].sum() / parts[1][drawn].sum())
    assert found["error_0_250"] == pytest.approx(np.std(ratios), rel=0.15)


def test_the_error_of_a_mean_of_groups():
    values, group = np.random.default_rng(0).standard_normal((2, 3000)), np.arange(3000) // 30
    values[0] += 2.0 * np.random.default_rng(1).standard_normal(100)[group]
    sums = np.bincount(group, values[0])
    mean, error = families.mean_and_error(sums, 3000)
    assert mean == pytest.approx(values[0].mean())
    assert error == pytest.approx(np.std(sums / 30, ddof=1) / 10.0, rel=1e-9)


def test_rows_are_judged_by_fits_that_did_not_see_them(cyclones, border, monkeypatch):
    seen, fitted = cyclones.inside(border), []

    class Recorder:
        def fit(self, X, groups):
            fitted.append((len(X), set(groups)))
            return self

    def judge(fit, region, X):
        return np.full(len(X), float(fitted[-1][0]))

    monkeypatch.setattr(families, "estimator", lambda family, region: Recorder())
    monkeypatch.setattr(families, "_log_density", judge)
    found = families.held_out(families.TWO, border, seen)
    assert [groups for _, groups in fitted] == [set(seen.group[seen.part != k]) for k in range(catalogues.PARTS)]
    np.testing.assert_array_equal(found, len(seen.X) - np.bincount(seen.part)[seen.part])


def test_the_densest_place(border, cyclones):
    X = cyclones.inside(border).X
    fit = tmsm.TruncatedMLE(families.VMF, border).fit(X)
    lon, lat = families.densest_place(fit)
    assert (lon, lat) == pytest.approx(tuple(map(float, tmsm.xyz_to_lonlat(fit.params_.mean_direction))), abs=0.02)
    cloud = tmsm.TruncatedMLE(tmsm.Mixture(families.VMF, 1, background=True), border).fit(X)
    assert families.densest_place(cloud) == pytest.approx((lon, lat), abs=0.05)


@pytest.mark.parametrize("family", [families.PAPER, families.TWO])
def test_recorded_fits_are_those_of_the_code(family, monkeypatch):
    monkeypatch.setattr(families, "held_out", lambda name, border, seen: np.zeros(len(seen.X)))  # takes long
    cell = families.Cell("cyclones", family, catalogues.Files.of(None))
    (found,), row = cell.compute(), recorded("families", family)
    for name, value in found.items():
        if name not in ("catalogue", "family", "held_out_by_group", "files", "source"):
            assert float(value) == pytest.approx(float(row[name]), rel=0.02, nan_ok=True), name


def test_two_clusters_describe_left_out_storms_better_than_the_papers_fit(cyclones, border):
    seen = cyclones.inside(border)
    ours, paper = (families.held_out(family, border, seen) for family in (families.TWO, families.PAPER))
    row, sums = recorded("families", families.TWO), np.bincount(seen.group, ours - paper)
    mean, error = families.mean_and_error(sums[np.unique(seen.group)], len(seen.X))
    assert mean > 3.0 * error
    assert (mean, error) == pytest.approx((float(row["above_paper"]), float(row["above_paper_error"])), rel=0.02)


def test_what_the_page_says_of_the_cyclones():
    rows = RECORDED.read("families")
    assert instead.closest_outside(rows)["family"] == families.TWO
    fitting = [row["family"] for row in instead.families_that_fit(rows)]
    assert families.TWO in fitting
    assert not {families.PAPER, families.LIKELIHOOD, families.COUNTED} & set(fitting)
    inside, outside = instead.of_cyclones(rows)
    assert "find no background" in inside
    assert "is not the best outside" in outside
    counted = recorded("families", families.COUNTED)
    assert f"{float(counted['outside_0_250']):.2f}" in outside
    assert "It contains the count in every ring" in outside


def test_a_background_is_left_out_of_what_is_said_about_the_outside():
    rows = RECORDED.read("families")
    fitting = instead.families_that_fit(rows)
    assert families.TWO_BACKGROUND in [row["family"] for row in fitting]
    outside = instead.counted_outside(fitting)
    assert [row["family"] for row in outside] == [families.TWO, families.THREE]
    before = instead.of_cyclones(rows)[1]
    for row in rows:
        if row["family"] in families.BACKGROUNDS:
            row.update(outside_0_250="1.36", outside_250_500="1.18", outside_500_1000="2.41", low_0_250="1e-9")
    assert instead.of_cyclones(rows)[1] == before
    assert instead.closest_outside(rows)["family"] not in families.BACKGROUNDS


def test_the_union_of_intervals_is_that_of_the_families():
    rows = [recorded("families", name) for name in (families.TWO, families.THREE)]
    for k, (low, high) in enumerate(families.RINGS):
        lows, highs = ([float(row[f"{end}_{low}_{high}"]) for row in rows] for end in ("low", "high"))
        assert instead.union(rows)[k] == (min(lows), max(highs))
    counted = recorded("families", families.COUNTED)
    assert instead.rings_missed(recorded("families", families.KENT), counted) == ["0 to 250"]
    assert instead.rings_missed(recorded("families", families.PAPER), counted) == []


def test_other_numbers_give_other_sentences():
    rows = RECORDED.read("families")
    for row in rows:
        if row["family"] == families.TWO:
            row.update(stein_p="0.001", outside_500_1000="30.0")
        if row["family"] == families.ONE_BACKGROUND:
            row["background_share"] = "0.25"
    inside, _ = instead.of_cyclones(rows)
    assert families.TWO not in [row["family"] for row in instead.families_that_fit(rows)]
    assert "up to 25 %" in inside
    assert instead.closest_outside(rows)["family"] != families.TWO
    events = RECORDED.read("families_events")
    every, deadly = instead.of_events(events)
    assert "*three von Mises–Fisher* could not be fitted" in every
    assert "densest places of 4 of these 6 lie inside the country" in deadly
    assert "rejects every family" in every
    assert "do not say where the centre is" in deadly
    for row in events:
        if row["catalogue"] == "fatal events":
            row["stein_p"] = "0.001"
    assert "rejects every family" in instead.of_events(events)[1]


def test_distance_between_densest_places():
    places = [
        {"longitude": "0", "latitude": "0"},
        {"longitude": "90", "latitude": "0"},
        {"longitude": "0", "latitude": "9"},
    ]
    assert instead.spread_of_places(places) == pytest.approx(0.5 * np.pi * catalogues.EARTH_RADIUS_KM, rel=1e-6)
