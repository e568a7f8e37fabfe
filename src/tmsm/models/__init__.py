"""Models: exponential families on a manifold."""

from tmsm.models.base import Model
from tmsm.models.constraints import AffineSubspace, Constraint, FixedNorm, Unrestricted
from tmsm.models.multivariate_normal import MultivariateNormal
from tmsm.models.parameters import Field, Parameters
from tmsm.models.translated import Translated
from tmsm.models.von_mises_fisher import VonMisesFisher

__all__ = [
    "AffineSubspace",
    "Constraint",
    "Field",
    "FixedNorm",
    "Model",
    "MultivariateNormal",
    "Parameters",
    "Translated",
    "Unrestricted",
    "VonMisesFisher",
]
