"""What the families on a sphere share: where they live."""

from tmsm.errors import InvalidInputError
from tmsm.manifolds import Manifold, Sphere
from tmsm.models.base import Model

__all__ = ["SphereFamily"]


class SphereFamily(Model):
    """A family on the sphere S^(D−1) in D coordinates, any D from two up."""

    def whole_manifold(self, embedding_dim: int) -> Manifold:
        if embedding_dim < 2:
            raise InvalidInputError("Points of a sphere have at least two coordinates; X has one column.")
        manifold = Sphere(embedding_dim - 1)
        self.check_manifold(manifold)
        return manifold

    def check_manifold(self, manifold: Manifold) -> None:
        if not isinstance(manifold, Sphere):
            raise InvalidInputError(
                f"{type(self).__name__} lives on a sphere, and the region on {manifold!r}. "
                "On flat space use MultivariateNormal."
            )
