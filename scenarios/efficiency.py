"""Asymptotic efficiency of score matching: the Cramér–Rao bound over the covariance, both as integrals over nodes."""

from dataclasses import dataclass

import numpy as np

from tmsm.data.rows import Block
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.stacked import Stacked
from tmsm.measure.integrals import plan_nodes
from tmsm.regions import BorderView
from tmsm.weights import Weight
from tmsm.weights.policies import Choice, Setting, as_policy

# Nodes are taken in blocks of so many, and so many draws of them stand for rows where a scale comes from data.
_BLOCK, _SAMPLE = 50_000, 20_000


@dataclass(frozen=True)
class Efficiency:
    """What an estimate is worth for many rows, per row.

    Attributes
    ----------
    covariance, bound
        The asymptotic covariance of θ and its Cramér–Rao bound, shape (p, p); of rank k where k parameters are free.
    choice
        The equations, all their scales fixed.
    """

    covariance: np.ndarray
    bound: np.ndarray
    choice: Choice

    @property
    def share(self):
        """The trace of the bound over that of the covariance."""
        return float(np.trace(self.bound) / np.trace(self.covariance))


def efficiency(model, region, theta, weight, X, log_weights, n_rows=np.inf):
    """The efficiency of a weight, by name, resolved or not, for a density in a region.

    ``X`` (m, D) are nodes inside the region and ``log_weights`` (m,) the logarithms of their areas. ``n_rows`` is how
    many rows a policy may count on: it decides whether several weights are combined.
    """
    model = model.on(region.manifold)
    p = probabilities(model, theta, X, log_weights)
    choice = resolved(model, region, theta, weight, X, p, n_rows)
    tangent = model.constraint.tangent(theta)
    if choice.combined:
        sample = X[np.random.default_rng(0).choice(len(X), _SAMPLE, p=p)]
        equations = Stacked(model, choice.parts, LocalPolynomials.of(region.manifold, sample))
        keep = equations.reduction(tangent)
    else:
        equations = OneWeight(model, choice.parts[0].weight)
        keep = tangent.T
    slope, second = np.zeros((len(keep), tangent.shape[1])), np.zeros((len(keep), len(keep)))
    mean, information = np.zeros(model.size), np.zeros((model.size, model.size))
    for start in range(0, len(X), _BLOCK):
        rows, q = np.asfortranarray(X[start : start + _BLOCK]), p[start : start + _BLOCK]
        terms = equations.terms(Block(BorderView(region, rows), None, np.inf))
        e = terms.residuals(theta) @ keep.T
        slope += keep @ terms.A_sum(q) @ tangent
        second += e.T @ (q[:, None] * e)
        t = model.tangent(theta).statistics(rows)
        mean += q @ t
        information += t.T @ (q[:, None] * t)
    information -= np.outer(mean, mean)
    # (GᵀΩ⁻¹G)⁻¹, which is A⁻¹ΩA⁻ᵀ where there are as many equations as parameters.
    covariance = np.linalg.inv(slope.T @ np.linalg.solve(second, slope))
    bound = np.linalg.inv(tangent.T @ information @ tangent)
    return Efficiency(tangent @ covariance @ tangent.T, tangent @ bound @ tangent.T, choice)


def nodes_of(model, region, theta):
    """Nodes (m, D) inside a region and the logarithms of their areas (m,), as fine as the likelihood takes them."""
    nodes = plan_nodes(model.on(region.manifold).at(theta), region).affordable.nodes()
    return nodes.X, nodes.log_weights


def probabilities(model, theta, X, log_weights):
    """The probability of each node, shape (m,)."""
    exponents = model.log_kernel(X, theta) + log_weights
    p = np.exp(exponents - exponents.max())
    return p / p.sum()


def resolved(model, region, theta, weight, X, p, n_rows=np.inf):
    """The equations of a weight or a policy, its scales from draws of the nodes."""
    sample = X[np.random.default_rng(1).choice(len(X), _SAMPLE, p=p)]
    setting = Setting(BorderView(region, np.asfortranarray(sample)), model.constraint.n_free, n_rows)
    policy = as_policy(weight)
    choice = policy.choose(setting)
    if isinstance(weight, Weight):
        return Choice.of(weight.resolve(setting.view))
    return choice
