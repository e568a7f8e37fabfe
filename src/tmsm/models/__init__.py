"""Models: families of densities on a manifold."""

from tmsm.models.base import LinearModel, Model, Tangent
from tmsm.models.constraints import AffineSubspace, Constraint, FixedNorm, Unrestricted
from tmsm.models.fisher_bingham import Bingham, FisherBingham
from tmsm.models.hyperboloid import HyperboloidDistribution
from tmsm.models.kent import Kent
from tmsm.models.local import Local
from tmsm.models.matrix_fisher import MatrixFisher
from tmsm.models.multivariate_normal import MultivariateNormal
from tmsm.models.nonlinear import NonlinearModel
from tmsm.models.parameters import Field, Parameters
from tmsm.models.translated import Translated
from tmsm.models.von_mises_fisher import VonMisesFisher
from tmsm.models.watson import Watson

__all__ = [
    "AffineSubspace",
    "Bingham",
    "Constraint",
    "Field",
    "FisherBingham",
    "FixedNorm",
    "HyperboloidDistribution",
    "Kent",
    "LinearModel",
    "Local",
    "MatrixFisher",
    "Model",
    "MultivariateNormal",
    "NonlinearModel",
    "Parameters",
    "Tangent",
    "Translated",
    "Unrestricted",
    "VonMisesFisher",
    "Watson",
]
