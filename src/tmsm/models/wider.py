"""The family of which a family is a part: where to look for a shape that it does not have."""

from functools import singledispatch

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.models.base import Model
from tmsm.models.fisher_bingham import Bingham, FisherBingham
from tmsm.models.kent import Kent
from tmsm.models.von_mises_fisher import VonMisesFisher
from tmsm.models.watson import Watson

__all__ = ["wider_family"]


@singledispatch
def wider_family(model: Model, embedding_dim: int) -> tuple[Model, FloatArray] | None:
    """A wider family and the matrix, shape (P, p), that turns θ into its own; None if there is none here."""
    return None


@wider_family.register
def _(model: VonMisesFisher, embedding_dim: int) -> tuple[Model, FloatArray] | None:
    wider = FisherBingham()
    return wider, np.eye(wider.n_statistics(embedding_dim), embedding_dim)


@wider_family.register
def _(model: Kent, embedding_dim: int) -> tuple[Model, FloatArray] | None:
    return FisherBingham(), np.eye(8)


@wider_family.register
def _(model: Watson, embedding_dim: int) -> tuple[Model, FloatArray] | None:
    wider = Bingham()
    return wider, np.eye(wider.n_statistics(embedding_dim))
