"""Sweeps: a divergence map for each value of a parameter, or each pair of values of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Generic, Iterator, List, Mapping, Optional, Protocol, Tuple, TypeVar

from . import _trisolar
from ._dataset import module, stacked
from ._divergence import DivergenceMap
from ._progress import Progress, checked, watching
from ._spec import Gpus, Numbered, Spec, Vary, merged, options as run_options, source, vary_texts
from ._warnings import warn_of_accuracy, warn_of_doubts

if TYPE_CHECKING:
    import xarray

def sweep(
    spec: Optional[Spec] = None,
    *,
    vary: Vary,
    backend: str = "auto",
    gpus: Gpus = None,
    device: Numbered = None,
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    progress: Progress = None,
    **options: object,
) -> Sweep[DivergenceMap]:
    """Computes a map for each value of a parameter, or for each pair of values of two: an iterator of the values and the
    map.

    >>> for values, map in trisolar.sweep(vary={"mass2": [10, 20], "dt": "5e-4:2e-3:3:log"}, size=100):
    ...     print(values["mass2"], values["dt"], map.never_parted)

    Names and defaults are those of the command line ``trisolar sweep``. Every map is checked before the first is computed.
    The second parameter varies fastest. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below, as for :func:`divergence`.
    :param vary: one parameter or two, with their values: a mapping from names to sequences of numbers or to texts such as
        "5:40:16" (evenly spaced), "1e-6:1e-2:9:log" (of a constant ratio) or "1,2,5"; or texts as on the command line,
        "mass2=5:40:16". Names are mass1 to mass3, x1 to z3 (start positions), vx1 to vz3 (start velocities), center1,
        center2, span, shift, steps, dt, g, softening and critical-distance.
    :param backend: the engine: "auto" (GPUs if any can be used, otherwise the CPU), "cpu", "gpu", or "gpu+cpu".
    :param gpus: how many GPUs, as for :func:`divergence`.
    :param device: which GPUs, as for :func:`divergence`.
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param progress: a function that is called after each map with the number of maps done and the total number; an
        exception that it raises ends the sweep. ``True`` shows a bar (needs tqdm).
    :param options: options of every map, as for :func:`divergence`, such as ``size`` or ``max_error``.
    :returns: the values of the parameters by name, and the map, one after the other; :meth:`Sweep.to_xarray` puts them together.
    :raises ValueError: a value that is not allowed, in any map, or a parameter that is varied twice; with the message of
        the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a specification file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or a map whose share of unresolved
        pixels is above ``max_error``.
    """
    given = source(spec)
    checked(progress)
    how = run_options(backend, threads, gpus, device, simd)
    found, units, doubts = _trisolar.sweep_frames(
        merged(given, options), given.toml, given.file, vary_texts(vary)
    )
    warn_of_doubts([*doubts, _trisolar.cpu_warning(backend)], stacklevel=2)
    return Sweep(_maps(found, how, progress), dict(units))


class _Result(Protocol):
    def to_xarray(self) -> xarray.Dataset: ...


Result = TypeVar("Result", bound=_Result)


class Sweep(Iterator[Tuple[Dict[str, float], Result]], Generic[Result]):
    """The values of the parameters and the result, one after the other. Made by :func:`sweep` and :func:`encounters_sweep`."""

    def __init__(
        self, found: Iterator[Tuple[Dict[str, float], Result]], units: Mapping[str, str], prefix: str = ""
    ) -> None:
        self._found = found
        self._units = units
        self._prefix = prefix

    def __next__(self) -> Tuple[Dict[str, float], Result]:
        return next(self._found)

    def to_xarray(self) -> xarray.Dataset:
        """Computes what is left, and returns a dataset with a dimension for each parameter that varies (of
        encounters with ``start_`` before its name, because records have columns of the same names).

        Coordinates have units. A map whose rectangle varies has the dimensions ``row`` and ``column``, and coordinates for each
        value. ``attrs`` has the specification of the first map as TOML text. ``trisolar sweep --zarr`` writes the same dataset of maps.

        :raises ImportError: without xarray.
        :raises ValueError: nothing is left, or of two parameters not all pairs of their values.
        """
        module()
        found = []
        for values, result in self:
            found.append(({self._named(name): value for name, value in values.items()}, result.to_xarray()))
        specification = found[0][1].attrs["specification"] if found else ""
        return stacked(found, specification, {self._named(name): unit for name, unit in self._units.items()})

    def _named(self, parameter: str) -> str:
        return self._prefix + parameter.replace("-", "_")


def _maps(
    frames: List[Tuple[_trisolar.Specification, List[Tuple[str, float]]]],
    how: _trisolar.Options,
    progress: Progress,
) -> Iterator[Tuple[Dict[str, float], DivergenceMap]]:
    with watching(progress, "sweep") as tell:
        for done, (specification, values) in enumerate(frames, 1):
            computed = specification.run(how)
            warn_of_accuracy(computed.accuracy_warning, stacklevel=2)
            computed.check(specification.max_error)
            map = DivergenceMap(computed)
            if tell is not None:
                tell(done, len(frames))
            yield dict(values), map
