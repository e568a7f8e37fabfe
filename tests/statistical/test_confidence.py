"""Regions of an extrapolated centre cover; where the data determine no centre, everything says so."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tmsm
from tmsm import weights
from tmsm.inference.delta import critical_square
from tmsm.inference.discrepancy import QuadraticDiscrepancy, tangent_projection

MISES = tmsm.VonMisesFisher()


@pytest.mark.parametrize(
    ("region", "mean", "kappa"),
    [
        (tmsm.Cap([0.0, 0.0, 1.0], 0.5), tmsm.lonlat_to_xyz(0.0, 90.0 - np.degrees(0.5) - 60.0), 6.0),
        (tmsm.LonLatBox(-20.0, 0.0, 20.0, 1.0), tmsm.lonlat_to_xyz(5.0, 0.5), 10.0),
    ],
    ids=["cap, 60° off", "sliver"],
)
def test_regions_cover_where_ellipses_do_not(region, mean, kappa):
    from tmsm_experiments.coverage.simulate import _in_ellipse

    held, ellipse = [], []
    n_seeds = 300
    for seed in range(n_seeds):
        X = MISES.sample(100, region, random_state=seed, mean_direction=mean, concentration=kappa)
        fit = tmsm.ScoreMatching(MISES, region).fit(X)
        held.append(fit.covers(mean))
        ellipse.append(_in_ellipse(fit, "mean_direction", mean))
    error = np.sqrt(0.95 * 0.05 / n_seeds)
    assert 0.92 - 2 * error < np.mean(held) < 0.98 + 2 * error
    assert np.mean(ellipse) < 0.88  # the control


def test_a_flat_density_has_no_centre(tmp_path):
    def run(*words):
        command = [sys.executable, "-c", "from tmsm.cli import main; main()", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"}
        )

    region = "cap:-75,40,1"
    run("simulate", 300, "--region", region, "--mean=-75,40", "--concentration", 1, "--seed", 1, "--out", "f.csv")
    printed = run("fit", "f.csv", "--region", region, "--report", "f.html", "--save", "f.json", "--plot", "f.png")
    assert "The data do not determine a centre" in printed.stdout.splitlines()[0]
    facts = printed.stdout[printed.stdout.index("\nstatus") :].strip()
    assert facts.removeprefix("status").strip().startswith("The data do not determine a centre")
    assert "undetermined" in printed.stdout
    assert json.loads((tmp_path / "f.json").read_text())["determined"] is False
    page = (tmp_path / "f.html").read_text()
    assert "<strong>The data do not determine a centre.</strong>" in page
    assert "with a standard error of" not in page
    assert '"name":"ignoring the border: 95 % region"' in page
    assert page.count("95 % region") == 1  # none round a centre that is not there
    assert "50 and 90 %" not in page
    shown = run("show", "f.json").stdout
    assert "The data do not determine a centre" in shown


def test_a_density_that_rises_away_from_the_rows_has_no_centre_in_reach():
    region = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    truth = {"mean_direction": tmsm.lonlat_to_xyz(90.0, -84.0), "concentration": 2.0}
    X = MISES.sample(3000, region, random_state=0, **truth)
    fit = tmsm.ScoreMatching(MISES, region).fit(X)
    assert not fit.confidence_region().everywhere
    assert not fit.determined_
    assert "lowest among the rows" in fit.status_
    display = fit.plot()
    assert "centre not determined" in display.legend_.get_texts()[-1].get_text()
    # The control: the same rows' density from the other side.
    other = tmsm.ScoreMatching(MISES, ~region)
    Y = MISES.sample(3000, other.region, random_state=0, **truth)
    assert other.fit(Y).determined_


def test_the_status_says_where_few_rows_carry_an_estimate():
    """In a strip of 1° × 40° the paper's weight depends mostly on rows next to the short sides; it covers 80 %."""
    strip = tmsm.LonLatBox(-20.0, 0.0, 20.0, 1.0)
    truth = {"mean_direction": tmsm.lonlat_to_xyz(0.0, 0.5), "concentration": 10.0}
    said = {"geodesic": 0, "auto": 0}
    for seed in range(10):
        X = tmsm.VonMisesFisher().sample(300, strip, random_state=seed, **truth)
        for weight in said:
            fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), strip, weight).fit(X)
            said[weight] += "This estimate depends mostly on" in fit.status_
    assert said["geodesic"] >= 8
    assert said["auto"] == 0


def test_a_known_concentration_in_a_small_region_tells_little():
    """The error of θ̂ is larger than its known norm: regions once were a third of a degree, and missed the truth."""
    from tmsm_experiments.coverage.settings import KNOWN, Setting, make_region
    from tmsm_experiments.coverage.simulate import make_rows

    setting = Setting("vMF", "small cap", "30° off", 100, kind=KNOWN)
    region = make_region(setting.region)
    fits = [
        setting.estimator(region).fit(make_rows(setting, region, np.random.default_rng(seed))[0]) for seed in range(60)
    ]
    assert np.mean([fit.covers(setting.truth["mean_direction"]) for fit in fits]) >= 0.92
    lost = next(fit for fit in fits if not fit.determined_ and fit.confidence_region().everywhere)
    assert "known concentration" not in lost.status_
    # The control: a metric that takes the curvature of the known norm for information.
    truth = setting.truth["concentration"] * setting.truth["mean_direction"]
    hits = 0
    for fit in fits:
        one, tangent = fit.result_, fit.result_.model.constraint.tangent(fit.result_.theta)
        projection = tangent_projection(one.slope, tangent)
        wrong = QuadraticDiscrepancy.of(one.theta, fit.covariance_, tangent, projection)
        hits += wrong(truth)[0] <= critical_square(2, 0.95, one.error_df)
    assert hits <= 0.8 * len(fits)


def test_the_status_says_where_a_test_or_an_error_is_in_doubt():
    from tmsm_experiments.coverage.settings import Setting, make_region
    from tmsm_experiments.coverage.simulate import make_rows

    said = {}
    for region, centre in (("sliver", "10° off"), ("polygon", "60° off"), ("polygon", "inside")):
        setting = Setting("vMF", region, centre, 3000 if region == "polygon" else 1000)
        inside = make_region(region)
        weight = {}
        if centre == "60° off":  # fields along the border, from a scalar weight, hang on the rows in one corner
            weight = {"weight": weights.Combined(base=weights.Saturating())}
        fits = [
            setting.estimator(inside)
            .set_params(**weight)
            .fit(make_rows(setting, inside, np.random.default_rng([seed, setting.n]))[0])
            for seed in range(8)
        ]
        said[region, centre] = [fit.status_ for fit in fits]
        if region == "sliver":
            rejected = [fit.goodness_of_fit_.p_value < 0.05 for fit in fits]
            assert any(rejected)
            assert ["thin strip" in status for status in said[region, centre]] == rejected
    assert (
        sum(
            "for which several weights were combined, depends mostly" in status for status in said["polygon", "60° off"]
        )
        >= 6
    )
    assert not any("depends mostly on" in status for status in said["polygon", "inside"])
