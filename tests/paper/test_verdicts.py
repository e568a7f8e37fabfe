"""Verdicts follow the numbers: the recorded tables with something changed in them give another verdict."""

from pathlib import Path

import pytest

from tmsm_experiments.paper import claims, storm_verdicts, verdicts
from tmsm_experiments.paper.methods import DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED, TRUNCSM, TRUNCSM_OVAL
from tmsm_experiments.paper.results import Results

RECORDED = Results(Path(__file__).parents[2] / "docs" / "reproduction")
TABLES = ("accuracy", "illustration", "projection", "storm_events", "cyclones", "variants")
CLAIMS = (
    "falls", "low", "weight", "same", "close", "better", "flat", "covariance", "naive", "half", "manifolds",
    "curvature", "more", "middle", "south-east", "origins", "coast", "bulk", "family", "truth",
)  # fmt: skip
# Nothing here tests it.
UNTESTED = {"manifolds"}


def tables():
    return {name: RECORDED.read(name) for name in TABLES}


def verdicts_of(changed):
    class Changed(Results):
        def read(self, name):
            return changed[name]

    found = verdicts.verdicts(Changed(Path("changed")))
    assert len(found) == len(CLAIMS)
    return dict(zip(CLAIMS, (one.verdict for one in found), strict=True))


def scaled(table, column, factor, **which):
    """Multiply a column of the chosen rows."""

    def change(found):
        chosen = [row for row in found[table] if all(row[key] == value for key, value in which.items())]
        assert chosen
        for row in chosen:
            row[column] = repr(float(row[column]) * factor)

    return change


def put(table, column, value, **which):
    """Write a value into a column of the chosen rows."""

    def change(found):
        chosen = [row for row in found[table] if all(row[key] == wanted for key, wanted in which.items())]
        assert chosen
        for row in chosen:
            row[column] = str(value)

    return change


def like(method, other, experiment, table="accuracy"):
    """Give one method the errors of another."""

    def change(found):
        errors = {
            (r["n"], r["quantity"]): r for r in found[table] if (r["method"], r["experiment"]) == (other, experiment)
        }
        for row in found[table]:
            if (row["method"], row["experiment"]) == (method, experiment):
                for column in ("mean", "error_of_mean", "bias", "error_of_bias"):
                    row[column] = errors[row["n"], row["quantity"]][column]

    return change


KNOWN = {"experiment": "vmf-known"}
EVENTS, CYCLONES, VARIANTS = "storm_events", "cyclones", "variants"
CASES = {
    "an error that does not fall": ("falls", put("accuracy", "mean", 0.05, method=GEODESIC), ("not for TMSM",)),
    "an MLE that is consistent": ("falls", like(NAIVE, EXACT, "vmf-known"), ("not for", "MLE (κ unknown, Kent)")),
    "a TruncSM whose bias goes away": ("falls", put("accuracy", "bias", 0.0, method=TRUNCSM), ("TruncSM (κ known, ",)),
    "an accurate κ": (
        "low", scaled("accuracy", "mean", 0.8, quantity="concentration", experiment="vmf-unknown"), (claims.HOLDS,),
    ),
    "an inaccurate TMSM": ("low", scaled("accuracy", "mean", 2.0, method=PROJECTED), (claims.FAILS,)),
    "a weight that does not matter": ("weight", like(GEODESIC, DEFAULT, "vmf-unknown"), (claims.FAILS,)),
    "distances that differ": ("same", scaled("accuracy", "mean", 1.06, method=PROJECTED, n="316"), (claims.IN_PART,)),
    "a second bad coordinate": ("same", put("projection", "degrees_off", 3.0, dropped="x₂"), ("x₁ or x₂",)),
    "no bad coordinate": ("same", put("projection", "degrees_off", 2.0), (claims.HOLDS,)),
    "a bad TruncSM": ("close", scaled("accuracy", "mean", 1.3, method=TRUNCSM, **KNOWN), (claims.FAILS,)),
    "a bad TruncSM with the oval": (
        "close", scaled("accuracy", "mean", 5.0, method=TRUNCSM_OVAL), ("not on Kent's family",),
    ),
    "a TruncSM that is good for Kent, too": ("close", like(TRUNCSM, GEODESIC, "kent-known"), (claims.HOLDS,)),
    "a good TruncSM with κ unknown": ("better", like(TRUNCSM, EXACT, "vmf-unknown"), (claims.IN_PART,)),
    "a TruncSM that is always bad": ("flat", scaled("accuracy", "mean", 2.0, method=TRUNCSM), (claims.HOLDS,)),
    "a TruncSM that is always good": ("flat", like(TRUNCSM, EXACT, "vmf-unknown"), (claims.FAILS,)),
    "a TruncSM without bias": ("covariance", like(TRUNCSM, GEODESIC, "vmf-known"), (claims.HOLDS,)),
    "an MLE that is once good": ("naive", scaled("accuracy", "mean", 0.1, method=NAIVE, n="100"), (claims.IN_PART,)),
    "a worse illustration": ("half", put("illustration", "degrees_off", 40.0, method=PROJECTED), (claims.IN_PART,)),
    "an MLE that is closer": ("half", put("accuracy", "closer_than_mle", 0.6, method=PROJECTED), (claims.IN_PART,)),
    "a plane that matters": ("curvature", put(VARIANTS, "km_from_tmsm", 2e3), (claims.HOLDS,)),
    "a plane that does not matter": (
        "curvature", put(VARIANTS, "km_from_tmsm", 1.0), ("in an equal-area plane the effect is below",),
    ),
    "an empty coast": ("more", put(EVENTS, "rows_by_the_coast", 0.01), (claims.FAILS,)),
    "an MLE elsewhere": ("middle", put(CYCLONES, "km_to_mean_of_rows", 30.0, method=NAIVE), (claims.FAILS,)),
    "a centre in the west": ("south-east", put(EVENTS, "longitude", -100.0, method=GEODESIC), (claims.IN_PART,)),
    "a centre not far enough": (
        "south-east", put(EVENTS, "covers_mle", "True", method=GEODESIC, catalogue="events"), ("for events it may be",),
    ),
    "a centre far off": ("origins", put(CYCLONES, "km_to_origins", 9e3, method=GEODESIC), (claims.IN_PART,)),
    "a centre on the coast": ("coast", put(EVENTS, "km_to_east_coast", 50.0), (claims.HOLDS,)),
    "regions that do not reach the coast": (
        "coast", put(EVENTS, "reaches_coast", "False"), ("paper's weights; holds for the default weight",),
    ),
    "a likelihood elsewhere": (
        "coast", put(EVENTS, "km_to_east_coast", 900.0, method=EXACT), ("holds for the default weight",),
    ),
    "origins on the coast": ("bulk", put(EVENTS, "origins_by_the_coast", 0.8), (claims.HOLDS,)),
    "a family that fits": ("family", put(EVENTS, "stein_p", 0.5), ("cyclones",)),
    "a family that fits everywhere": (
        "family", lambda found: [put(name, "stein_p", 0.5)(found) for name in (EVENTS, CYCLONES)], (claims.HOLDS,),
    ),
    "a centre at the truth": ("truth", put(CYCLONES, "km_to_truth", 10.0, method=GEODESIC), ("yes",)),
    "a centre far from the truth": ("truth", put(CYCLONES, "km_to_truth", 9e3, method=GEODESIC), ("no",)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_another_result_gives_another_verdict(case):
    claim, change, words = CASES[case]
    recorded, changed = verdicts_of(tables()), tables()
    change(changed)
    found = verdicts_of(changed)
    assert found[claim] != recorded[claim]
    assert all(word in found[claim] for word in words), found[claim]
    if words[0] in (claims.HOLDS, claims.FAILS, claims.IN_PART):
        assert found[claim].startswith(words[0])


def test_every_claim_can_have_another_verdict():
    assert {claim for claim, _, _ in CASES.values()} == set(CLAIMS) - UNTESTED


def test_lists_in_sentences():
    assert claims.listed(["a"]) == "a"
    assert claims.listed(["a", "b"], "or") == "a or b"
    assert claims.listed(iter("abc")) == "a, b and c"


def test_storms_without_the_agencys_files_are_not_judged():
    class Embedded(Results):
        def read(self, name):
            return [] if name in ("storm_events", "variants") else RECORDED.read(name)

    found = [one.verdict for one in storm_verdicts.storm_verdicts(Embedded(Path("embedded")))]
    assert found.count(claims.OPEN) == 5
