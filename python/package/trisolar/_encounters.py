"""Complete three-body encounters: which body escapes, when and how fast, and which binary stays behind."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._dataset import dataframes, module, new_axes
from ._progress import Progress, Tell, checked, watching
from ._records import Axis, Recorded
from ._spec import (
    Numbers,
    Spec,
    Vary,
    formulas,
    merged,
    names,
    names_or_none,
    numbers,
    parameters,
    source,
    vary_texts,
    wholes,
)
from ._sweep import Sweep
from ._warnings import warn_of_accuracy, warn_of_doubts
from ._zoom import Zoom

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

ENCOUNTER_OUTCOMES: Dict[int, str] = dict(_trisolar.encounter_outcomes())
"""The outcomes of runs: the numbers in the column ``outcome`` of :attr:`Encounters.records`, with their names."""

_UNITS = {
    "time": {"units": "time"},
    "a": {"units": "length"},
    "v_inf": {"units": "length / time"},
    "least_distance": {"units": "length"},
    "least_distance_time": {"units": "time"},
}
"""Units of the columns that have one."""


class Encounters(Recorded[_trisolar.EncountersFound]):
    """Computed encounters with a record for each. Made by :func:`encounters`.

    ``numpy.asarray(encounters)`` is :attr:`records`.
    """

    def __init__(self, found: _trisolar.EncountersFound, spec: Dict[str, Any], toml: str) -> None:
        self._found = found
        self._map = found.map
        super().__init__(spec, toml, (-1,) if self._map is None else self._map[0][::-1])

    @property
    def records(self) -> npt.NDArray[np.void]:
        """A structured array with a record for each run: (n,), or (height, width) of a map, whose row 0 has the lowest value of the
        second parameter. Read-only; ``records.copy()`` is not.

        Its columns are those of the command line's files (docs/encounters.md): ``outcome`` (see :data:`ENCOUNTER_OUTCOMES`),
        ``body`` (1 to 3; 0: none), ``least_distance_pair`` (12, 23 or 13; 0: none), ``exchanges``, ``excursions``, ``jumps``,
        ``steps`` as uint32; ``time`` (time), ``a`` (length), ``e``, ``v_inf`` (length / time), ``least_distance`` (length),
        ``least_distance_time`` (time), ``energy_error`` and ``momentum_error`` (relative) as float64, not a number where a run
        has none; and ``start_...`` for each parameter in which runs differ.
        """
        return self._records

    @property
    def spec(self) -> Dict[str, Any]:
        """Every value on which the records depend, under the names of :func:`encounters`, except points. As ``spec=`` of another
        call (with ``points``, if there were any) it gives the same records, bit for bit."""
        return dict(self._spec)

    @property
    def summary(self) -> Dict[str, Any]:
        """Outcomes and escapers with their numbers, shares and 95 % intervals, the number of failed runs, lifetimes, and errors: the
        member ``summary`` of ``trisolar encounters --json``."""
        summary: Dict[str, Any] = json.loads(self._found.summary)
        return summary

    @property
    def verdicts(self) -> Optional[npt.NDArray[np.uint8]]:
        """What decides the outcome of each run of encounters that were computed with ``certify=True``, in the shape of :attr:`records`: 0
        agrees (the run ends in the same way with twice the steps, and with a step of which only the last digits differ), 1 step
        (it ends otherwise with twice the steps alone), 2 rounding (it ends otherwise with other last digits) or 3 undecided (one of
        the three runs failed). ``None`` for others. Their shares, and that of rounding against the time to the end, are the member
        ``certificate`` of :attr:`summary`."""
        found = self._found.verdicts
        return None if found is None else np.frombuffer(found, np.uint8).reshape(self._records.shape)

    @property
    def warnings(self) -> List[str]:
        """Reasons why the records may not be what the user intended: failed runs, large energy errors, and runs that a limit ended."""
        return self._found.warnings

    def __repr__(self) -> str:
        outcomes = ", ".join(f"{o['count']} {o['what']}" for o in self.summary["outcomes"])
        return f"<Encounters, {len(self)} runs: {outcomes}, {self.engine}: {self.device}>"

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a data frame, a row for each run; ``outcome`` is a category.

        :raises ImportError: without pandas.
        """
        pandas = dataframes()
        frame = super().to_pandas()
        kinds = pandas.CategoricalDtype(list(ENCOUNTER_OUTCOMES.values()))
        outcomes = pandas.Categorical.from_codes(frame["outcome"].to_numpy(np.int64), dtype=kinds)
        frame["outcome"] = outcomes
        frame.index.name = "run"
        return frame

    def plot(self, ax: Optional[Axes] = None, *, column: Optional[str] = None, **options: Any) -> Axes:
        """Draws with matplotlib: a map of a column, by default of ``body``, or of runs that are not a map its distribution, by default that of
        e² for each body that escapes, beside the thermal one.

        :param ax: where to draw; a new figure if ``None``.
        :param column: the column of :attr:`records`.
        :param options: further options of ``Axes.imshow`` or ``Axes.hist``.
        :raises ImportError: without matplotlib.
        """
        if column is not None or self._map is not None:
            return self._plot(ax, column or "body", options)
        drawn: Any = new_axes(ax)
        for body in (1, 2, 3):
            e2 = self._records["e"][self._records["body"] == body] ** 2
            if e2.size:
                named = {"label": f"body {body} escapes", "density": True, "histtype": "step", "range": (0, 1), **options}
                drawn.hist(e2, bins=int(np.clip(2 * np.cbrt(e2.size), 8, 100)), **named)
        drawn.axhline(1, lw=1, ls="--", color="grey", label="thermal")
        drawn.set(xlabel="e² of the binary", ylabel="probability density", xlim=(0, 1))
        drawn.legend()
        axes: Axes = drawn
        return axes

    def _grid(self) -> List[Axis]:
        if self._map is None:
            return []
        found: List[Axis] = []
        for k, (name, unit) in enumerate(self._map[1]):
            along = np.moveaxis(self._records[f"start_{name.replace('-', '_')}"], 1 - k, 0)
            values = along.reshape(along.shape[0], -1)[:, 0]
            found.append((name, unit, values))
        return found

    def to_xarray(self) -> xarray.Dataset:
        """The records as a dataset, with the parameters of a map as coordinates, otherwise with ``run``. ``attrs`` has the
        specification as TOML text, and the numbers of outcomes. Times, lengths and speeds have units.

        :raises ImportError: without xarray.
        """
        records = self._records
        coordinates: Dict[str, Tuple[str, npt.NDArray[Any], Dict[str, str]]] = {}
        if self._map is None:
            dims: List[str] = ["run"]
            coordinates["run"] = ("run", np.arange(records.size), {})
        else:
            axes = self._map[1]
            if len(axes) == 1:
                records = records[0]
            # Rows are the first axis of the array, columns the last.
            dims = [f"start_{name.replace('-', '_')}" for name, _ in reversed(axes)]
            for axis, (dim, (_, unit)) in enumerate(zip(dims, reversed(axes))):
                values = np.moveaxis(records[dim], axis, 0).reshape(records.shape[axis], -1)[:, 0]
                coordinates[dim] = (dim, values, {"units": unit} if unit else {})
        columns = [name for name in records.dtype.names or () if name not in coordinates]
        variables = {name: (dims, records[name], _UNITS.get(name, {})) for name in columns}
        outcomes = ", ".join(f"{number}: {name}" for number, name in ENCOUNTER_OUTCOMES.items())
        made: xarray.Dataset = module().Dataset(
            variables, coords=coordinates, attrs={"specification": self._toml, "outcomes": outcomes}
        )
        return made

    def save(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        theme: str = "dark",
        y_axis: Optional[str] = None,
    ) -> None:
        """Writes the records, as the command line's ``--out`` does, byte for byte.

        :param path: ``.npz`` or ``.csv``; ``.png``, ``.svg`` or ``.pdf`` for the picture of a map. A file of that name is
            replaced, once the new one is complete.
        :param theme: theme of a picture: "dark" or "light".
        :param y_axis: direction of the vertical axis of a picture: "down" or "up"; without it, upwards.
        :raises ValueError: another extension, or a picture of runs that are not a map.
        :raises OSError: the file cannot be written.
        """
        names(theme=theme, y_axis="" if y_axis is None else y_axis)
        self._found.save(path, theme, y_axis)


def encounters(
    spec: Optional[Spec] = None,
    *,
    setup: Optional[str] = None,
    points: Optional[Any] = None,
    n: Optional[float] = None,
    seed: Optional[int] = None,
    masses: Optional[Numbers] = None,
    a: Optional[float] = None,
    e: Optional[float] = None,
    inclination: Optional[float] = None,
    node: Optional[float] = None,
    argument: Optional[float] = None,
    phase: Optional[float] = None,
    distance: Optional[float] = None,
    v_inf: Optional[float] = None,
    impact: Optional[float] = None,
    x: Optional[float] = None,
    y: Optional[float] = None,
    draw: Union[str, Sequence[str], None] = None,
    map: Union[str, Sequence[str], None] = None,
    size: Union[int, Sequence[int], None] = None,
    precision: Optional[str] = None,
    order: Optional[int] = None,
    steps_per_period: Optional[float] = None,
    jump: Union[float, str, None] = None,
    escape_radius: Optional[float] = None,
    radii: Optional[Numbers] = None,
    max_time: Optional[float] = None,
    max_steps: Optional[float] = None,
    max_error: Optional[float] = None,
    certify: bool = False,
    backend: str = "auto",
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    gpus: Optional[int] = None,
    progress: Progress = None,
) -> Encounters:
    """Integrates three-body encounters to their ends (G = 1): which body escapes, when and how fast, and which binary stays behind.

    >>> found = trisolar.encounters(n=10_000, draw="inclination=isotropic")
    >>> found.records["time"].mean()
    >>> found.to_pandas().groupby("body").size()

    Names and defaults are those of the command line ``trisolar encounters``. Run i depends only on the seed and i, and has the
    same bits on every CPU and GPU.

    Other Python threads run meanwhile. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below: a mapping with the same names (such as another result's
        ``spec``), TOML text, or the path of a TOML file.
    :param setup: the kind of start: "binary-single", "free-fall" or "burrau" ["binary-single"].
    :param points: start states, (n, 21): positions, velocities and masses of bodies 1, 2 and 3.
    :param n: number of runs, 1 to 2**32 [10000; burrau: 1].
    :param seed: seed of all draws [1].
    :param masses: masses of bodies 1, 2 (the binary) and 3 (mass) [15, 17.5, 12.5; free-fall: 1, 1, 1].
    :param a: semi-major axis of the binary (length) [5].
    :param e: eccentricity of the binary [0].
    :param inclination: angle between the binary's angular momentum and the direction in which the single body comes in (degrees)
        [uniform; in a map 90].
    :param node: longitude of the binary's ascending node (degrees) [0].
    :param argument: argument of the binary's pericentre (degrees) [0].
    :param phase: mean anomaly of the binary (degrees) [uniform; in a map 0].
    :param distance: distance of the single body from the binary's centre of mass (length) [100].
    :param v_inf: velocity of the single body at infinity (length / time) [at rest at its distance].
    :param impact: impact parameter of the single body (length) [0].
    :param x: free-fall: x of body 3 (length) [drawn in the region of Agekyan and Anosova (1967); in a map 0.2].
    :param y: free-fall: y of body 3 (length) [likewise; in a map 0.5].
    :param draw: parameters that are drawn: "NAME=LAW" or "NAME=LAW:LOW:HIGH", one or a sequence, such as
        "inclination=isotropic", "e=thermal" or "impact=disc:0:20".
    :param map: a map over one or two parameters, columns first: "NAME" or "NAME=LOW:HIGH", such as "phase,inclination".
    :param size: pixels of the map: its width, or width and height [300].
    :param precision: the arithmetic of the steps: "f64", or "fast" (the GPU's approximate reciprocals, refined to 12 digits: the
        bits depend on the device, and on a CPU they are those of f64) ["f64"].
    :param order: order of the integrator: 2, 6 or 8 [6].
    :param steps_per_period: steps in a period of a circular binary of the lightest two bodies (more than that for heavier pairs,
        and for bodies that are much lighter than the others), 10 to 1e6 [1000, 50, 35 at order 2, 6, 8].
    :param jump: tolerance of jumps over excursions, 1e-12 to 1e-4, or "off" [1e-6].
    :param escape_radius: distance at which an unbound body has escaped, 5 to 1e6 (semi-major axes of the binary) [20].
    :param radii: radii of bodies 1, 2 and 3, which collide when they touch (length) [0, 0, 0].
    :param max_time: time at which open runs end (time) [none].
    :param max_steps: number of steps after which open runs end, 1 to 4e9 [4000000].
    :param max_error: the relative energy error of any run above which the computation fails with a ``RuntimeError``, as it then
        does if any run fails [none; a failed run, or an error above 1e-6, is a warning].
    :param certify: integrate all runs again, with twice the steps and with other last digits, for :attr:`Encounters.verdicts`; takes four times
        as long.
    :param backend: the engine: "auto" (GPUs, where there are any, for 20000 runs or more), "cpu", "gpu", or "gpu+cpu"
        (both together).
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param gpus: number of GPUs that share the work, which chooses ``backend="gpu"`` [all, but only as many as the runs can
        keep busy].
    :param progress: a function that is called a few times a second, in the calling thread, with the number of runs that
        have ended and the total number; an exception that it raises ends the computation. ``True`` shows a bar (needs
        tqdm).
    :returns: the records and their summary.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or an energy error above ``max_error``.

    Energy errors above 1e-6 give an :class:`AccuracyWarning`, and runs that failed or that a limit ended give a
    :class:`TrisolarWarning`; both are subclasses of ``UserWarning``.
    """
    options = parameters("encounters", locals())
    how = _how(backend, threads, simd, gpus)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    given = source(spec)
    array = None
    if points is not None:
        values = np.ascontiguousarray(numbers("points", points))
        array = (list(values.shape), values.tobytes())
    problem = _trisolar.EncountersProblem(merged(given, options), given.toml, given.file, array)
    with watching(progress, "encounters") as tell:
        return _computed(problem, how, tell, bool(certify))


_How = Tuple[str, Optional[int], Optional[str], Optional[int]]


def _computed(
    problem: _trisolar.EncountersProblem, how: _How, tell: Optional[Tell], certify: bool = False
) -> Encounters:
    """Computes encounters for a function that a user called, and warns there."""
    found = problem.run(*how, tell, certify)
    all_values = {k: v for k, v in json.loads(problem.json).items() if v is not None and v != []}
    warn_of_accuracy(found.accuracy_warning, stacklevel=3)
    others = (message for message in found.warnings if message != found.accuracy_warning)
    warn_of_doubts(others, stacklevel=3)
    found.check()
    return Encounters(found, all_values, problem.toml)


def _how(backend: str, threads: Optional[int], simd: Optional[str], gpus: Optional[int]) -> _How:
    """The checked options of a computation."""
    names(backend=backend)
    names_or_none(simd=simd)
    wholes(threads=threads, gpus=gpus)
    return backend, threads, simd, gpus


def encounters_zoom(
    spec: Optional[Spec] = None,
    *,
    to: Union[float, Sequence[float]],
    frames: int = 100,
    set: Union[str, Sequence[str]] = (),
    backend: str = "auto",
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    gpus: Optional[int] = None,
    progress: Progress = None,
    **options: object,
) -> Zoom[Encounters]:
    """Computes a zoom into a map of outcomes: an iterator of maps of which each has a smaller range about the same point.

    >>> for found in trisolar.encounters_zoom(map="phase=225:255,inclination=0:40", argument=270, to=(230.275953814, 24), frames=40):
    ...     print(found.spec["map"], (found.records["body"] == 1).mean())

    Names and defaults are those of the command line ``trisolar encounters zoom``. Every frame is checked before the first is
    computed. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below, as for :func:`encounters`.
    :param to: the point of the map that keeps its place: its value along the columns, and along the rows if the map has them.
    :param frames: number of frames, 1 to 99999. Fewer than 100 frames cover the same ranges in longer strides, unless ``set`` has a
        formula of the span; more frames go on beyond them.
    :param set: a formula for a parameter, such as "span=span/2^(frame/5)", or several ["span=span/2^(frame/10)"].
    :param backend: the engine, as for :func:`encounters`.
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine, as for :func:`encounters`.
    :param gpus: number of GPUs, as for :func:`encounters`.
    :param progress: a function that is called after each frame with the number of frames done and the total number; an
        exception of it ends the zoom. ``True`` shows a bar (needs tqdm).
    :param options: options of every map, as for :func:`encounters`, such as ``map``, ``size`` or ``max_error``.
    :returns: the maps, one after the other; :meth:`Zoom.to_xarray` puts them together.
    :raises ValueError: a value that is not allowed, in any frame, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a specification file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or an energy error above ``max_error``.
    """
    given = source(spec)
    checked(progress)
    how = _how(backend, threads, simd, gpus)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    wholes(frames=frames)
    point = [float(x) for x in numbers("to", to).ravel()]
    found = _trisolar.encounters_zoom_frames(
        merged(given, options), given.toml, given.file, point, formulas(set), frames
    )
    return Zoom(_zoom_maps(found, how, progress))


def _zoom_maps(
    problems: List[_trisolar.EncountersProblem], how: _How, progress: Progress
) -> Iterator[Encounters]:
    with watching(progress, "zoom") as tell:
        for done, problem in enumerate(problems, 1):
            found = _computed(problem, how, None)
            if tell is not None:
                tell(done, len(problems))
            yield found


def encounters_sweep(
    spec: Optional[Spec] = None,
    *,
    vary: Vary,
    backend: str = "auto",
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    gpus: Optional[int] = None,
    progress: Progress = None,
    **options: object,
) -> Sweep[Encounters]:
    """Computes an ensemble for each value of a parameter, or for each pair of values of two: an iterator of the values and the
    ensemble.

    >>> for values, found in trisolar.encounters_sweep(vary={"mass3": "5:40:8"}, n=10_000):
    ...     print(values["mass3"], found.summary["escapers"])

    Names and defaults are those of the command line ``trisolar encounters sweep``. Every ensemble is checked before the first is
    computed. The second parameter varies fastest. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below, as for :func:`encounters`.
    :param vary: one parameter or two, with their values, as for :func:`sweep`. Names are those of ``--vary`` in the help of the
        command line, such as mass3, e, v-inf or impact. In each ensemble all runs have the value.
    :param backend: the engine, as for :func:`encounters`.
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine, as for :func:`encounters`.
    :param gpus: number of GPUs, as for :func:`encounters`.
    :param progress: a function that is called after each ensemble with the number of ensembles done and the total number; an
        exception that it raises ends the sweep. ``True`` shows a bar (needs tqdm).
    :param options: options of every ensemble, as for :func:`encounters`, such as ``n``, ``seed`` or ``max_error``.
    :returns: the values of the parameters by name, and the ensemble, one after the other; :meth:`Sweep.to_xarray` puts them together.
    :raises ValueError: a value that is not allowed, in any ensemble, or a parameter that is varied twice; with the message of
        the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a specification file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or an energy error above ``max_error``.
    """
    given = source(spec)
    checked(progress)
    how = _how(backend, threads, simd, gpus)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    found, units = _trisolar.encounters_sweep_frames(
        merged(given, options), given.toml, given.file, vary_texts(vary)
    )
    return Sweep(_ensembles(found, how, progress), dict(units), "start_")


def _ensembles(
    frames: List[Tuple[_trisolar.EncountersProblem, List[Tuple[str, float]]]],
    how: _How,
    progress: Progress,
) -> Iterator[Tuple[Dict[str, float], Encounters]]:
    with watching(progress, "sweep") as tell:
        for done, (problem, values) in enumerate(frames, 1):
            found = _computed(problem, how, None)
            if tell is not None:
                tell(done, len(frames))
            yield dict(values), found
