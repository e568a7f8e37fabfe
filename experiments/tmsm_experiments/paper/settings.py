"""The paper's truths: what is drawn, where it is seen, what is known of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import tmsm

# Angles are the paper's (φ, θ): colatitude from the first axis, longitude round it.
TRUE_ANGLES = np.array([np.pi / 2, np.pi])
TRUE_MEAN = tmsm.colatlon_to_xyz(*TRUE_ANGLES)
POLE = np.array([-1.0, 0.0, 0.0])
HEMISPHERE = tmsm.Hemisphere(POLE)  # φ > π/2
# The illustration's border, φ = π/2 + 0.2, spares the centre.
CUT = 0.2
CUT_CAP = tmsm.Cap(POLE, np.pi / 2 - CUT)
SIZES = (100, 178, 316, 562, 1000, 1778, 3162)


@dataclass(frozen=True, eq=False)
class Experiment:
    """One of the paper's three benchmarks."""

    name: str
    title: str
    family: Any  # as it is drawn, nothing known
    model: Any  # as it is fitted
    truth: dict[str, Any]
    known: float | None  # the concentration, where it is known
    number: int  # for the seeds

    def sample(self, n: int, *seeds: int) -> np.ndarray:
        rng = np.random.default_rng(np.random.SeedSequence([*seeds, self.number, n]))
        return self.family.sample(n, HEMISPHERE, random_state=rng, **self.truth)


_VMF = {"mean_direction": TRUE_MEAN, "concentration": 6.0}
# The paper does not say how its oval lies; here it lies along the border.
_KENT = {"mean_direction": TRUE_MEAN, "major_axis": [0.0, 0.0, 1.0], "concentration": 10.0, "ovalness": 3.0}

VMF_KNOWN = Experiment(
    "vmf-known", "von Mises–Fisher, κ = 6 known", tmsm.VonMisesFisher(), tmsm.VonMisesFisher(6.0), _VMF, 6.0, 1
)
VMF_UNKNOWN = Experiment(
    "vmf-unknown", "von Mises–Fisher, κ = 6 unknown", tmsm.VonMisesFisher(), tmsm.VonMisesFisher(), _VMF, None, 2
)
KENT_KNOWN = Experiment("kent-known", "Kent, κ = 10 and α = 3 known", tmsm.Kent(), tmsm.Kent(10.0, 3.0), _KENT, 10.0, 3)
EXPERIMENTS = (VMF_KNOWN, VMF_UNKNOWN, KENT_KNOWN)
