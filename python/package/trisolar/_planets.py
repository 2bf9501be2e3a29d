"""Planetary systems, and whether they are stable."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._dataset import module
from ._encounters import _how
from ._progress import Progress, watching
from ._records import Axis, Recorded
from ._spec import Source, Spec, merged, names, parameters, source
from ._warnings import warn_of_doubts

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

PLANET_OUTCOMES: Dict[int, str] = dict(_trisolar.planet_outcomes())
"""How systems end: the numbers in the column ``outcome`` of :attr:`Planets.records`, with their names."""

Number = Union[float, str, Sequence[float]]
"""A number, an axis of a map as (low, high, n), or text as on the command line, such as ``"uniform(0,0.1)"`` or ``"1 mjup"``."""
Planet = Union[str, Mapping[str, Number]]
"""The elements of a planet by their names, or text as on the command line."""


class Planets(Recorded[_trisolar.PlanetsFound]):
    """Systems that were followed, with a record for each. Made by :func:`planets`.

    ``numpy.asarray(planets)`` is :attr:`records`.
    """

    def __init__(self, found: _trisolar.PlanetsFound, spec: Dict[str, Any], toml: str) -> None:
        self._found = found
        self._axes = found.axes
        super().__init__(spec, toml, (-1, self._axes[0][3]) if self._axes else (-1,))

    @property
    def records(self) -> npt.NDArray[np.void]:
        """A structured array with a record for each system: (n,), or (rows, columns) of a map, whose row 0 has the lowest value of the
        second axis. Read-only; ``records.copy()`` is not.

        Its columns are ``outcome`` (see :data:`PLANET_OUTCOMES`) and ``steps`` as uint32; ``time`` (years), ``megno``, ``mean_megno``,
        ``lyapunov`` (1 / year) and ``energy_error`` (relative) as float64, and those that the observable adds, such as ``a_min`` and
        ``a_max`` (au) with "a-range"; not a number where a system has none.
        """
        return self._records

    @property
    def spec(self) -> Dict[str, Any]:
        """Every value on which the records depend, under the names of :func:`planets`. As ``spec=`` of another call it gives the same
        records, bit for bit."""
        return dict(self._spec)

    @property
    def summary(self) -> Dict[str, Any]:
        """Numbers of systems by outcome, regular systems, energy errors and the check of steps, as in ``trisolar planets --json``."""
        summary: Dict[str, Any] = json.loads(self._found.summary)
        return summary

    @property
    def warnings(self) -> List[str]:
        """Reasons why the records may not be what the user intended, such as steps that are too long."""
        return self._found.warnings

    def __repr__(self) -> str:
        outcomes = self.summary["outcomes"].items()
        told = ", ".join(f"{count} {name}" for name, count in outcomes if count)
        return f"<Planets, {len(self)} systems: {told}, {self.engine}: {self.device}>"

    def plot(self, ax: Optional[Axes] = None, *, column: Optional[str] = None, **options: Any) -> Axes:
        """Draws a map of a column, or its distribution if the systems are not a map, with matplotlib. MEGNO has colours from 1 to 6 and
        exponents from 0 unless ``vmin`` and ``vmax`` say otherwise.

        :param ax: where to draw; a new figure if ``None``.
        :param column: the column of :attr:`records` [that of ``observable``].
        :param options: further options of ``Axes.imshow`` or ``Axes.hist``.
        :raises ImportError: without matplotlib.
        """
        observable = str(self._spec.get("observable", "megno")).replace("-", "_")
        column = column or {"megno": "mean_megno"}.get(observable, observable)
        if "megno" in column and self._axes:
            options = {"vmin": 1, "vmax": 6, **options}
        return self._plot(ax, column, options)

    def _grid(self) -> List[Axis]:
        return [(name, unit, low + (high - low) * np.arange(n) / n) for name, unit, (low, high), n in self._axes]

    def to_xarray(self) -> xarray.Dataset:
        """The records as a dataset, with the axes of a map as coordinates, such as ``a2``, otherwise with ``system``. ``attrs`` has the
        specification as TOML text, and the numbers of outcomes.

        :raises ImportError: without xarray.
        """
        records = self._records
        coordinates: Dict[str, Tuple[str, npt.NDArray[Any], Dict[str, str]]] = {}
        for name, unit, (low, high), n in self._axes:
            values = low + (high - low) * np.arange(n) / n
            coordinates[name] = (name, values, {"units": unit} if unit else {})
        # Rows are the first axis of the array, columns the last.
        dims = list(reversed(list(coordinates)))
        if not self._axes:
            dims = ["system"]
            coordinates["system"] = ("system", np.arange(records.size), {})
        elif len(self._axes) == 1:
            records = records[0]
        columns = records.dtype.names or ()
        units = {name: {"units": unit} for name, unit in self._found.units}
        variables = {name: (dims, records[name], units.get(name, {})) for name in columns}
        outcomes = ", ".join(f"{number}: {name}" for number, name in PLANET_OUTCOMES.items())
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

        :param path: ``.npz`` for the records, ``.npy`` for the observable; ``.png``, ``.svg`` or ``.pdf`` for the picture of a map of
            two axes. A file of that name is replaced, once the new one is complete.
        :param theme: theme of a picture: "dark" or "light".
        :param y_axis: direction of the vertical axis of a picture: "down" or "up"; without it, upwards.
        :raises ValueError: another extension, or a picture of systems that are not a map of two axes.
        :raises OSError: the file cannot be written.
        """
        names(theme=theme, y_axis="" if y_axis is None else y_axis)
        self._found.save(path, theme, y_axis)


def _number(value: Any) -> str:
    """A number as on the command line."""
    if isinstance(value, str):
        return value
    if isinstance(value, (Sequence, np.ndarray)):
        if len(value) != 3 or int(value[2]) != value[2]:
            raise ValueError(f"an axis is (low, high, n) with a whole number n, not {value!r}")
        return f"{float(value[0])!r}:{float(value[1])!r}:{int(value[2])}"
    try:
        return repr(float(value))
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"a number must be a number, (low, high, n) or text, not {kind}") from None


def _planet(given: Planet) -> str:
    """A planet as on the command line."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"a planet must be a mapping or text, not {type(given).__name__}")
    return ",".join(f"{name}={_number(value)}" for name, value in given.items())


def planets(
    spec: Optional[Spec] = None,
    *,
    preset: Optional[str] = None,
    set: Optional[Mapping[str, Number]] = None,
    star: Optional[Number] = None,
    planets: Union[Planet, Sequence[Planet], None] = None,
    elements: Optional[str] = None,
    n: Optional[float] = None,
    seed: Optional[int] = None,
    relativity: Optional[str] = None,
    j2: Optional[float] = None,
    j4: Optional[float] = None,
    radius: Union[float, str, None] = None,
    k2: Optional[float] = None,
    lag: Optional[float] = None,
    spin: Optional[float] = None,
    years: Optional[float] = None,
    integrator: Optional[str] = None,
    tolerance: Optional[float] = None,
    step: Union[float, str, None] = None,
    form: Optional[str] = None,
    corrector: Optional[int] = None,
    observable: Optional[str] = None,
    of: Optional[int] = None,
    angle: Optional[str] = None,
    stop: Union[str, Sequence[str], None] = None,
    max_error: Optional[float] = None,
    backend: str = "auto",
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    gpus: Optional[int] = None,
    progress: Progress = None,
) -> Planets:
    """Follows planetary systems by a Wisdom-Holman or an adaptive integrator: a map over two numbers, an ensemble of drawn ones, or one
    system, with MEGNO or another indicator of chaos, end and energy error of each, or what else is observed.

    >>> jupiter = {"m": 0.000954, "a": 5.204, "e": 0.048, "omega": 0.257, "M": 0.6}
    >>> saturn = {"m": 0.000285, "a": (7, 10, 96), "e": (0, 0.5, 96), "omega": 1.616, "M": 0.871}
    >>> found = trisolar.planets(planets=[jupiter, saturn], stop="r>20")
    >>> found.to_xarray()["mean_megno"].plot(vmin=1, vmax=6)

    Names and defaults are those of the command line ``trisolar planets``, except ``planets``, which is ``--planet`` there. Lengths are
    astronomical units, masses solar masses, angles radians, and a year is 2 pi units of time with G = 1. System i depends only on the
    seed and i, and has the same bits on every CPU and GPU.

    Every number of the star and the planets is fixed, an axis of a map ``(low, high, n)`` of which value i is
    low + (high - low) i / n (the first axis along the columns, the second along the rows), or text: drawn, as in ``"uniform(0,0.1)"``
    or ``"thermal(0,0.9)"``, or with a unit, as in ``"1 mjup"``, ``"1 mearth"`` or ``"90 deg"``.

    Other Python threads run meanwhile. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below: a mapping with the same names (such as another result's
        ``spec``), TOML text, or the path of a TOML file.
    :param preset: a known system in place of ``star`` and ``planets``: "solar-system", "giants" (from Jupiter on), "trappist-1" (Agol et al.
        2021) or "kepler-36" (like those of Carter et al. 2012, on circular orbits) [none].
    :param set: numbers by their names, in place of those of the preset or of the planets, such as ``{"a2": (7, 10, 96)}``.
    :param star: mass of the star (solar masses) [1].
    :param planets: 1 to 15 planets, from the inside out, each a mapping (or text as on the command line) of mass ``m`` (0 for a test
        particle), semi-major axis ``a``, eccentricity ``e``, inclination ``inc``, longitude of the node ``Omega``, argument of the
        pericentre ``omega`` and mean anomaly ``M``, about the star and the planets further in (Jacobi elements); what is not given,
        except ``a``, is 0. The period ``P`` (years, or "4332.6 days") may be in the place of ``a``, the longitude of the pericentre
        ``pomega`` in that of ``omega``, mean longitude ``lambda``, true anomaly ``f`` or time of the pericentre ``T`` (years) in that of
        ``M``, and ``x``, ``y``, ``z`` (au), ``vx``, ``vy`` and ``vz`` (au a year) in that of all elements.
    :param elements: about what orbits are: "jacobi" (the star and the planets further in) or "heliocentric" (the star alone) ["jacobi"].
    :param n: number of systems, if they are not a map [1; with drawn numbers 1000].
    :param seed: seed of all draws [1].
    :param relativity: "potential" for relativistic precession by the star (Nobili & Roxburgh 1986), or "full" for its post-Newtonian
        acceleration, which needs ``integrator="adaptive"`` [none].
    :param j2: oblateness J2 of the star, whose axis is that of z; needs ``radius`` [0].
    :param j4: coefficient J4 of the star; needs ``radius`` [0].
    :param radius: equatorial radius of the star (au, or text with a unit, such as "1 rsun" or "7e5 km").
    :param k2: Love number of the tides that planets raise on the star; needs ``radius`` and ``integrator="adaptive"`` [0].
    :param lag: time by which these tides lag (s) [0].
    :param spin: period of the star's rotation about the axis of z (days) [it does not turn].
    :param years: time for which systems are followed (years) [10000].
    :param integrator: "wisdom-holman" (fixed steps), "adaptive" (steps of each system's own length, for close encounters, high
        eccentricities and forces that depend on velocities) or "hybrid" (the first, and the second where planets are within four Hill
        radii) ["wisdom-holman"].
    :param tolerance: largest relative error of an adaptive step [1e-12].
    :param step: step of the integrator: years, or a share of the shortest period of each system, such as "0.05P" ["0.05P"].
    :param form: order of the parts of a step: "kdk" (kick, drift, kick) or "dkd" (drift, kick, drift, as in WHFast) ["kdk"].
    :param corrector: order of the symplectic corrector at the start and at the end of a system, 3, 5, 7, 11 or 17 (Wisdom 2006) [none].
    :param observable: what pictures and ``.npy`` files show: "megno", "lyapunov", "fli" (fast Lyapunov indicator), "time",
        "energy-error", "a-range", "e-max", "inc-max", "amd" (the largest relative angular momentum deficit), "amd-stability" (that of the
        start relative to the critical one), "libration" (amplitude of an angle), "frequency-drift" (change of a planet's mean motion
        between the halves of the time) or "closest" (the least distance of two planets). All but the first three need no tangent
        vector; with them, and without a limit of MEGNO, indicators of chaos are not a number ["megno"].
    :param of: planet of "a-range", "e-max", "inc-max" and "frequency-drift", counted from 1 [the last one].
    :param angle: angle of "libration": a sum of multiples of mean longitudes, longitudes of the pericentre and longitudes of the node, such
        as "3*lambda2-2*lambda1-pomega2" or "pomega1-Omega1".
    :param stop: what ends systems sooner, one or a sequence: "r>DISTANCE" (au), "hill<NUMBER" (of Hill radii), "closest<DISTANCE" (of two
        planets; au), "megno>NUMBER", or a limit of "lyapunov", "fli", "a-range", "e-max", "inc-max", "amd", "amd-stability" or
        "libration", such as "e-max>0.9".
    :param max_error: the relative energy error above which the computation fails with a ``RuntimeError``, as it then does if a system
        was not solved or has no massive planet [none].
    :param backend: the engine: "auto" (GPUs, where there are any, for 4000 systems or more), "cpu", "gpu", or "gpu+cpu" (both).
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param gpus: number of GPUs that share the work, which chooses ``backend="gpu"`` [all, but only as many as the systems keep busy].
    :param progress: a function that is called a few times a second, in the calling thread, with the number of systems that have ended
        and the total number; an exception that it raises ends the computation. ``True`` shows a bar (needs tqdm).
    :returns: the records and their summary.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or an energy error above ``max_error``.

    Steps that are too long, orbits that cross and systems that were not solved give a :class:`TrisolarWarning`.
    """
    planet: Optional[List[str]] = None
    if planets is not None:
        several = [planets] if isinstance(planets, (str, Mapping)) else list(planets)
        planet = [_planet(each) for each in several]
    star = None if star is None else _number(star)
    radius = None if radius is None else _number(radius)
    set = None if set is None else [f"{name}={_number(value)}" for name, value in set.items()]  # type: ignore[assignment]
    step = None if step is None else step if isinstance(step, str) else _number(step)
    stop = [stop] if isinstance(stop, str) else stop if stop is None else list(stop)
    options = parameters("planets", locals())
    how = _how(backend, threads, simd, gpus)
    warn_of_doubts([_trisolar.cpu_warning(backend)], stacklevel=2)
    given = source(spec)
    if given.mapping is not None:
        under = {"planet" if k == "planets" else k: v for k, v in given.mapping.items()}
        given = Source(mapping=under)
    problem = _trisolar.PlanetsProblem(merged(given, options), given.toml, given.file)
    with watching(progress, "planets") as tell:
        found = problem.run(*how, tell)
    all_values = {
        "planets" if name == "planet" else name: value
        for name, value in json.loads(problem.json).items()
        if value is not None and value != []
    }
    warn_of_doubts(found.warnings, stacklevel=2)
    found.check()
    return Planets(found, all_values, problem.toml)


def from_rebound(sim: Any) -> Dict[str, Any]:
    """The star and the planets of a REBOUND simulation, as options of :func:`planets`.

    >>> found = trisolar.planets(**trisolar.from_rebound(sim), years=1e5)

    Only ``sim.G`` and ``m``, ``x``, ``y``, ``z``, ``vx``, ``vy`` and ``vz`` of ``sim.particles`` are read; the first particle is the
    star. Masses and lengths become those of the star: a unit of mass is the sun's and a unit of length an astronomical unit, whatever
    they are in the simulation, and a year is 2 pi units of time with G = 1, so that dimensionless results such as MEGNO and times
    divided by periods are those of the simulation.

    :param sim: a ``rebound.Simulation``, or an object with these attributes.
    :returns: ``star`` and ``planets``, whose elements are Jacobi elements in the order of the particles.
    :raises ValueError: fewer than two particles, a star without mass, an orbit that is not bound, or an orbit without a plane.
    """
    g = float(sim.G)
    particles = list(sim.particles)
    if len(particles) < 2:
        raise ValueError("the simulation needs a star and at least one planet")
    masses = [float(p.m) for p in particles]
    if not (masses[0] > 0 and g > 0):
        raise ValueError("the first particle, the star, and G must be above 0")
    places = [np.array([p.x, p.y, p.z], float) for p in particles]
    # Velocities in units of time in which G = 1.
    speeds = [np.array([p.vx, p.vy, p.vz], float) / math.sqrt(g) for p in particles]
    inner, place, speed = masses[0], places[0], speeds[0]
    found: List[Dict[str, float]] = []
    for i in range(1, len(particles)):
        mass = masses[i]
        try:
            elements = _elements(inner + mass, places[i] - place, speeds[i] - speed)
        except ValueError as error:
            raise ValueError(f"particle {i}: {error}") from None
        found.append({"m": mass, **elements})
        place = (inner * place + mass * places[i]) / (inner + mass)
        speed = (inner * speed + mass * speeds[i]) / (inner + mass)
        inner += mass
    return {"star": masses[0], "planets": found}


def _elements(mu: float, x: npt.NDArray[Any], v: npt.NDArray[Any]) -> Dict[str, float]:
    """The elements of a bound orbit."""
    r = float(np.linalg.norm(x))
    if r == 0:
        raise ValueError("it is at the centre of mass of those before it")
    a = 1 / (2 / r - float(v @ v) / mu)
    if not (a > 0 and math.isfinite(a)):
        raise ValueError("its orbit about those before it is not bound")
    momentum = np.cross(x, v)
    h = float(np.linalg.norm(momentum))
    if h == 0:
        raise ValueError("its orbit is a line")
    eccentricity = np.cross(v, momentum) / mu - x / r
    e = float(np.linalg.norm(eccentricity))
    w = momentum / h
    inc = math.atan2(math.hypot(w[0], w[1]), w[2])
    node = math.atan2(w[0], -w[1]) if inc > 0 and inc < math.pi else 0.0
    # Directions in the plane of the orbit: that of the node, and 90 degrees ahead of it.
    ahead_of = np.array([math.cos(node), math.sin(node), 0.0])
    across = np.cross(w, ahead_of)
    argument = math.atan2(float(eccentricity @ across), float(eccentricity @ ahead_of)) if e > 0 else 0.0
    true = math.atan2(float(x @ across), float(x @ ahead_of)) - argument
    eccentric = math.atan2(math.sqrt(max(0.0, 1 - e * e)) * math.sin(true), e + math.cos(true))
    mean = eccentric - e * math.sin(eccentric)
    return {"a": a, "e": e, "inc": inc, "Omega": node, "omega": argument, "M": mean}
