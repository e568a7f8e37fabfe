"""From an estimate to how sure it is: covariance, standard errors, intervals, confidence regions."""

from tmsm.inference.covariance import inverse_information, moment_influence, sandwich_covariance
from tmsm.inference.delta import (
    cautions,
    check_level,
    confidence_interval,
    critical_square,
    direction_ellipse,
    standard_errors,
)
from tmsm.inference.discrepancy import (
    Discrepancy,
    LikelihoodDiscrepancy,
    QuadraticDiscrepancy,
    tangent_projection,
)
from tmsm.inference.profile import profile_interval
from tmsm.inference.regions import ConfidenceRegion

__all__ = [
    "ConfidenceRegion",
    "Discrepancy",
    "LikelihoodDiscrepancy",
    "QuadraticDiscrepancy",
    "cautions",
    "check_level",
    "confidence_interval",
    "critical_square",
    "direction_ellipse",
    "inverse_information",
    "moment_influence",
    "profile_interval",
    "sandwich_covariance",
    "standard_errors",
    "tangent_projection",
]
