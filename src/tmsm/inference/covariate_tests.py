"""Whether a density depends on covariates at all, and whether its centre moves with them.

With B = (β₀, β₁, …, β_q), z centred at its mean, two questions are asked of a covariate a, and of all of them together:

    density   β_a = 0: no parameter depends on it;
    centre    J_μ(θ) β_a = 0 at the mean of z: the centre μ(θ) does not move with it, whatever the other parameters do.
              Of von Mises–Fisher this is the part of β_a across θ: the direction of θ(z) stays the same for all z_a.

Wald's test compares h(B̂) with its covariance.  The score test looks from the nearest B̃ with h(B̃) = 0: there the mean of
the influences along h, R M e_i(B̃), R the slope of h, should be zero, and is compared with its spread under that B̃.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.text import readable_p
from tmsm.inference.influence import Influence
from tmsm.inference.regression import Regression
from tmsm.matching.equations import row_residuals
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint

__all__ = ["ChiSquare", "CovariateTest", "CovariateTests", "covariate_tests"]

Question = Literal["density", "centre"]
# Of differences in θ.
_STEP = 1e-5
_MAX_STEPS = 20
# Singular values below this share of the largest are none.
_RANK = 1e-8
# The p-value below which a sentence speaks of an effect.
_CLEAR = 0.05


class ChiSquare(NamedTuple):
    """A χ² test of no effect.

    Attributes
    ----------
    statistic
        χ² statistic.
    df
        Its degrees of freedom.
    p_value
        The probability of a larger statistic if there is no effect.
    """

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, value: FloatArray, covariance: FloatArray, error_df: float | None) -> ChiSquare:
        """From what should be zero, shape (k,), and its covariance; by Hotelling's T² where its error has few df."""
        from scipy.special import chdtrc, fdtrc

        k = len(value)
        scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        unit = covariance / np.outer(scale, scale)
        statistic = float(value / scale @ np.linalg.solve(unit, value / scale))
        if error_df is None:
            return cls(statistic, k, float(chdtrc(k, statistic)))
        rest = max(error_df - k + 1.0, 1.0)
        return cls(statistic, k, float(fdtrc(k, rest, statistic * rest / (k * max(error_df, 1.0)))))


@final
@dataclass(frozen=True)
class CovariateTest:
    """Two tests of the effect of one covariate.

    Attributes
    ----------
    covariate
        The name of the covariate, or "all" for all of them together.
    question
        "density": whether any parameter depends on it. "centre": whether the centre moves with it.
    wald, score
        Two tests of no effect, each with statistic, df and p_value. They agree if the effect is small and there are
        many rows.
    """

    covariate: str
    question: Question
    wald: ChiSquare
    score: ChiSquare

    @property
    def statistic(self) -> float:
        """Of the score test."""
        return self.score.statistic

    @property
    def df(self) -> int:
        """Degrees of freedom of both."""
        return self.wald.df

    @property
    def p_value(self) -> float:
        """Of the score test, which keeps its level better where a covariate has a long tail."""
        return self.score.p_value

    @property
    def sentence(self) -> str:
        """What the tests say."""
        who = "all covariates together" if self.covariate == "all" else self.covariate
        what = "The density depends on" if self.question == "density" else "The centre moves with"
        no = "No dependence of the density on" if self.question == "density" else "No move of the centre with"
        found = f"{what} {who}" if self.p_value < _CLEAR else f"{no} {who} is seen"
        return (
            f"{found} (score: χ² = {self.score.statistic:.3g} on {self.df} df, {readable_p(self.score.p_value)}; "
            f"Wald: χ² = {self.wald.statistic:.3g}, {readable_p(self.wald.p_value)})."
        )


@final
class CovariateTests(tuple[CovariateTest, ...]):
    """All tests of a fit with covariates, as a tuple; `covariate_tests_` of an estimator makes it."""

    __slots__ = ()

    def of(self, covariate: str, question: Question = "density") -> CovariateTest:
        """The test of one covariate, or of "all".

        Parameters
        ----------
        covariate
            Its name.
        question
            "density" or "centre".
        """
        for test in self:
            if (test.covariate, test.question) == (covariate, question):
                return test
        asked = sorted({(test.covariate, test.question) for test in self})
        raise InvalidInputError(f"There is no test of {(covariate, question)!r}; there are {asked}.")

    def __repr__(self) -> str:
        return "\n".join(test.sentence for test in self)


def covariate_tests(
    regression: Regression, influence: Influence, rows: Rows, share: float, error_df: float | None
) -> CovariateTests:
    """Both tests of every covariate, and of all where there are several.

    ``rows`` are this share of those of the fit, and ``influence`` is that on the vector of all coefficients.
    """
    q, tests = len(regression.names), []
    asked = [(name, [a + 1]) for a, name in enumerate(regression.names)]
    if q > 1:
        asked.append(("all", list(range(1, q + 1))))
    model = regression.model
    questions: list[Question] = ["density"]
    if model.centre_field is not None and _moves(model, regression.B[:, 0]).shape[1] > 0:
        questions.append("centre")
    for question in questions:
        for name, columns in asked:
            restriction = _Restriction.of(regression, columns, question)
            wald = ChiSquare.of(*restriction.wald(), error_df)
            # Its covariance is about zero and grows with the effect, so that few groups make the test no more liberal.
            score = ChiSquare.of(*restriction.score(influence, rows, share), None)
            tests.append(CovariateTest(name, question, wald, score))
    return CovariateTests(tests)


def _moves(model: Model, theta: FloatArray) -> FloatArray:
    """Orthonormal directions in which the centre can move at θ, shape (D, k)."""
    assert model.centre_field is not None
    slope = model.parameter_jacobian(theta)[model.centre_field.name] @ model.constraint.tangent(theta)
    left, values, _ = np.linalg.svd(slope, full_matrices=False)
    return left[:, values > _RANK * max(float(values.max(initial=0.0)), 1e-300)]


@dataclass(frozen=True)
class _Restriction:
    """H(b) = 0 for the vector b of all coefficients, with its slope (k, P)."""

    regression: Regression
    constraint: Constraint
    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]

    @classmethod
    def of(cls, regression: Regression, columns: list[int], question: Question) -> _Restriction:
        model, c, p = regression.model, regression.n_columns, len(regression.B)
        # Known parts of θ do not move: a test of them would divide zero by zero.
        tangent = model.constraint.tangent(regression.B[:, 0])
        if question == "density":
            R = np.concatenate([np.kron(tangent.T, np.eye(c)[a]) for a in columns])
            return cls(regression, model.constraint, lambda b: R @ b, lambda b: R)
        field = model.centre_field
        assert field is not None
        basis = _moves(model, regression.B[:, 0])

        def value(b: FloatArray) -> FloatArray:
            B = b.reshape(p, c)
            J = basis.T @ model.parameter_jacobian(B[:, 0])[field.name]
            return np.concatenate([J @ B[:, a] for a in columns])

        def slope(b: FloatArray) -> FloatArray:
            B = b.reshape(p, c)
            J = basis.T @ model.parameter_jacobian(B[:, 0])[field.name]
            R = np.concatenate([np.kron(J, np.eye(c)[a]) for a in columns]).reshape(-1, p, c)
            # And with the θ at which the centre is looked at.
            size = _STEP * max(float(np.linalg.norm(B[:, 0])), 1e-300)
            for k in range(p):
                there = np.zeros((p, c))
                there[k, 0] = size
                R[:, k, 0] += (value((B + there).ravel()) - value((B - there).ravel())) / (2.0 * size)
            return R.reshape(len(R), -1)

        return cls(regression, model.constraint, value, slope)

    def wald(self) -> tuple[FloatArray, FloatArray]:
        """H(B̂) and its covariance."""
        b = self.regression.B.ravel()
        R = self.slope(b)
        return self.value(b), R @ self.regression.known_covariance @ R.T

    def score(self, influence: Influence, rows: Rows, share: float) -> tuple[FloatArray, FloatArray]:
        """The mean influence along the restriction at the nearest B̃ that obeys it, and the covariance of that mean."""
        found = self._nearest()
        R = self.slope(found)
        mean = R @ (self.regression.B.ravel() - found)
        along = row_residuals(influence.equations, rows, found, R @ influence.matrix)
        seen, parts = rows.mean_and_parts(along)
        u, nuisance = len(parts), influence.equations.constraint.n_free - parts.shape[1]
        # About zero, where the mean is without an effect, and for the parameters that were estimated.
        squares = parts.T @ parts + np.outer(seen, seen) / u
        return mean, squares * (share * u / max(u - nuisance, 1))

    def _nearest(self) -> FloatArray:
        """The b with h(b) = 0 that is nearest to b̂ in standard errors, by Gauss–Newton; else the one it starts from.

        For the test any b will do that obeys the restriction and is as near to the truth as b̂ where there is no
        effect.
        """
        start, covariance = self.regression.B.ravel(), self.regression.known_covariance
        b = first = self._obeying(start)
        for _ in range(_MAX_STEPS):
            R = self.slope(b)
            spread = R @ covariance
            step = start - spread.T @ np.linalg.solve(spread @ R.T, self.value(b) + R @ (start - b)) - b
            b = b + step
            if np.linalg.norm(step) <= 1e-10 * np.linalg.norm(b):
                return b
        return first

    def _obeying(self, b: FloatArray) -> FloatArray:
        """The same θ at the mean of z, and of the other coefficients the part that has no effect."""
        c = self.regression.n_columns
        others = np.arange(b.size) % c > 0
        R = self.slope(b)[:, others]
        moved = b.copy()
        moved[others] -= np.linalg.pinv(R) @ self.value(b)
        return moved
