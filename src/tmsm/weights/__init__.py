"""Weights: tangent tensors that vanish, across the border, on the border."""

from tmsm.weights.base import ScalarWeight, Weight, WeightField
from tmsm.weights.blocks import Blocks
from tmsm.weights.componentwise import Componentwise
from tmsm.weights.constant import Constant
from tmsm.weights.constraints import Constraints
from tmsm.weights.distance import Distance, Projected, plain_weight
from tmsm.weights.normal import Normal
from tmsm.weights.policies import Auto, Combined, EquationPart, WeightPolicy
from tmsm.weights.saturating import Saturating, SaturatingProduct, saturating_at

__all__ = [
    "Auto",
    "Blocks",
    "Combined",
    "Componentwise",
    "Constant",
    "Constraints",
    "Distance",
    "EquationPart",
    "Normal",
    "Projected",
    "Saturating",
    "SaturatingProduct",
    "ScalarWeight",
    "Weight",
    "WeightField",
    "WeightPolicy",
    "plain_weight",
    "saturating_at",
]
