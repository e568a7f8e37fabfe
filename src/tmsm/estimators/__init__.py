"""Estimators: scikit-learn's contract round the pass from data to an estimate."""

from tmsm.estimators.adaptive_kernel import AdaptiveKernel
from tmsm.estimators.density_map import DensityMap
from tmsm.estimators.naive import NaiveMLE
from tmsm.estimators.saved import load
from tmsm.estimators.score_matching import ScoreMatching
from tmsm.estimators.truncated import TruncatedMLE

__all__ = ["AdaptiveKernel", "DensityMap", "NaiveMLE", "ScoreMatching", "TruncatedMLE", "load"]
