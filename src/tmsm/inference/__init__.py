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

__all__ = [
    "cautions",
    "check_level",
    "confidence_interval",
    "critical_square",
    "direction_ellipse",
    "inverse_information",
    "moment_influence",
    "sandwich_covariance",
    "standard_errors",
]
