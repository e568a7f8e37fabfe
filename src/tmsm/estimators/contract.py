"""scikit-learn's contract: the constructor stores its arguments, and they can be read and set by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

from tmsm.foundation.errors import InvalidInputError

__all__ = ["Contract"]


class Contract:
    """What every estimator has: a constructor that only stores, so that copies and searches over settings work.

    ``_result`` is what the last fit found, None where there is none, and ``_why_not_fitted`` says what to do then.
    """

    _result: Any = None
    _why_not_fitted: str = "call fit first."

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, as scikit-learn expects them.

        Parameters
        ----------
        deep
            Ignored; scikit-learn passes it.
        """
        return {name: getattr(self, name) for name in self._defaults}

    @property
    def _defaults(self) -> Mapping[str, Any]:
        """The constructor's arguments with their defaults."""
        kind: Any = type(self)
        return _defaults_of(kind)

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments by name; an unknown name is an error.

        Parameters
        ----------
        **params
            The arguments to change, by name.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InvalidInputError(f"{type(self).__name__} has no parameter {name!r}; it has {list(known)}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(),
            requires_fit=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._result is not None

    def __repr__(self) -> str:
        defaults = self._defaults
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if defaults[name] is inspect.Parameter.empty or value is not defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@cache
def _defaults_of(kind: Any) -> Mapping[str, Any]:
    """The same for a class: every fit asks, and a signature takes long to read."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return {one.name: one.default for one in parameters}
