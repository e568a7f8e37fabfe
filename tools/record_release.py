"""Record what a version promises to the next ones: names and options, and saved results.

python -m tools.record_release

It writes tests/contract/releases/VERSION, which tests/contract/test_releases.py compares with every later version.
Release 0.1 was recorded with its own code, without ``check_rows_of_fit`` and ``with_groups_of_fit``, by which its own
modules spoke to each other. numbers.json there is what its command saved, format version 1.
"""

import inspect
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import tmsm
from tools.reference_page import FOR_USERS, members, named, shown

RELEASES = Path(__file__).parents[1] / "tests" / "contract" / "releases"


def signature(name: str, thing: Any) -> str:
    """A name with the parameters that can be given: "=" after optional ones, "*" before those given by name alone."""
    taken, keyword_only = [], False
    for one in inspect.signature(thing).parameters.values():
        if one.name in ("self", "cls") or one.name.startswith("_"):
            continue
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            taken.append("*")
            keyword_only = True
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        keyword_only = keyword_only or stars == "*"
        taken.append(f"{stars}{one.name}{'' if one.default is one.empty else '='}")
    return f"{name}({', '.join(taken)})"


def surface() -> dict[str, str]:
    """Each name that the reference shows to users, with its parameters if it can be called."""
    found = {name: name for name in (f"tmsm.{name}" for name in tmsm.__all__)}
    for path, names in shown(FOR_USERS):
        try:
            thing = named(path)
        except (ImportError, AttributeError):  # a name that this version does not have
            continue
        if inspect.isclass(thing) and (inspect.isabstract(thing) or issubclass(thing, BaseException)):
            found[path] = path
        elif inspect.isclass(thing) or inspect.isfunction(thing):
            found[path] = signature(path, thing)
        if not inspect.isclass(thing):
            continue
        for name, one, _ in members(thing, names):
            is_value = isinstance(one, property | cached_property) or not callable(one)
            found[f"{path}.{name}"] = f"{path}.{name}" if is_value else signature(f"{path}.{name}", one)
    return dict(sorted(found.items()))


def command_surface() -> list[str]:
    """Each command with each of its options, such as "tmsm fit --region"."""
    from typer.main import get_command

    from tmsm.cli.app import app

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return sorted(
        f"tmsm {name} {option}"
        for name, command in commands.items()
        for one in command.params
        for option in (*one.opts, *one.secondary_opts)
        if option.startswith("-")
    )


def saved_results(folder: Path) -> None:
    """Fits and sums of several kinds, with the parameters that they must still have when they are loaded."""
    box = tmsm.LonLatBox(-20.0, -10.0, 30.0, 25.0)
    corners = [[-20.0, -10.0], [30.0, -10.0], [30.0, 25.0], [-20.0, 25.0], [-20.0, -10.0]]
    coast = tmsm.SphericalPolygon.from_geojson({"type": "Polygon", "coordinates": [corners]})
    vmf, normal = tmsm.VonMisesFisher(), tmsm.MultivariateNormal()
    center = tmsm.lonlat_to_xyz([35.0], [10.0])[0]
    X = vmf.sample(60, box, random_state=0, mean_direction=center, concentration=15.0)
    half = tmsm.HalfSpace([1.0, 0.0], 0.0)
    flat = normal.sample(60, half, random_state=0, mean=[0.5, 0.0], covariance=np.eye(2))
    both = np.column_stack([X, flat])
    fits = {
        "fit": tmsm.ScoreMatching(vmf, box).fit(X),
        "groups": tmsm.ScoreMatching(vmf, coast, "combined", refine="mle").fit(X, groups=np.arange(60) // 2),
        "kent": tmsm.TruncatedMLE(tmsm.Kent(), coast).fit(X),
        "mixture": tmsm.TruncatedMLE(tmsm.Mixture(vmf, 1, background=True), coast).fit(X),
        "covariates": tmsm.ScoreMatching(vmf, coast).fit(X, covariates=X[:, 2] ** 2),
        "product": tmsm.ScoreMatching(vmf * normal, coast * half).fit(both),
        "naive": tmsm.NaiveMLE(vmf).fit(X),
    }
    for name, fit in fits.items():
        fit.save(folder / f"{name}.json")
    stream = tmsm.ScoreMatching(vmf, box).partial_fit(X[:40]).partial_fit(X[40:])
    stream.moments_.save(folder / "sums.npz")
    expected = {"sums.npz": stream.natural_params_.tolist()}
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")


def main() -> None:
    folder = RELEASES / ".".join(tmsm.__version__.split(".")[:2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "surface.txt").write_text("\n".join(surface().values()) + "\n", encoding="utf-8")
    (folder / "options.txt").write_text("\n".join(command_surface()) + "\n", encoding="utf-8")
    saved_results(folder)
    print(f"Recorded in {folder.relative_to(RELEASES.parents[2])}")


if __name__ == "__main__":
    main()
