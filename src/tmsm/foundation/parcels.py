"""Objects on their way to other processes: as bytes that each process unpacks once."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, final

from tmsm.foundation.errors import InvalidInputError

__all__ = ["Parcel"]

# Unpacked objects that a process keeps: those of a few fits side by side.
_MOST_KEPT = 32
_KEEPING = Lock()
_OPENED: OrderedDict[str, Any] = OrderedDict()


@final
@dataclass(frozen=True)
class Parcel:
    """An object as bytes, and what names them.

    What is large in it and is needed for many passes has the attribute ``travels_alone``, and a parcel of its own.

    Attributes
    ----------
    digest
        The same for the same bytes.
    content
        The bytes.
    """

    digest: str
    content: bytes

    @classmethod
    def packed(cls, thing: Any) -> tuple[Parcel, list[Parcel]]:
        """The parcel of an object, and those of what travels alone in it."""
        alone: dict[str, Parcel] = {}

        def name_of(part: Any) -> str | None:
            if part is thing or isinstance(part, type) or not getattr(type(part), "travels_alone", False):
                return None
            own, others = cls.packed(part)
            alone.update({one.digest: one for one in (*others, own)})
            return own.digest

        content = _pickled(thing, name_of)
        return cls(hashlib.sha256(content).hexdigest()[:32], content), list(alone.values())

    def open(self, alone: Sequence[Parcel] = ()) -> Any:
        """The object, the same one each time in a process; with the parcels of what travelled alone."""
        with _KEEPING:
            if self.digest in _OPENED:
                _OPENED.move_to_end(self.digest)
                return _OPENED[self.digest]
        parcels = {parcel.digest: parcel for parcel in alone}
        unpickler = type(
            "_Unpickler", (pickle.Unpickler,), {"persistent_load": lambda _, name: parcels[name].open(alone)}
        )
        thing = unpickler(io.BytesIO(self.content)).load()
        with _KEEPING:
            thing = _OPENED.setdefault(self.digest, thing)
            while len(_OPENED) > _MOST_KEPT:
                _OPENED.popitem(last=False)
        return thing


def _pickled(thing: Any, name_of: Any) -> bytes:
    from cloudpickle import Pickler

    buffer = io.BytesIO()
    pickler = type("_Pickler", (Pickler,), {"persistent_id": lambda _, part: name_of(part)})(buffer)
    try:
        pickler.dump(thing)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"The fit cannot be sent to other processes, because something in it cannot be pickled ({error}). A "
            "function of your own (a log exposure, a density, a border) must not hold open files, locks or generators."
        ) from error
    return buffer.getvalue()
