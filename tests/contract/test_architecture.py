"""Imports go one way, and importing stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tmsm

SOURCE = Path(tmsm.__file__).parent

# From the ground up: a module may import from the lines above its own, and from its own package.
LAYERS = [
    ["errors", "arrays", "progress"],
    ["output", "json_text"],
    ["values", "validation", "secular", "newton", "contour"],
    ["manifolds"],
    ["coordinates"],
    ["regions"],
    ["datasets"],
    ["points"],
    ["cells"],
    ["quadrature"],
    ["polynomials"],
    ["groups"],
    ["weights", "models", "rows"],
    ["model_check"],
    ["moments"],
    ["equations"],
    ["tabulated"],
    ["solve"],
    ["likelihood", "combination", "influence"],
    ["inference", "goodness", "criterion"],
    ["resampling"],
    ["plots"],
    ["estimators"],
    ["stein", "comparison", "archive", "report"],
    ["cli"],
]


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


def layer_of(name):
    return next(k for k, layer in enumerate(LAYERS) if name in layer)


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tmsm":
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "tmsm")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imported(path):
        assert module != "tmsm", "internal modules import from each other, not from the front"
        other = module.split(".")[1]
        assert own == other or layer_of(other) < layer_of(own), f"{own} imports {other}"


def test_the_order_of_the_layers_would_be_noticed():
    # The check is not empty: moments do import models, which lie below.
    assert "tmsm.models.base" in set(imported(SOURCE / "moments.py"))
    assert layer_of("moments") > layer_of("models")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_grows_too_long(path):
    assert path.stem != "utils"
    assert len(path.read_text().splitlines()) <= 600


def test_import_is_light():
    heavy = ("scipy", "numba", "shapely", "sklearn", "matplotlib", "jax")
    code = f"import sys, tmsm; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_is_complete_sorted_and_documented():
    assert sorted(tmsm.__all__) == tmsm.__all__
    assert len(tmsm.__all__) <= 40
    for name in tmsm.__all__:
        documentation = getattr(tmsm, name).__doc__
        assert "Examples" in documentation, name
        assert ">>>" in documentation, name
