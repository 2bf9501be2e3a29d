"""Gravitational dynamics on CPUs and GPUs: three-body divergence maps and encounters, N-body runs and star clusters as NumPy arrays.

>>> import trisolar
>>> map = trisolar.divergence(size=100, steps=20_000)
>>> map.steps_together.shape, map.steps_together.dtype
((100, 100), dtype('uint32'))
>>> *_, last = trisolar.nbody(model="figure-eight", steps=6326)
>>> last.position.shape, last.position.dtype
((3, 3), dtype('float64'))

A GPU is used where there is one; nothing of CUDA is needed to install or import this.
"""

from ._atlas import atlas
from ._cluster import LAGRANGE_FRACTIONS, Cluster, ClusterState, cluster
from ._divergence import DivergenceMap, divergence
from ._encounters import (
    ENCOUNTER_OUTCOMES,
    Encounters,
    encounters,
    encounters_sweep,
    encounters_zoom,
)
from ._equations import Trajectories, iterate, ode
from ._machine import Cpu, Devices, Gpu, Simd, devices
from ._nbody import Diagnostics, IntegratorComparison, Nbody, NbodyState, compare_integrators, nbody
from ._planets import PLANET_OUTCOMES, Planets, from_rebound, planets
from ._sweep import Sweep, sweep
from ._system import System, system
from ._trisolar import __version__
from ._warnings import AccuracyWarning, TrisolarWarning
from ._zoom import Zoom, zoom

__all__ = [
    "ENCOUNTER_OUTCOMES",
    "LAGRANGE_FRACTIONS",
    "PLANET_OUTCOMES",
    "AccuracyWarning",
    "Cluster",
    "ClusterState",
    "Cpu",
    "Devices",
    "Diagnostics",
    "DivergenceMap",
    "Encounters",
    "Gpu",
    "IntegratorComparison",
    "Nbody",
    "NbodyState",
    "Planets",
    "Simd",
    "Sweep",
    "System",
    "Trajectories",
    "TrisolarWarning",
    "Zoom",
    "__version__",
    "atlas",
    "cluster",
    "compare_integrators",
    "devices",
    "divergence",
    "encounters",
    "encounters_sweep",
    "encounters_zoom",
    "from_rebound",
    "iterate",
    "nbody",
    "ode",
    "planets",
    "sweep",
    "system",
    "zoom",
]
