"""What the families on a sphere share: where they live."""

from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold, Sphere
from tmsm.models.base import LinearModel

__all__ = ["SphereFamily"]


class SphereFamily(LinearModel):
    """A family on the sphere S^(D−1) in D coordinates, any D from two up."""

    home: Manifold | type[Manifold] = Sphere

    def usual_manifold(self, n_columns: int) -> Manifold:
        if n_columns < 2:
            raise InvalidInputError("Points of a sphere have at least two coordinates; X has one column.")
        return Sphere(n_columns - 1)

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "a sphere", " On flat space use MultivariateNormal."
