"""Every density integrates to one over every region that it can be restricted to."""

from collections import Counter

import numpy as np
import pytest

import tmsm
from tests.references.test_quadrature import lattice
from tests.registry import EVERYWHERE, MODELS, REGIONS, Case, model_id, sampled


def pairs():
    """Every region with two kinds of models that live on its manifold, which take turns from region to region."""
    turns = Counter()
    for case in REGIONS + EVERYWHERE:
        kinds = {type(entry[0]): entry for entry in reversed(MODELS) if entry[0].manifold == case.region.manifold}
        entries = list(kinds.values())[::-1]
        for k in range(min(2, len(entries))):
            yield case, entries[(turns[case.region.manifold] + k) % len(entries)]
        turns[case.region.manifold] += 2


PAIRS = list(pairs())


def uniform(manifold, n):
    """Points and the area that each stands for; a lattice on a surface, a grid on a curve, draws above, products."""
    if manifold == tmsm.Sphere(2):
        return lattice(n), 4 * np.pi / n, 2e-3
    if manifold == tmsm.Sphere(1):
        angle = 2 * np.pi * (np.arange(n) + 0.5) / n
        return np.column_stack([np.cos(angle), np.sin(angle)]), 2 * np.pi / n, 1e-3
    if manifold == tmsm.Rotations():  # half of S³
        return manifold.uniform(10 * n, 0), np.pi**2 / (10 * n), None
    if len(manifold.factors) > 1:
        on_curves = {2: 1000, 3: 120}[manifold.dim] if manifold.dim == len(manifold.factors) else 400
        parts = [uniform(factor, {1: on_curves, 2: 3000}[factor.dim]) for factor in manifold.factors]
        rows = np.stack(np.meshgrid(*(np.arange(len(Y)) for Y, _, _ in parts), indexing="ij"), axis=-1)
        columns = zip(rows.reshape(-1, len(parts)).T, parts, strict=True)
        return np.hstack([Y[k] for k, (Y, _, _) in columns]), np.prod([area for _, area, _ in parts]), 0.05
    if isinstance(manifold, tmsm.Sphere):
        from scipy.special import gamma

        D = manifold.embedding_dim
        return manifold.uniform(10 * n, 0), 2 * np.pi ** (D / 2) / gamma(D / 2) / (10 * n), None
    d = manifold.dim
    side = {1: min(n, 40_000), 2: 600, 3: 100}[d]
    axis = (np.arange(side) + 0.5) / side * 20 - 10
    X = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    # Where coordinates are no lengths, a cell has another volume than in flat space.
    volume = 1.0 if manifold.is_embedded else np.exp(manifold.log_volume(X))
    return X, volume * (20 / side) ** d, {1: 1e-3, 2: 5e-3, 3: 0.05}[d]


@pytest.mark.parametrize(
    ("case", "entry"),
    sampled(PAIRS, lambda case, entry: (type(entry[0]), entry[0].manifold)),
    ids=lambda value: value.name if isinstance(value, Case) else model_id(value),
)
def test_density_integrates_to_one(case, entry):
    model, params = entry
    X, area, tolerance = uniform(case.region.manifold, 60_000)
    density = np.exp(model.logpdf(X, case.region, **params))
    outside = ~case.region.contains(X)
    assert (density[outside] == 0.0).all()
    assert (density[~outside] > 0.0).all()
    total = (density * area).sum()
    if tolerance is None:
        tolerance = 4.5 * density.std() * np.sqrt(len(X)) * area
        tolerance += 4.5 * model.log_mass(case.region, **params).error
        assert tolerance < 0.2
    assert total == pytest.approx(1.0, abs=tolerance)


def test_negative_control_the_density_of_the_whole_sphere_does_not():
    region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    params = {"mean_direction": [0.0, -1.0, 0.0], "concentration": 6.0}
    X = lattice(60_000)
    density = np.exp(tmsm.VonMisesFisher().logpdf(X, **params))
    assert density[region.contains(X)].sum() * 4 * np.pi / len(X) == pytest.approx(0.5, abs=0.01)
