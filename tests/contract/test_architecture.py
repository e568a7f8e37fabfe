"""Imports go one way, packages keep to themselves, and importing stays light."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tmsm

SOURCE = Path(tmsm.__file__).parent

# From the ground up: a package may import from those before it, and from itself.
PACKAGES = [
    "foundation",
    "numerics",
    "manifolds",
    "regions",
    "measure",
    "models",
    "weights",
    "data",
    "rowwise",
    "matching",
    "inference",
    "maps",
    "datasets",
    "display",
    "estimators",
    "cli",
]
# Files beside the packages hand on what is in them, to Python and to users who import it by name.
DOORS = ["__init__.py", "__main__.py", "errors.py", "report.py"]


def module_name(path, source):
    parts = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(source):
    """Name -> path of every module."""
    return {module_name(path, source): path for path in sorted(source.rglob("*.py"))}


def imported(path, names):
    """Modules that a file imports, wherever in it: at its top, in a function, or for types alone."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tmsm":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in names else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "tmsm")


def violations(source):
    """Sentences about what breaks the order of the packages, or makes a circle of modules."""
    found, names = [], modules(source)
    graph = {}
    for name, path in names.items():
        own = name.split(".")[1] if "." in name else None
        graph[name] = others = set(imported(path, names)) - {name}
        for other in sorted(others):
            if path.parent == source:
                continue
            if other == "tmsm" or (other in names and names[other].name == "__init__.py" and name.startswith(other)):
                found.append(f"{name} imports the front of its own package, {other}")
                continue
            package = other.split(".")[1]
            if package != own and PACKAGES.index(package) >= PACKAGES.index(own):
                found.append(f"{name} imports {other}, which comes after it")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"a circle of imports: {' -> '.join(error.args[1])}")
    return found


def test_imports_go_one_way_and_in_no_circle():
    assert violations(SOURCE) == []
    assert {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} == set(PACKAGES)
    assert sorted(path.name for path in SOURCE.glob("*.py")) == DOORS
    for path in SOURCE.glob("*.py"):
        defined = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
        assert defined == []


PLANTED = [
    ("regions/region.py", "from tmsm.models.base import Model\n", "tmsm.regions.region imports tmsm.models.base"),
    ("numerics/newton.py", "def f():\n    from tmsm.data.rows import Rows\n", "numerics.newton imports tmsm.data.rows"),
    ("regions/ball.py", "from tmsm.regions import Region\n", "imports the front of its own package, tmsm.regions"),
    ("regions/landmarks.py", "def f():\n    from tmsm.regions.ball import Ball\n", "a circle of imports"),
    (
        "models/constraints.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tmsm.models.base import Model\n",
        "a circle of imports",
    ),
    ("weights/base.py", "import tmsm\n", "imports the front of its own package, tmsm"),
]


@pytest.mark.parametrize(
    ("place", "code", "message"),
    [PLANTED[0], *(pytest.param(*planted, marks=pytest.mark.slow) for planted in PLANTED[1:])],
    ids=[place for place, *_ in PLANTED],
)
def test_a_planted_violation_would_be_seen(place, code, message, tmp_path):
    source = tmp_path / "tmsm"
    for path in SOURCE.rglob("*.py"):
        copy = source / path.relative_to(SOURCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text() + (f"\n{code}" if str(path.relative_to(SOURCE)) == place else ""))
    assert any(message in sentence for sentence in violations(source))


ASKS = re.compile(r"isinstance\([^)]*\b(Sphere|Euclidean)\b|[!=]= ?(Sphere|Euclidean)\(")


def test_nobody_asks_a_manifold_what_it_is():
    """Models and regions say where they live; whatever serves all of them asks the manifold for what it needs."""
    asking = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "manifolds"
        for line in path.read_text().splitlines()
        if ASKS.search(line)
    ]
    assert asking == []
    assert ASKS.search("if isinstance(region.manifold, Sphere):")
    assert ASKS.search("if region.manifold != Sphere(2):")


def private_reads(path):
    """Names with one leading underscore that are read of something that is neither self, cls nor the class itself."""
    tree = ast.parse(path.read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    defined = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("_")
    } | {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        if node.attr == "_replace":  # the public method of a named tuple
            continue
        value = node.value
        if isinstance(value, ast.Name) and (value.id in ("self", "cls") or value.id in own):
            continue
        # Another object of a class of this file.
        if node.attr not in defined:
            yield f"{path.relative_to(SOURCE)}: {ast.unparse(node)}"


def test_nobody_reads_the_private_attributes_of_others():
    found = [read for path in SOURCE.rglob("*.py") for read in private_reads(path) if "estimators" not in path.parts]
    # Numba has no public way to look after a cache.
    assert sorted(found) == ["foundation/compiled.py: dispatcher._cache"]


def test_messages_of_the_library_name_no_option_of_the_command():
    named = [
        f"{path.relative_to(SOURCE)}: {node.value}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "cli"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"(^|\s|')--[a-z]", node.value)
    ]
    assert named == []


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_grows_too_long(path):
    assert path.stem != "utils"
    assert len(path.read_text().splitlines()) <= 600


def test_import_is_light():
    heavy = (
        "scipy",
        "numba",
        "shapely",
        "sklearn",
        "matplotlib",
        "jax",
        "plotly",
        "rich",
        "astropy",
        "narwhals",
        "pandas",
        "geopandas",
    )
    code = f"import sys, tmsm; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_is_complete_sorted_and_documented():
    assert sorted(tmsm.__all__) == tmsm.__all__
    assert len(tmsm.__all__) <= 60
    for name in tmsm.__all__:
        documentation = getattr(tmsm, name).__doc__
        assert documentation, name
        if name not in ("errors", "report"):  # modules, whose names have examples of their own
            assert ">>>" in documentation, name


def test_dir_shows_the_public_names_only():
    assert dir(tmsm) == sorted([*tmsm.__all__, "__version__"])
