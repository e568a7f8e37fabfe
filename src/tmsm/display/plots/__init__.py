"""Pictures of fits; matplotlib is imported when one is drawn."""

from tmsm.display.plots.diagnostics import DiagnosticsDisplay
from tmsm.display.plots.fit_display import FitDisplay

__all__ = ["DiagnosticsDisplay", "FitDisplay"]
