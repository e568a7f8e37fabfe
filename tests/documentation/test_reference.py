"""The reference has every public name and option, and the docstrings have every parameter and an example."""

import importlib
import inspect
import re

import pytest

import tmsm
from tmsm.manifolds.frames import FRAMES
from tmsm.maps.bases import BASES
from tmsm.models.mixture import CHOICES
from tmsm.regions.region import METRICS
from tmsm.weights import policies
from tools.reference_page import FOR_AUTHORS, FOR_USERS, LINE, PAGE, methods, named, ours, shown

SUBJECTS = ["weights", "models", "regions", "manifolds"]
PATHS = [found[1] for found in LINE.finditer(PAGE)]
OBJECTS = {path: named(path) for path in PATHS if path != "tmsm.errors"}
CALLABLE = {path: one for path, one in OBJECTS.items() if inspect.isclass(one) or inspect.isfunction(one)}


def cases(page):
    """What a part of the page shows of what can be called."""
    return [pytest.param(path, members, id=path) for path, members in shown(page) if path in CALLABLE]


def test_the_page_has_every_public_name():
    names = [name for name in tmsm.__all__ if name not in ("datasets", "report")]
    assert [name for name in names if f"tmsm.{name}" not in PATHS] == []
    assert [name for name in tmsm.datasets.__all__ if f"tmsm.datasets.{name}" not in PATHS] == []
    there = {id(one) for one in OBJECTS.values()}
    for subject in SUBJECTS:
        package = importlib.import_module(f"tmsm.{subject}")
        assert [name for name in package.__all__ if id(getattr(package, name)) not in there] == []
    assert len(set(PATHS)) == len(PATHS)


def test_the_page_has_every_text_option():
    weights, options = FOR_USERS.split("### Options of estimators")
    assert [name for name in policies._BY_NAME if f'| `"{name}"` |' not in weights] == []
    assert [name for name in (*METRICS, *BASES, *CHOICES, *FRAMES) if f'`"{name}"`' not in options] == []


def documented(text):
    """The names in the sections Parameters and Attributes of a docstring."""
    sections = re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}|\Z)", text, flags=re.S | re.M)
    lines = [line for section in sections for line in section.splitlines() if line[:1].strip()]
    return {name.strip().lstrip("*") for line in lines for name in line.split(":")[0].split(",")}


def arguments(function):
    """The names of what is given to a function."""
    taken = inspect.signature(function).parameters.values()
    names = [one.name for one in taken if one.kind != one.POSITIONAL_ONLY]  # those of built-in types
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def docstrings(things):
    """Several docstrings as one text, such as those of a method and of the one that it overrides."""
    return "\n\n".join(inspect.cleandoc(one.__doc__ or "") for one in things)


@pytest.mark.parametrize(("path", "members"), cases(FOR_USERS))
def test_every_parameter_has_its_own_entry(path, members):
    thing = OBJECTS[path]
    if not inspect.isclass(thing):
        assert set(arguments(thing)) <= documented(inspect.getdoc(thing))
        return
    if not inspect.isabstract(thing):
        assert set(arguments(thing)) <= documented(docstrings(ours(thing)))
    for name, function, made in methods(thing, members):
        assert set(arguments(function)) <= documented(docstrings(made)), name


@pytest.mark.parametrize(("path", "members"), cases(FOR_AUTHORS))
def test_base_classes_name_every_parameter(path, members):
    thing = OBJECTS[path]

    def unnamed(function, text):
        return [name for name in arguments(function) if not re.search(rf"\b{name}\b", text)]

    about = docstrings(ours(thing)) if inspect.isclass(thing) else thing.__doc__

    if not inspect.isclass(thing):
        assert unnamed(thing, about) == []
        return
    if not inspect.isabstract(thing):
        assert unnamed(thing, about) == []
    for name, function, made in methods(thing, members):
        assert unnamed(function, f"{about}\n{docstrings(made)}") == [], name


@pytest.mark.parametrize("name", [name for name in tmsm.__all__ if name not in ("errors", "report")])
def test_every_public_name_has_an_example(name):
    assert ">>>" in getattr(tmsm, name).__doc__


@pytest.mark.parametrize("path", [path for path in PATHS if path in FOR_USERS and path.startswith("tmsm.weights.")])
def test_every_weight_has_an_example(path):
    assert ">>>" in OBJECTS[path].__doc__
