"""Gravitational dynamics on CPUs and GPUs: three-body divergence maps as NumPy arrays.

>>> import trisolar
>>> map = trisolar.divergence(size=100, steps=20_000)
>>> map.times.shape, map.times.dtype
((100, 100), dtype('uint32'))

A GPU is used where there is one; nothing of CUDA is needed to install or import this.
"""

from ._divergence import DivergenceMap, divergence
from ._machine import Cpu, Devices, Gpu, Simd, devices
from ._trisolar import __version__

__all__ = [
    "Cpu",
    "Devices",
    "DivergenceMap",
    "Gpu",
    "Simd",
    "__version__",
    "devices",
    "divergence",
]
