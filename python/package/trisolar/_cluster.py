"""Star clusters by Hermite integration with individual block time steps, as an iterator of states."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._progress import Progress, checked
from ._run import Data, Run
from ._spec import Path, Spec, arrays_of, files_of, merged, names, names_or_none, parameters, source, wholes
from ._warnings import warn_of_doubts

LAGRANGE_FRACTIONS: Tuple[float, ...] = tuple(_trisolar.lagrange_fractions())
"""The fractions of the mass whose radii :attr:`ClusterState.lagrange_radii` holds."""


class ClusterState(Data):
    """The particles at one time. Made by :func:`cluster`. States can be pickled."""

    def __init__(self, state: _trisolar.ClusterState, start: Optional[Tuple[float, float, float]]) -> None:
        self._time = state.time
        self._told = state.told
        self._kinetic = state.kinetic
        self._potential = state.potential
        self._blocks = state.blocks
        self._steps = state.steps
        self._centre: npt.NDArray[np.float64] = np.asarray(state.centre)
        self._core_radius = state.core_radius
        self._lagrange_radii: npt.NDArray[np.float64] = np.asarray(state.lagrange_radii)
        self._binaries = state.binaries
        self._mass: npt.NDArray[np.float64] = np.asarray(state.mass)
        self._position: npt.NDArray[np.float64] = np.asarray(state.position)
        self._velocity: npt.NDArray[np.float64] = np.asarray(state.velocity)
        self._internal = state.internal
        self._start = (self._kinetic, self._potential, self._internal) if start is None else start

    @property
    def time(self) -> float:
        """Time (N-body units, G = 1)."""
        return self._time

    @property
    def mass(self) -> npt.NDArray[np.float64]:
        """Masses: float64, (n,) (mass). Read-only, as all arrays here, because they share the memory of the computation."""
        return self._mass

    @property
    def position(self) -> npt.NDArray[np.float64]:
        """Positions: float64, (n, 3) (length)."""
        return self._position

    @property
    def velocity(self) -> npt.NDArray[np.float64]:
        """Velocities: float64, (n, 3) (length / time)."""
        return self._velocity

    @property
    def kinetic(self) -> float:
        """Kinetic energy (mass length² / time²)."""
        return self._kinetic

    @property
    def potential(self) -> float:
        """Potential energy, softened (mass length² / time²)."""
        return self._potential

    @property
    def energy(self) -> float:
        """The sum of the kinetic and the potential energy (mass length² / time²)."""
        return self._kinetic + self._potential

    @property
    def energy_error(self) -> float:
        """The change of the internal energy since the start, relative to its magnitude then, a number without unit. The motion of the
        centre of mass does not count."""
        return _trisolar.energy_error(self._start, self._internal)

    @property
    def centre(self) -> npt.NDArray[np.float64]:
        """The density centre: float64, (3,) (length)."""
        return self._centre

    @property
    def core_radius(self) -> float:
        """The core radius (length); not a number for fewer than 7 particles."""
        return self._core_radius

    @property
    def lagrange_radii(self) -> npt.NDArray[np.float64]:
        """Radii about the density centre that hold :data:`LAGRANGE_FRACTIONS` of the mass: float64, (8,) (length)."""
        return self._lagrange_radii

    @property
    def binaries(self) -> Optional[int]:
        """The number of binaries; ``None`` unless ``close_pairs="regularised"``."""
        return None if self._binaries is None else self._binaries[0]

    @property
    def hardest_a(self) -> Optional[float]:
        """The semi-major axis of the most strongly bound binary (length); ``None`` without one."""
        hardest = None if self._binaries is None else self._binaries[1]
        return None if hardest is None else hardest[0]

    @property
    def hardest_e(self) -> Optional[float]:
        """The eccentricity of the most strongly bound binary; ``None`` without one."""
        hardest = None if self._binaries is None else self._binaries[1]
        return None if hardest is None else hardest[1]

    @property
    def blocks(self) -> int:
        """Block steps so far."""
        return self._blocks

    @property
    def steps(self) -> int:
        """Steps of particles so far."""
        return self._steps

    def __repr__(self) -> str:
        return (
            f"<ClusterState of {len(self._mass)} particles, time {self.time:g}, "
            f"energy error {self.energy_error:.2g}>"
        )


class Cluster(Run[ClusterState, _trisolar.ClusterState]):
    """A running integration, an iterator of :class:`ClusterState`. Made by :func:`cluster`.

    It computes in a thread of its own, one state ahead. It ends when it is exhausted, closed (:meth:`close`, or the end
    of a ``with`` block) or garbage-collected.
    """

    _name = "cluster"

    def __init__(
        self, computing: _trisolar.TimeRun[_trisolar.ClusterState], spec: Dict[str, Any], toml: str, progress: Progress
    ) -> None:
        super().__init__(computing, spec, toml, progress)
        self._block_steps = str(computing.block_steps)
        self._start: Optional[Tuple[float, float, float]] = None

    def _state(self, found: _trisolar.ClusterState) -> ClusterState:
        state = ClusterState(found, self._start)
        self._start = state._start
        return state

    def _row(self, state: ClusterState) -> Dict[str, float]:
        row = {
            "time": state.time,
            "blocks": state.blocks,
            "steps": state.steps,
            "kinetic": state.kinetic,
            "potential": state.potential,
            "total": state.energy,
            "energy_error": state.energy_error,
            "core_radius": state.core_radius,
        }
        radii = zip(LAGRANGE_FRACTIONS, state.lagrange_radii)
        row.update({f"lagrange_{100 * fraction:g}": float(radius) for fraction, radius in radii})
        if state.binaries is not None:
            row["binaries"] = state.binaries
            row["hardest_a"] = np.nan if state.hardest_a is None else state.hardest_a
            row["hardest_e"] = np.nan if state.hardest_e is None else state.hardest_e
        return row

    @property
    def block_steps(self) -> str:
        """The place where block steps are computed: ``"host"`` or ``"device"``."""
        return self._block_steps

    def __repr__(self) -> str:
        return f"<Cluster, order {self._spec['order']}, to {self._spec['end']:g}, {self.engine}: {self.device}>"


def cluster(
    spec: Optional[Spec] = None,
    *,
    input: Optional[Any] = None,
    bodies: Union[Mapping[str, npt.ArrayLike], ClusterState, Any, None] = None,
    model: Optional[str] = None,
    w0: Optional[float] = None,
    n: Optional[int] = None,
    seed: Optional[int] = None,
    order: Optional[int] = None,
    softening: Optional[float] = None,
    eta: Optional[float] = None,
    eta_start: Optional[float] = None,
    max_step: Optional[float] = None,
    min_step: Optional[float] = None,
    iterations: Optional[int] = None,
    precision: Optional[str] = None,
    scheme: Optional[str] = None,
    neighbours: Optional[int] = None,
    eta_regular: Optional[float] = None,
    close_pairs: Optional[str] = None,
    pair_radius: Optional[float] = None,
    end: Optional[float] = None,
    steps: Optional[int] = None,
    every: Optional[float] = None,
    max_error: Optional[float] = None,
    backend: str = "auto",
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    gpus: Optional[int] = None,
    block_step: str = "auto",
    series: Optional[Path] = None,
    snapshots: Optional[Path] = None,
    checkpoint: Optional[Path] = None,
    resume: Optional[Path] = None,
    progress: Progress = None,
) -> Cluster:
    """Integrates a star cluster with individual block time steps, G = 1: an iterator of its states at the start
    (time 0, unless its file has another time), after every ``every``, and at ``end``.

    >>> for state in trisolar.cluster(n=256, end=2):
    ...     print(state.time, state.energy_error, state.core_radius)

    Names and defaults are those of the command line ``trisolar cluster``; without options it is a Plummer model of 1024
    particles. A run has the same bits on every CPU and GPU, for any number of threads.

    Other Python threads run meanwhile. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below: a mapping with the same names (such as another run's
        ``spec``), TOML text, or the path of a TOML file (a ``pathlib.Path``, or a string that ends in ``.toml``).
    :param input: start from a file: .npz; .tipsy, .std or .bin (TIPSY); or text with a particle on each line, such as .csv.
        The values that it has are used unless an option overrides them: softening, time, names, and G, by which masses are
        multiplied.
    :param bodies: start from arrays: ``mass`` (n,), ``position`` and ``velocity`` (n, 3), in a mapping (such as what
        ``numpy.load`` makes of an npz) or an object with these names (such as a state of another run). Their values
        are used like those of a file.
    :param model: start model in Henon units: "plummer" or "king"; or a few bodies: "burrau" or
        "figure-eight" ["plummer"].
    :param w0: dimensionless central potential of the King model, 0.1 to 16 [6].
    :param n: number of particles of the model [1024].
    :param seed: seed of the model [1].
    :param order: order of the scheme: 4, 6 or 8 [6; 4 with ahmad-cohen].
    :param softening: softening length (length) [that of the file or bodies, or 4/n; 0 for fewer than 100 bodies of a file or of
        ``bodies`` or 5 of a model, for a model of few bodies and with ``close_pairs="regularised"``].
    :param eta: accuracy parameter of the time step [0.1, 0.5, 0.75 at order 4, 6, 8].
    :param eta_start: accuracy parameter of the first step [0.01, 0.1, 0.1 at order 4, 6, 8].
    :param max_step: longest step, a power of two (time) [0.0625].
    :param min_step: shortest step, a power of two (time); without it a step that is too small to advance the time is an error.
    :param iterations: evaluations and corrections per step, 1 to 100 [1].
    :param precision: precision of pairs: "f64", or "split-f32" (f32 pairs, positions and accelerations as sums of two f32)
        ["f64"].
    :param scheme: how forces are evaluated: "plain" (all at the same steps) or "ahmad-cohen" (those of neighbours at
        shorter steps, order 4) ["plain"].
    :param neighbours: ahmad-cohen: number of neighbours that a particle should have, 1 to 4096 [the root of n, 10 to 50].
    :param eta_regular: ahmad-cohen: accuracy parameter of the steps of regular forces [0.1].
    :param close_pairs: how bound pairs that are closer than ``pair_radius`` are integrated: "plain" (as all other particles) or
        "regularised" (a pair is one particle with a Kepler orbit that the tide of the others disturbs; without softening)
        ["plain"].
    :param pair_radius: largest apocentre of the pairs that ``close_pairs="regularised"`` regularises (length) [4/n].
    :param end: time at which the run ends; a time before the start is reached by running backwards [1 after the start;
        70 for "burrau", a period for "figure-eight"].
    :param steps: number of longest steps (``max_step``) after which the run ends, instead of ``end``.
    :param every: time between two states [0.25].
    :param max_error: the relative energy error above which the run fails with a ``RuntimeError``, after its last state
        [none; above 0.01 there is a warning].
    :param backend: the engine: "auto" (a GPU, where there is one, for 512 particles or more, 8192 with
        ``scheme="ahmad-cohen"``), "cpu" or "gpu"; the bits are the same.
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param gpus: number of GPUs that share the work, all of which must exist; more than 1 needs ``backend="gpu"``; the bits do not
        depend on it [1].
    :param block_step: the place where particles are corrected and steps chosen: "host", "device" (one GPU performs whole
        block steps, many in a launch; with ``scheme="plain"``), or "auto" (the device, on one GPU); the bits are the same.
    :param series: file for the diagnostics of all states, .npz or .csv.
    :param snapshots: folder for the states: 00000.npz, 00001.npz, ...
    :param checkpoint: file (.npz) that is renewed about once a second, at the end, and when the run is closed or interrupted; ``resume``
        and ``trisolar cluster --resume`` go on from it, and the files get the bytes of an uninterrupted run.
    :param resume: a checkpoint, whose run goes on with all its options and files; only ``end``, ``steps``, ``max_error`` and how to compute
        can be given as well. The states are those that the run has not recorded yet.
    :param progress: a function that is called a few times a second, in the thread that waits for a state, with the time
        done and the total time, in billionths of the run; an exception that it raises ends the run. ``True`` shows a bar (needs
        tqdm).
    :returns: the run, an iterator.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, a step that became too small, or an
        energy error above ``max_error``.

    A large energy error at the end, or steps that were at least 8 times too long, give an :class:`AccuracyWarning`, a subclass of
    ``UserWarning``.
    """
    options = parameters("cluster", locals())
    names(backend=backend, block_step=block_step)
    names_or_none(simd=simd)
    wholes(threads=threads, gpus=gpus)
    files = files_of(resume, spec, bodies, series=series, snapshots=snapshots, checkpoint=checkpoint)
    given = source(spec)
    arrays, told = arrays_of(bodies)
    if arrays is not None and arrays[3] != 3:
        raise ValueError(f"position and velocity must be of shape ({len(arrays[0]) // 8}, 3)")
    problem = _trisolar.ClusterProblem(merged(given, options), given.toml, given.file, arrays, told, resume)
    warn_of_doubts(problem.warnings, stacklevel=2)
    checked(progress)
    values = {name: value for name, value in json.loads(problem.json).items() if value is not None}
    computing = problem.run(files, backend, threads, simd, gpus, block_step)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    return Cluster(computing, values, problem.toml, progress)
