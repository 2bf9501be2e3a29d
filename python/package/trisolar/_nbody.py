"""All-pairs N-body: bodies that all attract each other, as an iterator of states."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._dataset import dataframes, new_axes
from ._progress import Progress, checked
from ._run import Data, Run
from ._spec import (
    Numbers,
    Path,
    Spec,
    arrays_of,
    files_of,
    merged,
    names,
    names_or_none,
    parameters,
    source,
    wholes,
)
from ._warnings import warn_of_doubts

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


class Diagnostics(TypedDict):
    """Sums over all bodies, in the units of the run."""

    kinetic: float
    """Kinetic energy."""
    potential: float
    """Potential energy, softened."""
    total: float
    """The sum of the kinetic and the potential energy."""
    internal: float
    """The energy without the motion of the centre of mass, from which the error of a run follows."""
    momentum: List[float]
    """3 numbers (mass length / time)."""
    angular_momentum: List[float]
    """3 numbers, about the origin (mass length^2 / time)."""
    centre_of_mass: List[float]
    """3 numbers (length)."""
    virial_ratio: float
    """Kinetic energy relative to the centre of mass over the magnitude of the potential."""
    lagrange: List[float]
    """Radii about the centre of mass that hold 10, 25, 50, 75 and 90 % of the mass (length)."""


class NbodyState(Data):
    """The bodies after some steps. Made by :func:`nbody`; another run can continue from it with ``bodies=``. States can be pickled."""

    def __init__(self, state: _trisolar.NbodyState) -> None:
        self._step = state.step
        self._time = state.time
        self._told = state.told
        self._mass: npt.NDArray[np.float64] = np.asarray(state.mass)
        self._position: npt.NDArray[np.float64] = np.asarray(state.position)
        self._velocity: npt.NDArray[np.float64] = np.asarray(state.velocity)

    @property
    def step(self) -> int:
        """Steps taken."""
        return self._step

    @property
    def time(self) -> float:
        """Time of the start plus ``step`` times ``dt`` (time)."""
        return self._time

    @property
    def mass(self) -> npt.NDArray[np.float64]:
        """Masses: float64, (n,) (mass). Read-only, as all arrays here, because they share the memory of the computation."""
        return self._mass

    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Positions: float64, (n, 3) (length); z is 0 in two dimensions."""
        return self._position

    @property
    def velocity(self) -> npt.NDArray[np.float64]:
        """Velocities: float64, (n, 3) (length / time)."""
        return self._velocity

    def diagnostics(self) -> Diagnostics:
        """Energies, momenta and radii. The potential takes a time proportional to the square of the number of bodies; other Python
        threads run meanwhile."""
        spec = json.loads(self._told[0] or "{}")
        arrays = (self._mass.tobytes(), self._position.tobytes(), self._velocity.tobytes(), 3)
        found: Diagnostics = json.loads(_trisolar.nbody_diagnostics(arrays, spec["g"], spec["softening"]))
        return found

    def __repr__(self) -> str:
        return f"<NbodyState of {len(self._mass)} bodies, step {self.step}, time {self.time:g}>"


class Nbody(Run[NbodyState, _trisolar.NbodyState]):
    """A running integration, an iterator of :class:`NbodyState`. Made by :func:`nbody`.

    It computes in a thread of its own, one state ahead. It ends when it is exhausted, closed (:meth:`close`, or the end
    of a ``with`` block) or garbage-collected.
    """

    _name = "nbody"

    _start: Optional[Tuple[float, float, float]] = None

    def _state(self, found: _trisolar.NbodyState) -> NbodyState:
        return NbodyState(found)

    def _row(self, state: NbodyState) -> Dict[str, float]:
        found = state.diagnostics()
        if self._start is None:
            self._start = (found["kinetic"], found["potential"], found["internal"])
        row = {
            "time": state.time,
            "step": state.step,
            "kinetic": found["kinetic"],
            "potential": found["potential"],
            "total": found["total"],
            "energy_error": _trisolar.energy_error(self._start, found["internal"]),
            "virial_ratio": found["virial_ratio"],
        }
        for name in ("momentum", "angular_momentum", "centre_of_mass"):
            row.update({f"{name}_{axis}": x for axis, x in zip("xyz", found[name])})
        radii = zip((10, 25, 50, 75, 90), found["lagrange"])
        row.update({f"lagrange_{percent}": radius for percent, radius in radii})
        return row

    def __repr__(self) -> str:
        return f"<Nbody, {self._spec['steps']} steps, {self.engine}: {self.device}>"


def nbody(
    spec: Optional[Spec] = None,
    *,
    model: Optional[str] = None,
    input: Optional[Any] = None,
    bodies: Union[Mapping[str, npt.ArrayLike], NbodyState, Any, None] = None,
    n: Optional[int] = None,
    seed: Optional[int] = None,
    perturb: Optional[float] = None,
    w0: Optional[float] = None,
    half_width: Optional[float] = None,
    speed: Optional[float] = None,
    masses: Optional[Numbers] = None,
    radius: Optional[float] = None,
    semi_major: Optional[float] = None,
    eccentricity: Optional[float] = None,
    mass_ratio: Optional[float] = None,
    units: Optional[str] = None,
    g: Optional[float] = None,
    softening: Optional[float] = None,
    dt: Optional[float] = None,
    steps: Optional[int] = None,
    end: Optional[float] = None,
    dimensions: Optional[int] = None,
    integrator: Optional[str] = None,
    tolerance: Optional[float] = None,
    solver: Optional[str] = None,
    precision: Optional[str] = None,
    energy: Optional[str] = None,
    max_error: Optional[float] = None,
    every: Optional[int] = None,
    backend: str = "auto",
    device: Optional[int] = None,
    gpus: Optional[int] = None,
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    schedule: str = "dynamic",
    partials: str = "rows",
    series: Optional[Path] = None,
    snapshots: Optional[Path] = None,
    checkpoint: Optional[Path] = None,
    resume: Optional[Path] = None,
    progress: Progress = None,
) -> Nbody:
    """Integrates bodies that all attract each other: an iterator of their states at the start, after every ``every`` steps,
    and after the last.

    >>> for state in trisolar.nbody(model="figure-eight", steps=2000, every=500):
    ...     print(state.step, state.position[0])

    Names and defaults are those of the command line ``trisolar nbody``; without options 1024 bodies of a Plummer sphere
    take 1000 steps. Lengths, times and masses are in any consistent units: ``units`` or ``g`` tie them together. In f64 a run
    has the same bits on every CPU and GPU, for any number of threads.

    Other Python threads run meanwhile. Ctrl-C raises ``KeyboardInterrupt`` within a second, between the steps of a run
    and within one.

    :param spec: the source of values that are not given below: a mapping with the same names (such as another run's
        ``spec``), TOML text, or the path of a TOML file (a ``pathlib.Path``, or a string that ends in ``.toml``).
    :param model: start model: "plummer", "king", "cube", "sphere", "kepler", "burrau", "figure-eight", "lagrange", "line",
        "outer-planets", "solar-system" or "six-bodies" ["plummer"].
    :param input: start from a file of bodies: .npz; .tipsy, .std or .bin (TIPSY); or text, such as .csv.
    :param bodies: start from arrays: ``mass`` (n,), ``position`` and ``velocity`` (n, 3), or (n, 2) in the plane, in a
        mapping (such as what ``numpy.load`` makes of an npz) or an object with these names (such as a state of another
        run); a pandas data frame with the columns ``mass`` (or ``m``), ``x``, ``y``, ``z``, ``vx``, ``vy`` and ``vz``; or a
        ``rebound.Simulation``, with its G and time. The values that a state or an npz has are used unless an option overrides them: G, softening, time, time step,
        names, dimensions.
    :param n: number of bodies of the model [1024; line: 4], or the number that the file must have.
    :param seed: seed of a random model, or of ``perturb`` [1].
    :param perturb: move the bodies at the start, each coordinate by a random number up to this share of their root mean square distance from their
        mean position; above 0, at most 1.
    :param w0: king: dimensionless central potential, 0.1 to 16 [6].
    :param half_width: cube: half the edge (length) [1].
    :param speed: cube: largest component of a velocity (length / time) [0].
    :param masses: cube: least and greatest mass [all equal, with the sum 1].
    :param radius: sphere: the radius (length) [1].
    :param semi_major: kepler: half the major axis (length) [1].
    :param eccentricity: kepler: from 0 to below 1 [0.5].
    :param mass_ratio: kepler: mass of the second body, relative to that of the first [1].
    :param units: units of lengths, times and masses, which determine ``g``, such as "au,yr,msun" or "pc,myr,msun"; the units are m, km,
        rearth, rsun, au, pc and kpc; s, hours, days, yr, kyr, myr and gyr; kg, mearth, mjup and msun [none].
    :param g: gravitational constant (length^3 / mass / time^2) [that of the model's units or of the file or bodies;
        otherwise 6.673e-11 for text of five columns, the format of Pacheco & Malensek (2021), and 1 for others; ``notes`` says so].
    :param softening: softening length (length) [that of the file or bodies, or 0].
    :param dt: time step (time) [one that suits the model, that of the file or bodies, or 0.001].
    :param steps: number of steps [those of a period or of the known history for "kepler", "burrau", "figure-eight", "lagrange",
        "outer-planets" and "solar-system"; 1000 for others].
    :param end: time at which the run ends, on the clock of the file if it has one, instead of ``steps`` (time).
    :param dimensions: 2 (the plane z = 0) or 3.
    :param integrator: "explicit-euler", "symplectic-euler", "leapfrog", "velocity-verlet", "forest-ruth",
        "adams-bashforth-2", "adams-bashforth-4", "runge-kutta-4", or "adaptive" (order 8, as many steps within each ``dt`` as ``tolerance``
        asks for, on CPUs); :func:`compare_integrators` compares several ["velocity-verlet"; "forest-ruth" for
        "kepler", "burrau", "figure-eight", "lagrange", "outer-planets" and "solar-system"].
    :param tolerance: "adaptive": largest error of a step, relative to the distance of the nearest body and the speed of an orbit about it,
        1e-15 to 1e-3 [1e-12].
    :param solver: "basic" (each pair twice) or "reduced" (each pair once): their sums differ in the last bits
        ["reduced"].
    :param precision: "f64" (the same bits on every machine), "f32", or "float-float" (pairs of f32); in the last two, a GPU has
        other last bits than a CPU ["f64"].
    :param energy: when to evaluate the energy, which gives the error of the run: "ends" (at the start and the end; this takes
        a time proportional to the square of the number of bodies) or "none" ["ends"].
    :param max_error: the relative energy error above which the run fails with a ``RuntimeError``, after its last state
        [none; above 0.01 there is a warning].
    :param every: number of steps between two states [all: the start and the end; a thousandth of them with ``series`` or ``snapshots``].
    :param backend: the engine: "auto" (a GPU for 2048 bodies and more, if one can be used), "cpu" or "gpu".
    :param device: number of the GPU, or of the first of several; it must exist [0].
    :param gpus: number of GPUs that compute together, from ``device`` on, 1 to 64, all of which must exist; their number
        changes no bit [all from 131072 bodies on].
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use; 1 for few bodies].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param schedule: how threads share rows of bodies: "dynamic" (a free thread takes the next row), "block", "cyclic", or
        "cyclic-forces" (cyclic, but sums in blocks).
    :param partials: partial sums of the reduced solver on the CPU: "rows" (the same bits for any number of threads) or
        "threads" (less memory for many bodies, but the last bits depend on threads and schedule).
    :param series: file for the diagnostics of all states, .npz or .csv.
    :param snapshots: folder for the states: 00000.npz, 00001.npz, ...
    :param checkpoint: file (.npz) that is renewed about once a second, at the end, and when the run is closed or interrupted; ``resume``
        and ``trisolar nbody --resume`` go on from it, and the files get the bytes of an uninterrupted run.
    :param resume: a checkpoint, whose run goes on with all its options and files; only ``end``, ``steps``, ``max_error`` and how to compute
        can be given as well. The states are those that the run has not recorded yet.
    :param progress: a function that is called a few times a second, in the thread that waits for a state, with the number
        of steps done and the total number; an exception that it raises ends the run. ``True`` shows a bar (needs tqdm).
    :returns: the run, an iterator.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, coordinates that are no longer finite
        numbers, or an energy error above ``max_error``.

    Doubtful values (such as a step too long for a close pair) give a :class:`TrisolarWarning`, a large energy error at the
    end gives an :class:`AccuracyWarning`; both are subclasses of ``UserWarning``.
    """
    options = parameters("nbody", locals())
    names(backend=backend, schedule=schedule, partials=partials)
    names_or_none(simd=simd)
    wholes(every=every, threads=threads, device=device, gpus=gpus)
    files = files_of(resume, spec, bodies, series=series, snapshots=snapshots, checkpoint=checkpoint)
    given = source(spec)
    arrays, told = arrays_of(bodies)
    problem = _trisolar.NbodyProblem(merged(given, options), given.toml, given.file, arrays, told, resume)
    warn_of_doubts(problem.warnings, stacklevel=2)
    checked(progress)
    values = {name: value for name, value in json.loads(problem.json).items() if value is not None}
    computing = problem.run(files, every, backend, threads, simd, schedule, partials, device, gpus)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    return Nbody(computing, values, problem.toml, progress)


class IntegratorComparison(Data):
    """The energy errors of one start by several integrators. Made by :func:`compare_integrators`."""

    def __init__(self, errors: Dict[str, Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]) -> None:
        self._errors = errors

    @property
    def errors(self) -> Dict[str, Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        """Times, and the relative errors of the energy at these times, by integrator."""
        return dict(self._errors)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with a column of relative energy errors for each integrator, by time.

        :raises ImportError: without pandas.
        """
        made = dataframes()
        columns = {name: made.Series(error, index=time) for name, (time, error) in self._errors.items()}
        frame: pandas.DataFrame = made.DataFrame(columns)
        return frame.rename_axis("time")

    def plot(self, ax: Optional[Axes] = None, **options: Any) -> Axes:
        """Draws the sizes of the errors over time with matplotlib, on a logarithmic axis.

        :param ax: where to draw; a new figure if ``None``.
        :param options: further options of ``Axes.semilogy``.
        :raises ImportError: without matplotlib.
        """
        drawn: Any = new_axes(ax)
        for name, (time, error) in self._errors.items():
            size = np.abs(error)
            drawn.semilogy(time, np.where(size > 0, size, np.nan), **{"label": name, "lw": 1, **options})
        drawn.set(xlabel="time", ylabel="relative energy error")
        drawn.legend()
        axes: Axes = drawn
        return axes

    def __repr__(self) -> str:
        return f"<IntegratorComparison of {', '.join(self._errors)}>"


def compare_integrators(integrators: Sequence[str], *, records: int = 200, **options: Any) -> IntegratorComparison:
    """Integrates one start by each of several integrators, and returns their energy errors.

    >>> trisolar.compare_integrators(["leapfrog", "forest-ruth", "adaptive"], model="kepler").plot()

    If neither ``steps`` nor ``end`` is given, all runs end with the one that would end first.

    :param integrators: names, as in :func:`nbody`.
    :param records: number of times at which the errors are known, at least 1.
    :param options: options of :func:`nbody` for all runs; ``tolerance`` is for "adaptive" only.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    """
    if isinstance(integrators, str) or not integrators:
        raise ValueError("integrators must be a list of names, such as ['leapfrog', 'forest-ruth']")
    if records < 1:
        raise ValueError(f"records must be 1 or more, not {records}")
    tolerance = options.pop("tolerance", None)
    of: Dict[str, Dict[str, Any]] = {}
    ends: List[float] = []
    for name in integrators:
        of[name] = {**options, "integrator": name}
        if name == "adaptive":
            of[name]["tolerance"] = tolerance
        with nbody(**of[name]) as run:
            start = next(run)
            ends.append(start.time + run.spec["steps"] * run.spec["dt"])
            of[name]["dt"] = run.spec["dt"]
    if options.get("steps") is None and options.get("end") is None:
        for values in of.values():
            values["end"] = min(ends)
    errors: Dict[str, Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}
    for name, values in of.items():
        with nbody(**values) as run:
            steps = run.spec["steps"]
        rows = nbody(**{**values, "every": max(1, steps // records)}).to_pandas()
        errors[name] = (rows.index.to_numpy(), rows["energy_error"].to_numpy())
    return IntegratorComparison(errors)
