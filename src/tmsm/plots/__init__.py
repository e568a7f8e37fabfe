"""Pictures of fits; matplotlib is imported when one is drawn."""

from tmsm.plots.diagnostics import DiagnosticsDisplay
from tmsm.plots.fit_display import FitDisplay

__all__ = ["DiagnosticsDisplay", "FitDisplay"]
