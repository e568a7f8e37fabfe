"""How a family is written on the command line: vmf, heavy-tailed, mixture:2, mixture:3:kent, product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tmsm.cli.factors import Factor, product_model
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_option, parse_number
from tmsm.models import Bingham, FisherBingham, HeavyTailed, Kent, Mixture, VonMisesFisher, Watson
from tmsm.models.base import LinearModel, Model

__all__ = ["MODELS", "knowable", "make_model", "needs_whole", "usual_method"]

MODELS: dict[str, type[Model]] = {
    "vmf": VonMisesFisher,
    "kent": Kent,
    "fisher-bingham": FisherBingham,
    "bingham": Bingham,
    "watson": Watson,
    "heavy-tailed": HeavyTailed,
}
# What --known can say of a model.
_KNOWABLE = {
    "vmf": ("concentration",),
    "kent": ("concentration", "ovalness"),
    "watson": ("concentration",),
    "heavy-tailed": ("degrees_of_freedom",),
}
_PRODUCT, _MIXTURE = "product", "mixture"
# Families that components of a mixture can be of: clusters, which searches begin at.
_COMPONENTS = ("vmf", "kent")
# Beyond it likelihoods are integrals over draws, and score matching is the first choice of any model.
_MOST_DIMENSIONS = 2


def make_model(
    name: str,
    known: list[str],
    option: str = "--model",
    *,
    factors: Sequence[Factor] = (),
    interaction: bool = False,
    background: Any = False,
) -> Model:
    """A model with what is known of it, given as NAME=NUMBER; with further columns that of the place and of these.

    A ``background``, uniform where it is True, makes a mixture of any model that may be a component of one.
    """
    kind = name.partition(":")[0]
    if factors:
        if kind in (_MIXTURE, "heavy-tailed") or background is not False:
            what = f"{option} {name}" if background is False else "A background"
            raise InvalidInputError(
                f"{what} is not for points with further columns (--also): only products of exponential families are."
            )
        # product stands for the usual family of the place, product:kent for another one.
        place = "vmf" if name == _PRODUCT else name.removeprefix(f"{_PRODUCT}:")
        return product_model(make_model(place, known, option), factors, interaction)
    if kind == _PRODUCT:
        raise InvalidInputError(
            f"{option} {name} is for points with further columns: name them with --also, such as --also "
            "month:circle:12 or --also magnitude:line."
        )
    if kind == _MIXTURE:
        count, component = _parts(name, option)
        family = _family(component, known, f"{option} {name}")
        return Mixture(_linear(family), count, background)
    model = _family(check_option(name, [*MODELS, _MIXTURE], option), known, name)
    if background is False:
        return model
    if name not in _COMPONENTS:
        raise InvalidInputError(
            f"A background is one of a mixture, whose components may be {' and '.join(_COMPONENTS)}, not {name}."
        )
    return Mixture(_linear(model), 1, background)


def knowable(name: str) -> tuple[str, ...]:
    """What --known can say of a model, or of the components of a mixture."""
    if name.partition(":")[0] == _MIXTURE:
        name = _parts(name, "--models")[1]
    return _KNOWABLE.get(name, ())


def usual_method(model: Model, dim: int) -> str:
    """The method that suits a model: for one that is no exponential family the exact likelihood, where it can be had.

    Score matching hardly sees the shares of modes that lie apart.
    """
    return "score" if model.is_linear or dim > _MOST_DIMENSIONS else "mle"


def _parts(name: str, option: str) -> tuple[int | str, str]:
    """The number of components of a mixture, or how to choose it, and their family."""
    _, *parts = (part.strip() for part in name.split(":"))
    count: int | str = "bic"
    if parts and parts[0].isascii() and parts[0].isdigit():
        count = int(parts.pop(0)[:9])
    component = parts.pop(0) if parts else "vmf"
    if parts or count == 0 or component not in _COMPONENTS:
        raise InvalidInputError(
            f"{option} {name} must be mixture, mixture:NUMBER or mixture:NUMBER:COMPONENT, such as mixture:2 or "
            f"mixture:2:kent; components may be {' and '.join(_COMPONENTS)}."
        )
    return count, component


def _family(name: str, known: list[str], said: str) -> Model:
    values = {}
    for pair in known:
        key, _, text = pair.partition("=")
        try:
            values[key.strip()] = parse_number(text)
        except ValueError:
            raise InvalidInputError(f"--known {pair!r} must be NAME=NUMBER, such as concentration=6.") from None
    allowed = _KNOWABLE.get(name, ())
    for key in values:
        if key not in allowed:
            hint = f"it can know {' and '.join(allowed)}" if allowed else "nothing can be known of it here"
            raise InvalidInputError(f"--known {key} is not for the model {said.removeprefix('--model ')}: {hint}.")
    return MODELS[name](**values)


def _linear(model: Model) -> LinearModel:
    assert isinstance(model, LinearModel), "components are exponential families"
    return model


def needs_whole(model: Model, methods: Sequence[str | None]) -> str | None:
    """What about a model or its methods needs all points in memory at once, in words; None where nothing does."""
    if "naive" in methods:
        return "the method naive"
    return None if model.is_linear else "a mixture or a heavy tail"
