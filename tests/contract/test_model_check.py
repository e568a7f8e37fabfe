"""`check_model` finds what is wrong with a model, and says where."""

from dataclasses import dataclass

import numpy as np
import pytest

import tmsm
from tmsm.models import Field, LinearModel, Parameters


@dataclass(frozen=True, eq=False, repr=False)
class Linear(LinearModel):
    """Von Mises–Fisher, written with something wrong."""

    wrong: str = ""
    fields = (Field("theta"),)

    home = tmsm.Sphere

    @property
    def size(self):
        return self.embedding_dim

    def statistics(self, X):
        return X[:, :2] if self.wrong == "shape" else X

    def gradient(self, X):
        gradient = np.eye(3) - X[:, :, None] * X[:, None, :]
        if self.wrong == "gradient":
            gradient[:, 1] *= 2.0
        if self.wrong == "tangent":
            gradient[:, 2] += X
        return gradient

    def laplacian(self, X):
        # The paper's printed form is zero.
        return 0.0 * X if self.wrong == "laplacian" else -2.0 * X

    def hessian(self, X, V):
        out = -X * (V**2).sum(axis=1)[:, None]
        out[:, 2] *= 3.0 if self.wrong == "hessian" else 1.0
        return out

    def gradient_dot(self, X, V):
        return 2.0 * V if self.wrong == "contraction" else V

    def parameters(self, theta):
        return Parameters(theta=theta)

    def parameter_jacobian(self, theta):
        return {"theta": np.eye(theta.size)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("shape", r"Linear\.statistics must have shape \(50, 3\); it has \(50, 2\)"),
        ("gradient", r"Linear\.gradient is wrong for statistic 1 \(row \d+, direction 0\): .* finite differences give"),
        ("tangent", r"Linear: gradient is tangent fails for statistic 2"),
        ("laplacian", r"Linear\.laplacian is wrong for statistic \d \(row \d+\): 0 where finite differences give"),
        ("hessian", r"Linear\.hessian is wrong for statistic 2"),
        ("contraction", r"Linear: gradient_dot fails for statistic"),
    ],
)
def test_what_is_wrong_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        tmsm.check_model(Linear(wrong), tmsm.Sphere(2))


def test_a_right_model_of_ones_own_passes():
    report = tmsm.check_model(Linear(), tmsm.Sphere(2), n=7, random_state=3)
    assert set(report.deviations) >= {"gradient", "laplacian", "hessian", "gradient_dot"}


def test_bad_arguments():
    with pytest.raises(TypeError, match="model must be a model"):
        tmsm.check_model(tmsm.Kent, tmsm.Sphere(2))
    with pytest.raises(TypeError, match="manifold must be one"):
        tmsm.check_model(tmsm.Kent(), "sphere")
    with pytest.raises(ValueError, match="Kent lives on the sphere S²"):
        tmsm.check_model(tmsm.Kent(), tmsm.Sphere(3))
