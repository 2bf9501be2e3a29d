"""The devices that can compute."""

from __future__ import annotations

import json
from typing import List, Optional, TypedDict, cast

from . import _trisolar


class Gpu(TypedDict):
    """A GPU that can be used."""

    index: int
    """Its number in the driver's order."""
    name: str
    compute_capability: str
    """Such as ``"9.0"``."""
    memory_bytes: int
    multiprocessors: int
    clock_khz: int
    """Highest clock of the multiprocessors in kHz."""


class Simd(TypedDict):
    """Vector instructions of the CPU."""

    name: str
    lanes: int
    """Number of 64-bit lanes."""


class Cpu(TypedDict):
    """The CPU and its features."""

    name: str
    threads: int
    """Threads that this process may use."""
    simd: List[Simd]
    """The fastest first."""
    fma: bool
    """Whether it has fused multiply-add instructions; without them the results have the same bits, but take longer."""
    memory_available_bytes: int
    """0 if the system does not provide the number."""


class Devices(TypedDict):
    """The devices that can compute."""

    gpus: List[Gpu]
    """In the driver's order; empty if none can be used."""
    driver_cuda: Optional[str]
    """The CUDA version that the driver supports; ``None`` without a driver."""
    kernels: str
    """Whether the GPU kernels were ``"built"`` with this package or are the ``"prebuilt"`` ones; ``"none"`` if it
    was built without them."""
    no_gpu: Optional[str]
    """The reason why no GPU can be used."""
    cpu: Cpu


def devices() -> Devices:
    """Lists the devices that can compute: the same as ``trisolar devices --json``, without the keys of all reports.

    A machine without a GPU is no error: ``gpus`` is empty and ``no_gpu`` says why.
    """
    return cast(Devices, json.loads(_trisolar.devices_json()))
