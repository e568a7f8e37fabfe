"""Models: families of densities on a manifold."""

from tmsm.models.base import LinearModel, Model, Tangent
from tmsm.models.boosted import Boosted
from tmsm.models.constraints import AffineSubspace, Constraint, FixedNorm, Unrestricted
from tmsm.models.cosine_von_mises import CosineVonMises
from tmsm.models.exponential_family import ExponentialFamily
from tmsm.models.fisher_bingham import Bingham, FisherBingham
from tmsm.models.heavy_tailed import HeavyTailed
from tmsm.models.hyperboloid import HyperboloidDistribution
from tmsm.models.interacting import CentredInteraction, InteractingModel
from tmsm.models.kent import Kent
from tmsm.models.local import Local
from tmsm.models.log_density import LogDensity
from tmsm.models.matrix_fisher import MatrixFisher
from tmsm.models.mixture import Mixture
from tmsm.models.multivariate_normal import MultivariateNormal
from tmsm.models.nonlinear import NonlinearModel
from tmsm.models.parameters import Field, Parameters
from tmsm.models.product import ProductModel
from tmsm.models.product_sets import ProductConstraint
from tmsm.models.sine_von_mises import SineVonMises
from tmsm.models.translated import Translated
from tmsm.models.trigonometric import TrigonometricFamily
from tmsm.models.von_mises_fisher import VonMisesFisher
from tmsm.models.watson import Watson

__all__ = [
    "AffineSubspace",
    "Bingham",
    "Boosted",
    "CentredInteraction",
    "Constraint",
    "CosineVonMises",
    "ExponentialFamily",
    "Field",
    "FisherBingham",
    "FixedNorm",
    "HeavyTailed",
    "HyperboloidDistribution",
    "InteractingModel",
    "Kent",
    "LinearModel",
    "Local",
    "LogDensity",
    "MatrixFisher",
    "Mixture",
    "Model",
    "MultivariateNormal",
    "NonlinearModel",
    "Parameters",
    "ProductConstraint",
    "ProductModel",
    "SineVonMises",
    "Tangent",
    "Translated",
    "TrigonometricFamily",
    "Unrestricted",
    "VonMisesFisher",
    "Watson",
]
