"""The command gives a command's advice: nothing that only a Python user can type."""

import ast
import re
from pathlib import Path

import pytest

import tmsm
from tmsm.cli.advice import WORDS, for_command

SOURCE = Path(tmsm.__file__).parent
# Calls, names with underscores, keyword arguments, classes.
PYTHON = re.compile(
    r"\w\([^)\s]|\w\(\)|\b[a-z]+_[a-z_]+\b|\b\w+_(?=[\s,.:;]|$)|\b\w+='|\b\w+=(True|False|None)"
    r"|\b(NaiveMLE|ScoreMatching|TruncatedMLE|DensityMap|AdaptiveKernel|FisherBingham|Everywhere|LonLatBox)\b"
    r"|\b(pandas|geopandas\.|numpy)\b"
)
# What the command never passes on, or never asks for: words of such messages, by the reason.
OUT_OF_REACH = {
    "streams are not read": "partial_fit",
    "sums are not added": r"^Sums (about|with)|^These sums|load_moments\(",
    "points have no weights of their own": "sample_weight",
    "seeds are whole numbers": "random_state must be",
    "numbers of processors": r"n_jobs must not be|\(n_jobs\)",
    "tables in memory": (
        r"[Tt]able (must|has|is|holds|of)|table_to_xyz|one direction a row is wanted|backend must|is lazy"
    ),
    "functions that give blocks": r"function that gives blocks|Blocks of a function",
    "columns that are found without options": "open_table",
    "objects of a wrong type": r"got …|such as (VonMisesFisher|Cap|Sphere)|method on\(manifold\)|\(…\)\.on",
    "notebooks": r"summary\(\) says more",
    "angles in radians": "numpy.radians",
    "methods that are called in the right order": "comes first",
    "fits that are made by hand": r"compare\(\[one|contains\(\) works|use confidence_region|made with sample|weight_\)",
    "parameters of a simulation": "major_axis|minor_axis|mean_direction|background_share|by in_region",
    "flat space": r"isotropic|Euclidean|generalisation to any sphere|Box\(lower, upper\)",
    "components that are put together by hand": "which shares need: components may be",
    "predictions": "fit was made without covariates",
    "formulas": r"θ\(z\)",
    "classes of one's own": "to_arguments",
    "downloads": "read_storm_events",
    "what a representation says": (
        r"\.interacting\(…\)$|^(ExposureMap|Kent|BorderPoints|Box|HealpixMask|LonLatBox|SphericalPolygon)\("
    ),
    "a pattern": r"wgs \?84",
    "arrays of maps": "n_lat",
    "programs of a terminal": "ogr2ogr",
    "angles and rotations as points": "angles_to_torus|Rotations",
    "options of maps that the command leaves alone": "basis='series'|method='likelihood'",
    "what is asked of workers": r"^\(__import__",
    "interactions that are put together by hand": "InteractingModel",
}
# Kinds that no option of the command names: what they say is never heard there.
UNHEARD = re.compile(
    r"manifolds/(rotations|level_set|chart|charted|hyperbolic|torus_angles|same_points)"
    r"|regions/(rotation_cap|axis_within|angle_box|implicit|geodesic_ball)"
    r"|models/(torus|torus_mean|torus_orbits|sine_von_mises|cosine_von_mises|trigonometric|matrix_fisher"
    r"|exponential_family|hyperboloid|boosted|log_density|rough_functions|extrinsic)|foundation/(autodiff|parametric)"
    r"|numerics/torus_integral|data/dask_(arrays|collections|frames|source)"
)


def sentences():
    """All texts in the library that have blanks in them, with … for what is filled in."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] == "cli" or UNHEARD.fullmatch(place.with_suffix("").as_posix()):
            continue
        tree, seen = ast.parse(path.read_text()), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                seen.add(node.value)  # a docstring
            if isinstance(node, ast.JoinedStr):
                seen.update(node.values)
                yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in seen:
                yield node.value


def test_no_advice_for_python_users_reaches_the_terminal():
    told = {for_command(text) for text in sentences() if " " in text}
    assert len(told) > 500
    left = [text for text in told if PYTHON.search(text)]
    known = {text for text in left if any(re.search(words, text) for words in OUT_OF_REACH.values())}
    assert sorted(set(left) - known) == []
    # Every reason is needed still.
    unused = [reason for reason, words in OUT_OF_REACH.items() if not any(re.search(words, text) for text in left)]
    assert unused == []


def test_every_rule_is_needed():
    models = (tmsm.VonMisesFisher(), tmsm.Kent(ovalness=2.0), tmsm.Kent(9.0), tmsm.Kent(), tmsm.HeavyTailed())
    said = [*sentences(), *map(repr, (*models, tmsm.Mixture(tmsm.VonMisesFisher(), 2)))]
    unused = [rule for rule, _ in WORDS if not any(re.search(rule, text) for text in said)]
    assert unused == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Compare with the weight 'saturating'.", "Compare with --weight saturating."),
        ("Check it, or drop such rows with outside='drop'.", "Check it, or leave such points out with --outside drop."),
        ("For axial data use Bingham().", "For axial data use --model bingham."),
        ("All pixels were observed: use Everywhere(Sphere(2)).", "All pixels were observed: use --region everywhere."),
        ("ScoreMatching: Kent(concentration=6.0, ovalness=None)", "ScoreMatching: Kent(concentration=6.0)"),
        (
            "TruncatedMLE: Mixture(component=VonMisesFisher(concentration=None), n_components=2, background=False)",
            "TruncatedMLE: Mixture(component=VonMisesFisher, n_components=2)",
        ),
        ("robust='auto' took c = 0.3.", "--robust auto took c = 0.3."),
        (
            "The number of components is still to be chosen (n_components='bic'): TruncatedMLE does so.",
            "The number of components is chosen by the likelihood: use --method mle, or say it, as in --model "
            "mixture:2.",
        ),
        ("A sentence without advice stays as it is.", "A sentence without advice stays as it is."),
    ],
)
def test_advice_in_the_words_of_the_command(said, told):
    assert for_command(said) == told
