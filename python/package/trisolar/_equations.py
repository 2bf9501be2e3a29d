"""Equations as text: maps and ensembles of their trajectories."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._dataset import module
from ._encounters import _how
from ._progress import Progress, watching
from ._records import Axis, Recorded
from ._spec import Source, Spec, merged, parameters, source
from ._warnings import warn_of_doubts

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

Values = Union[str, Sequence[str], Mapping[str, float]]
"""Numbers by their names, or text as on the command line, such as ``"s=10,b=8/3"``."""
Ranges = Union[str, Sequence[str], Mapping[str, Sequence[float]]]
"""Ranges (low, high) by names, or text as on the command line, such as ``"x=-20:20,y=-20:20"``."""


class Trajectories(Recorded[_trisolar.EquationsFound]):
    """Trajectories that were followed, with a record for each. Made by :func:`ode` and :func:`iterate`.

    ``numpy.asarray(trajectories)`` is :attr:`records`.
    """

    def __init__(self, found: _trisolar.EquationsFound, spec: Dict[str, Any], toml: str) -> None:
        self._found = found
        self._axes = found.axes
        shape = tuple(n for _, _, n in reversed(self._axes))
        super().__init__(spec, toml, shape or (-1,))

    @property
    def records(self) -> npt.NDArray[np.void]:
        """A structured array with a record for each trajectory: (n,), or (rows, columns) of a map, whose row 0 has the lowest value of
        the second axis. Its columns, of float64, are those of ``value``. Read-only; ``records.copy()`` is not.
        """
        return self._records

    @property
    def outcomes(self) -> List[str]:
        """The names of the outcomes 1, 2 and so on. In the column ``outcome``, 0 is none of them, -1 a number that became infinite or
        undefined, and -2 a step that became too short."""
        return self._found.outcomes

    @property
    def spec(self) -> Dict[str, Any]:
        """Every value on which the records depend, under the names of :func:`ode`. As ``spec=`` of another call it gives the same
        records, bit for bit."""
        return dict(self._spec)

    @property
    def summary(self) -> Dict[str, Any]:
        """Numbers of trajectories by outcome, and least, greatest and mean values of the columns, as in ``trisolar map --json``."""
        summary: Dict[str, Any] = json.loads(self._found.summary)
        return summary

    def __repr__(self) -> str:
        names = ", ".join(self._records.dtype.names or ())
        return f"<Trajectories, {len(self)} with {names}, {self.engine}: {self.device}>"

    def plot(self, ax: Optional[Axes] = None, *, column: Optional[str] = None, **options: Any) -> Axes:
        """Draws a map of a column, or its distribution if the trajectories are not a map, with matplotlib.

        :param ax: where to draw; a new figure if ``None``.
        :param column: the column of :attr:`records` [the first].
        :param options: further options of ``Axes.imshow`` or ``Axes.hist``.
        :raises ImportError: without matplotlib.
        """
        return self._plot(ax, column or (self._records.dtype.names or ("",))[0], options)

    def _grid(self) -> List[Axis]:
        return [(name, "", low + (high - low) * np.arange(n) / n) for name, (low, high), n in self._axes]

    def to_xarray(self) -> xarray.Dataset:
        """The records as a dataset, with the axes of a map as coordinates, otherwise with ``item``. ``attrs`` has the specification as
        TOML text, and the names of the outcomes.

        :raises ImportError: without xarray.
        """
        coordinates: Dict[str, Tuple[str, npt.NDArray[Any]]] = {}
        for name, (low, high), n in self._axes:
            coordinates[name] = (name, low + (high - low) * np.arange(n) / n)
        # Rows are the first axis of the array, columns the last.
        dims = list(reversed(list(coordinates))) or ["item"]
        if not self._axes:
            coordinates["item"] = ("item", np.arange(self._records.size))
        # An axis and the state at the end may have the same name.
        columns = self._records.dtype.names or ()
        ends = {name: f"{name}_end" if name in coordinates else name for name in columns}
        variables = {ends[name]: (dims, self._records[name]) for name in columns}
        made: xarray.Dataset = module().Dataset(
            variables,
            coords=coordinates,
            attrs={"specification": self._toml, "outcomes": ", ".join(self.outcomes)},
        )
        return made

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the records, as the command line's ``--out`` does, byte for byte.

        :param path: ``.npz`` for all columns, ``.npy`` for the first; ``.png``, ``.svg`` or ``.pdf`` for the picture of the first column of
            a map of two axes. A file of that name is replaced, once the new one is complete.
        :raises ValueError: another extension, or a picture of what is not a map of two axes.
        :raises OSError: the file cannot be written.
        """
        self._found.save(path)


def _listed(given: Union[Values, Ranges, None]) -> Optional[List[str]]:
    """Values or ranges as on the command line."""
    if given is None or isinstance(given, str):
        return None if given is None else given.split(",")
    if not isinstance(given, Mapping):
        return [str(text) for text in given]
    texts: List[str] = []
    for name, value in given.items():
        numbers = value if isinstance(value, (Sequence, np.ndarray)) else [value]
        texts.append(f"{name}=" + ":".join(repr(float(x)) for x in numbers))
    return texts


def ode(
    equations: Optional[str] = None,
    spec: Optional[Spec] = None,
    *,
    iterate: Optional[str] = None,
    set: Optional[Values] = None,
    map: Optional[Ranges] = None,
    size: Union[int, Tuple[int, int], None] = None,
    draw: Union[str, Sequence[str], None] = None,
    n: Optional[float] = None,
    seed: Optional[int] = None,
    value: Union[str, Sequence[str], None] = None,
    method: Optional[str] = None,
    end: Optional[float] = None,
    step: Optional[float] = None,
    tolerance: Optional[float] = None,
    most_steps: Optional[int] = None,
    backend: str = "auto",
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    gpus: Optional[int] = None,
    progress: Progress = None,
) -> Trajectories:
    """Follows trajectories of differential equations that are given as text: a map over parameters and start values, or an ensemble of
    drawn ones.

    >>> lorenz = "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z"
    >>> found = trisolar.ode(lorenz, set={"s": 10, "b": 8 / 3}, map={"r": (0, 100), "y": (-20, 20)}, size=100)
    >>> found.records["lyapunov"].shape
    (100, 100)

    docs/equations.md describes the text. No code is compiled or executed. Other Python threads run meanwhile. Ctrl-C raises
    ``KeyboardInterrupt`` within a second.

    :param equations: the equations, separated by ``;`` or line breaks.
    :param spec: the source of values that are not given below: a mapping with the same names (such as another result's
        ``spec``), TOML text, or the path of a TOML file.
    :param iterate: an iterated map in place of differential equations; :func:`iterate` is the same.
    :param set: parameters and start values, such as ``{"s": 10, "b": 8 / 3}``; a start value that is not given is 1.
    :param map: the axes of a map, columns first, such as ``{"x": (-20, 20), "y": (-20, 20)}`` [without ``draw`` and ``n`` the first two
        numbers of the state, from -2 to 2].
    :param size: pixels of the map, or (columns, rows) [100 for two axes of differential equations, otherwise 300].
    :param draw: numbers that are drawn in each item, such as ``"x=uniform:0:1"``.
    :param n: number of items, if they are not a map [1; with drawn numbers 1000].
    :param seed: seed of all draws [1].
    :param value: the columns: "outcome", "time", "steps", "lyapunov", "megno", and numbers of the state at the end
        ["outcome", or "lyapunov" where there are no outcomes].
    :param method: the integrator: "dop853", "rk4" or "tsit5", and, for equations of two groups, "leapfrog", "forest-ruth" or "kahan-li-8" ["dop853"].
    :param end: time to which trajectories are followed; of an iterated map, the number of iterations [100].
    :param step: step of methods with a fixed one [0.01].
    :param tolerance: error that the others may make in a step, relative to 1 + abs(x) [1e-10].
    :param most_steps: steps of the others after which a trajectory is called stiff [1000000].
    :param backend: the engine: "auto" (GPUs, where there are any, for 4000 items or more), "cpu", "gpu", or "gpu+cpu" (both).
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param gpus: number of GPUs that share the work, which chooses ``backend="gpu"`` [all, but only as many as the items keep busy].
    :param progress: a function that is called a few times a second, in the calling thread, with the number of items that have ended
        and the total number; an exception that it raises ends the computation. ``True`` shows a bar (needs tqdm).
    :returns: the records and their summary.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), or a GPU that failed.
    """
    ode = equations
    set, map = _listed(set), _listed(map)
    draw = draw.split(",") if isinstance(draw, str) else draw
    value = value.split(",") if isinstance(value, str) else value
    options = parameters("equations", locals())
    how = _how(backend, threads, simd, gpus)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    given = source(spec)
    if given.mapping is not None:
        given = Source(mapping={"ode" if k == "equations" else k: v for k, v in given.mapping.items()})
    problem = _trisolar.EquationsProblem(merged(given, options), given.toml, given.file)
    with watching(progress, "items") as tell:
        found = problem.run(*how, tell)
    values: Dict[str, Any] = json.loads(problem.json)
    known = {"equations" if k == "ode" else k: v for k, v in values.items() if v is not None and v != []}
    return Trajectories(found, known, problem.toml)


def iterate(equations: str, spec: Optional[Spec] = None, **options: Any) -> Trajectories:
    """Follows trajectories of an iterated map, as :func:`ode` those of differential equations.

    >>> found = trisolar.iterate("x'=1-a*x^2+y; y'=b*x", map={"a": (1, 1.4), "b": (0, 0.4)}, end=500, size=100)

    :param equations: the next values, such as ``"x'=r*x*(1-x)"``.
    :param spec: as for :func:`ode`.
    :param options: those of :func:`ode`.
    :returns: the records and their summary.
    """
    return ode(None, spec, iterate=equations, **options)
