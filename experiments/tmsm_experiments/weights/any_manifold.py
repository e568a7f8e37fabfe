"""Tori, rotations, products, a triangle, an ellipsoid and the hyperbolic plane: the scenarios of the tests.

They lie beside the package, in the repository alone, where the study is run from.
"""

from collections.abc import Iterator
from functools import partial

from scenarios import direction_energy, ellipsoid, hyperbolic, rotations, torus, triangle
from scenarios.efficiency import nodes_of
from tmsm_experiments.weights.setting import Setting

SEEDS = {100: 200, 300: 200, 1_000: 150, 10_000: 40}
# Integrals over a torus of three angles take long.
FEW_SEEDS = {100: 100, 300: 100, 1_000: 60, 10_000: 20}


def any_manifold() -> Iterator[Setting]:
    """Every setting."""
    scalar = ("geodesic", "saturating", "combined")
    for name, key in (("box of angles", "inside"), ("box of angles, corner", "corner"), ("box in T3", "three angles")):
        truth, box = torus.SETTINGS[key]
        yield Setting(
            name, torus.MODEL, box, truth, weights=(*scalar, "componentwise", "blocks"),
            seeds=FEW_SEEDS if key == "three angles" else SEEDS, profiles=False,
        )  # fmt: skip
    for name, key in (("rotations", "mode on the border"), ("axis of rotations", "axis on the border")):
        yield Setting(
            name, rotations.MODEL, rotations.REGIONS[key], {"parameter": rotations.PARAMETER}, "parameter",
            weights=(*scalar, "chordal", "normal", "constraints"), seeds=SEEDS, profiles=False,
        )  # fmt: skip
    params, threshold = direction_energy.SETTINGS["mean inside"]
    region = direction_energy.region(threshold)
    theta = direction_energy.MODEL.natural_parameters(**params)
    yield Setting(
        "direction × energy", direction_energy.MODEL, region, params, "first", exact=False, weights=(*scalar, "blocks"),
        seeds=SEEDS, nodes=partial(nodes_of, direction_energy.MODEL, region, theta),
    )  # fmt: skip
    for key in ("middle", "corner"):
        yield Setting(
            f"triangle, {key}", triangle.FAMILIES["von Mises–Fisher"], triangle.REGION, triangle.SETTINGS[key],
            weights=(*scalar, "chordal", "projected", "constraints"), seeds=SEEDS,
        )  # fmt: skip
    linear, wavy = ellipsoid.linear, ellipsoid.wavy
    yield Setting(
        "ellipsoid, wavy", ellipsoid.model(linear), ellipsoid.region(wavy), {"coefficients": ellipsoid.TRUTH[linear]},
        "coefficients", exact=False, weights=(*scalar, "constraints"), seeds=SEEDS,
        draw=lambda n, seed: ellipsoid.sample(n, linear, wavy, seed), nodes=partial(ellipsoid.nodes, wavy),
    )  # fmt: skip
    yield Setting(
        "hyperbolic ball", hyperbolic.MODEL, hyperbolic.BALL, hyperbolic.truth("border"), weights=(*scalar, "normal"),
        seeds=SEEDS, profiles=False,
    )  # fmt: skip
