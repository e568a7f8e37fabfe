"""The exceptions, under the name by which they are imported: ``from tmsm.errors import EstimationError``."""

from tmsm.foundation.errors import *  # noqa: F403
from tmsm.foundation.errors import __all__ as __all__
