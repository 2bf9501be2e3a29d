"""Maps of three-body motion: divergence (how many steps until a trajectory and its slightly shifted twin part), closest
approach and finite-time Lyapunov exponents."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Collection, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._dataset import module, new_axes
from ._progress import Progress, watching
from ._spec import (
    Gpus,
    Numbered,
    Numbers,
    Source,
    Spec,
    axes,
    merged,
    names,
    numbers,
    parameters,
    source,
    wholes,
)
from ._spec import options as run_options
from ._warnings import check_counts, warn_of_accuracy, warn_of_doubts

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

class DivergenceMap:
    """A computed map with its specification and report. Made by :func:`divergence`.

    ``numpy.asarray(map)`` is :attr:`values`. Maps can be pickled and copied, and so be handed from process to process.
    """

    def __init__(self, computed: _trisolar.Map) -> None:
        self._map = computed
        self._values: npt.NDArray[Any] = np.asarray(computed)

    @property
    def quantity(self) -> str:
        """The quantity that was computed for each pixel: "divergence", "closest-approach", "greatest-speed" or "ftle"."""
        return self._map.quantity[0]

    @property
    def unit(self) -> str:
        """The unit of :attr:`values`: "steps", "length" or "1 / time"."""
        return self._map.quantity[2]

    @property
    def values(self) -> npt.NDArray[Any]:
        """The value of each pixel, (height, width) or of the shape in which the points were given.

        A map of divergence has uint32 (:attr:`steps_together`). The other quantities have float64: the least distance of any two
        bodies during the run (length), or the finite-time Lyapunov exponent (1 / time), NaN where there is none.

        Row 0 has the lowest second coordinate, column 0 the lowest first. The memory is the computation's own, not a copy; it
        is read-only, ``values.copy()`` is not.
        """
        return self._values

    @property
    def steps_together(self) -> npt.NDArray[np.uint32]:
        """The number of steps that each pixel of a divergence map took before its twins parted: uint32, (height, width), or of
        the shape in which the points were given.

        Equal to ``spec["steps"]`` where the twins never parted. Row 0 has the lowest second coordinate, column 0
        the lowest first. The memory is the computation's own, not a copy; it is read-only, ``steps_together.copy()`` is not.

        :raises AttributeError: a map of another quantity, which has :attr:`values` only.
        """
        if self.quantity != "divergence":
            raise AttributeError(f"the values of {self.quantity} are not counts of steps; they are in .values")
        return self._values

    @property
    def points(self) -> Optional[npt.NDArray[np.float64]]:
        """The start states, if they were given individually: float64, (..., 3), (..., 9), (..., 18) or (..., 21), as
        :func:`divergence` takes them; a copy. ``None`` for the pixels of a grid."""
        found = self._map.points
        return None if found is None else np.frombuffer(found[1], np.float64).reshape(found[0])

    @property
    def spec(self) -> Dict[str, Any]:
        """Every value that the map depends on, under the names of :func:`divergence`, but for those that
        :attr:`points` stand in for. As ``spec=`` of another call (with ``points``, if there are any) it gives the same
        map, to the bit."""
        spec: Dict[str, Any] = json.loads(self._map.spec_json)
        return spec

    @property
    def spec_toml(self) -> str:
        """:attr:`spec` as TOML text: as a file, for ``trisolar divergence --config``."""
        return self._map.spec_toml

    @property
    def engine(self) -> str:
        """``"cpu"``, ``"gpu"`` or ``"gpu+cpu"``."""
        return self._map.engine

    @property
    def device(self) -> str:
        """Description of the device."""
        return self._map.device

    @property
    def seconds(self) -> float:
        """Time of the computation itself (s)."""
        return self._map.seconds

    @property
    def pixel_steps(self) -> int:
        """Steps taken: of a divergence map the sum of :attr:`steps_together`, where a step is taken by both systems of a pixel; of
        other quantities all steps of all pixels."""
        return self._map.pixel_steps

    @property
    def never_parted(self) -> Optional[int]:
        """The number of pixels whose twins never parted; ``None`` for other quantities than divergence."""
        return self._map.never_parted

    @property
    def step_check(self) -> Optional[Dict[str, float]]:
        """How the map depends on its step: of a sample of up to 256 pixels, computed again with a quarter of the step, the number
        of pixels (``sample``), of those whose values could be ``compared``, and of those whose value ``changed`` by more than 5 % (of
        the time of the run for divergence), and ``share``, the last two's quotient. ``None`` if it was not determined."""
        return check_counts(self._map.checks[0])

    @property
    def rounding_check(self) -> Optional[Dict[str, float]]:
        """How the map depends on rounding, as :attr:`step_check`: of a sample that was computed again in double-double. ``None`` where
        quantity and integrator have no double-double."""
        return check_counts(self._map.checks[1])

    @property
    def verdicts(self) -> Optional[npt.NDArray[np.uint8]]:
        """What decides each value of a map that was computed with ``certify=True``, in the shape of :attr:`values`: 0 agrees (the value
        stays with a quarter of the step and in double-double), 1 step (it changes with the step alone), 2 rounding (it changes in
        double-double, whose values stay with the step) or 3 undecided (both change it, or there is no value). ``None`` for other maps."""
        found = self._map.verdicts
        return None if found is None else np.frombuffer(found, np.uint8).reshape(self._values.shape)

    @property
    def certificate(self) -> Optional[Dict[str, Any]]:
        """The shares of the :attr:`verdicts` (``verdicts``: a list of ``what``, ``count``, ``share`` and its 95 % ``interval``) and the
        rounding error that exponential growth predicts (``predicted``: the ``largest``, and the share of pixels for which it is ``above``
        the tolerance of the check; ``None`` where the quantity does not tell). ``None`` for maps without verdicts."""
        found = self._map.certificate
        certificate: Optional[Dict[str, Any]] = None if found is None else json.loads(found)
        return certificate

    @property
    def predicted_error(self) -> Optional[npt.NDArray[np.float64]]:
        """The predicted rounding error exp(value * time) * 2^-53 of each pixel of a certified map of Lyapunov exponents, in the shape of
        :attr:`values`; ``None`` for others."""
        found = self._map.predicted_error
        return None if found is None else np.frombuffer(found, np.float64).reshape(self._values.shape)

    @property
    def unresolved(self) -> Optional[float]:
        """The share of unresolved pixels in a sample of up to 256 pixels; ``None`` if it was not determined. In an unresolved
        pixel two bodies come so close that the time step exceeds their dynamical time (G M dt^2 > r^3) before the twins part,
        so what it shows is an effect of the step. Chaotic maps always have a few; well above 0.1 there is an
        :class:`AccuracyWarning`."""
        return self._map.unresolved

    @property
    def warnings(self) -> List[str]:
        """The warnings about this map: doubtful values of the specification, and inaccuracy."""
        return self._map.warnings

    @property
    def notes(self) -> List[str]:
        """Notes, such as that a GPU failed and the CPU took over."""
        return self._map.notes

    @property
    def extent(self) -> Tuple[float, float, float, float]:
        """The edges of the map for ``imshow(values, extent=map.extent, origin="lower")``: left, right, bottom, top; in the units of its
        axes, or, of points in rows and columns, in columns and rows. Each value is computed in the middle of its pixel, so that the edges are half a
        pixel before the places of :meth:`to_xarray`.

        :raises ValueError: points that are not in rows and columns.
        """
        if self._values.ndim != 2:
            raise ValueError("only points in rows and columns have edges")
        height, width = self._values.shape
        edges: List[float] = []
        for axis, count in zip(self._map.axes or (None, None), (width, height)):
            low, span = (0.0, float(count)) if axis is None else axis[4]
            first = low - span / count / 2
            edges += [first, first + span]
        left, right, bottom, top = edges
        return (left, right, bottom, top)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        return self._map.__array_interface__

    def __reduce__(self) -> Tuple[Any, ...]:
        values = self._values.astype(self._values.dtype.newbyteorder("<"), copy=False).tobytes()
        report = (self.engine, self.device, self.seconds, self.notes)
        made = (*report, self._map.resolution, self._map.checks, self._map.verdicts)
        return _restored, (self.spec_toml, self._map.points, values, made)

    def __repr__(self) -> str:
        points = self._map.points_shape is not None
        shape = self._values.shape if points else self._values.shape[::-1]
        kind = "points" if points else "pixels"
        parted = self.never_parted
        what = self.quantity if parted is None else f"{parted} never parted"
        return (
            f"<DivergenceMap {'x'.join(map(str, shape))} {kind}, {self.spec['steps']} steps, "
            f"{what}, {self.engine}: {self.device}>"
        )

    def _repr_png_(self) -> Optional[bytes]:
        if self._values.ndim != 2:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "map.png")
            self.save(path)
            return path.read_bytes()

    def save(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        bare: bool = False,
        colormap: str = "inferno",
        title: Optional[str] = None,
        shrink: int = 1,
        theme: str = "dark",
        y_axis: Optional[str] = None,
        look: str = "standard",
    ) -> None:
        """Writes the map, as the command line's ``--out`` does, byte for byte.

        :param path: ``.png``, ``.svg`` or ``.pdf`` (picture of the values; of a divergence map, the brighter the sooner the twins
            part), ``.tif`` (picture without axes, for very large maps), ``.npy`` (array), ``.npz`` (array ``steps_together``, or ``values`` for other quantities;
            ``specification.json``; and ``points``, if there are any) or ``.zarr.zip`` (the dataset of :meth:`to_xarray` as Zarr in one file). A file of that name is replaced, once the new one is complete.
        :param bare: the picture alone (PNG), a pixel of the map each, without axes and colour bar.
        :param colormap: of the picture: inferno, viridis, magma, plasma, cividis, grey or turbo.
        :param title: above the picture.
        :param shrink: average this many pixels of the map in each direction to one of the picture, 1 to 65536.
        :param theme: background of a picture with axes: "dark" or "light".
        :param y_axis: direction of the vertical axis of a picture: "down" or "up". Without it that of ``look``.
        :param look: conventions of the picture: "standard" (y upwards, the colour bar counts the time until the twins part) or "study"
            (those of Badger's study: y downwards, the colour bar counts the steps that were left).
        :raises ValueError: an extension, a colour map, a theme, a direction or a look that does not exist.

        :raises OSError: the file cannot be written.

        Characters of the title for which a picture has only a box give a :class:`TrisolarWarning`.
        """
        names(colormap=colormap, theme=theme, title="" if title is None else title)
        names(y_axis="" if y_axis is None else y_axis, look=look)
        wholes(shrink=shrink)
        if title is not None and not bare:
            warn_of_doubts([self._map.glyph_warning(path, title)], stacklevel=2)
        self._map.save(path, bare, colormap, title, shrink, theme, y_axis, look)

    def plot(
        self,
        ax: Optional[Axes] = None,
        *,
        cmap: Optional[str] = None,
        colorbar: bool = True,
        title: Optional[str] = None,
        **imshow: Any,
    ) -> Axes:
        """Draws the values (of divergence the time until the twins part) with matplotlib as :meth:`save` draws them: y upwards, each
        value around its place, half a percent of the values beyond either end of linear colours. Gives back the axes.

        Points that are not in rows and columns are dots at the grid body's start x and y.

        :param ax: where to draw; a new figure if ``None``.
        :param cmap: matplotlib's colour map; without it "inferno", of divergence "inferno_r": the sooner, the brighter.
        :param colorbar: whether a colour bar is drawn beside it.
        :param title: above it; without it integrator, step and number of steps, and the shares of :attr:`step_check` and
            :attr:`rounding_check`.
        :param imshow: further options of ``Axes.imshow`` (``Axes.scatter`` of dots).
        :raises ImportError: without matplotlib.
        """
        ax = new_axes(ax)
        spec = self.spec
        name, label, unit, logarithmic = self._map.quantity
        time, left = self._map.time_label, self._values
        if time is not None:
            (label, unit), left = time, left * spec["dt"]
        options: Dict[str, Any] = {"cmap": cmap or ("inferno" if time is None else "inferno_r")}
        clipped = self._map.colour_range
        if clipped is not None and "norm" not in imshow:
            options.update(vmin=clipped[0], vmax=clipped[1])
        positive = left[np.isfinite(left) & (left > 0)]
        if logarithmic and "norm" not in imshow and positive.size:
            from matplotlib.colors import LogNorm

            # A distance of 0 has the colour of the least one above it.
            least = positive.min()
            imshow = {**imshow, "norm": LogNorm(least, positive.max())}
            left = np.maximum(left, least)
        if "norm" not in imshow and left.min() == left.max():
            # All pixels have the darkest colour.
            options.update(vmin=left.min() - (time is not None), vmax=left.min() + (time is None))
        if left.ndim == 2:
            options.update(extent=self.extent, origin="lower", interpolation="nearest")
            drawn: Any = ax.imshow(left, **{**options, **imshow})
        else:
            x, y = self._places()
            drawn = ax.scatter(x, y, c=left.ravel(), **{**options, "s": 4, **imshow})
        if left.ndim == 2:
            columns, rows = self._map.axes or (None, None)
            ax.set_xlabel("column" if columns is None else f"{columns[1]} ({columns[2]})")
            ax.set_ylabel("row" if rows is None else f"{rows[1]} ({rows[2]})")
        else:
            ax.set_xlabel(f"start x of body {spec['body']} (length)")
            ax.set_ylabel(f"start y of body {spec['body']} (length)")
        ax.set_title(self._map.method if title is None else title)
        if colorbar:
            # As high as the map, whatever its shape; without a layout engine nobody would make room for it there.
            engine = getattr(ax.figure, "get_layout_engine", lambda: None)()
            place: Dict[str, Any] = {"ax": ax} if engine is None else {"cax": ax.inset_axes((1.04, 0, 0.05, 1))}
            ax.figure.colorbar(drawn, **place, label=f"{label} ({unit})")
        return ax

    def to_xarray(self) -> xarray.Dataset:
        """The values as a dataset: the variable of the quantity's name (``divergence``, ``closest_approach``, ...) over the
        start coordinates of the grid body (length), or over the parameters of ``map``, rows first, row 0 with the lowest; ``attrs`` has the
        specification as TOML text.
        Of points in rows and columns the dimensions are ``row`` and ``column``, without coordinates, otherwise ``point``.

        ``map.to_xarray().to_zarr("map.zarr")`` and ``to_netcdf`` keep it in a file.

        :raises ImportError: without xarray.
        """
        name, _, unit, _ = self._map.quantity
        coordinates: Dict[str, Any] = {}
        axes = self._map.axes
        if axes is None:
            shape = self._values.shape
            dims = ["row", "column"] if len(shape) == 2 else [f"point{k}" for k in range(len(shape))]
            dims = ["point"] if len(shape) == 1 else dims
        else:
            dims = [unnamed if axis is None else axis[0] for axis, unnamed in zip(axes, ("column", "row"))][::-1]
            for axis in axes:
                if axis is not None:
                    name_of_axis, meaning, unit_of_axis, places, _ = axis
                    about = {"units": unit_of_axis, "long_name": meaning}
                    coordinates[name_of_axis] = (name_of_axis, np.array(places), about)
        values = (dims, self._values, {"units": unit, "long_name": self._map.array_label})
        made: xarray.Dataset = module().Dataset(
            {name.replace("-", "_"): values}, coords=coordinates, attrs={"specification": self.spec_toml}
        )
        return made

    def _places(self) -> Tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Start x and y of the grid body at each point."""
        points = self.points
        assert points is not None, "a grid has rows and columns"
        flat = points.reshape(-1, points.shape[-1])
        first = 0 if flat.shape[1] == 3 else 3 * (int(self.spec["body"]) - 1)
        return flat[:, first], flat[:, first + 1]


def _restored(
    toml: str,
    points: Optional[Tuple[List[int], bytes]],
    values: bytes,
    made: Tuple[Any, ...],
) -> DivergenceMap:
    """Restores a pickled map."""
    specification = _trisolar.Specification({}, toml, None, points)
    return DivergenceMap(specification.restored(values, *made))


def divergence(
    spec: Optional[Spec] = None,
    *,
    preset: Optional[str] = None,
    points: Optional[npt.ArrayLike] = None,
    size: Union[int, Sequence[int], None] = None,
    center: Optional[Union[Numbers, Sequence[str]]] = None,
    span: Union[float, Numbers, None] = None,
    plane: Optional[str] = None,
    map: Union[str, Sequence[str], None] = None,
    draw: Union[str, Sequence[str], None] = None,
    seed: Optional[int] = None,
    body: Optional[int] = None,
    masses: Optional[npt.ArrayLike] = None,
    positions: Optional[npt.ArrayLike] = None,
    velocities: Optional[npt.ArrayLike] = None,
    g: Optional[float] = None,
    softening: Optional[float] = None,
    steps: Optional[int] = None,
    dt: Optional[float] = None,
    shift: Union[float, Numbers, None] = None,
    critical_distance: Optional[float] = None,
    quantity: Optional[str] = None,
    precision: Optional[str] = None,
    integrator: Optional[str] = None,
    start: Optional[str] = None,
    steps_per_period: Optional[float] = None,
    max_error: Optional[float] = None,
    certify: bool = False,
    backend: str = "auto",
    gpus: Gpus = None,
    device: Numbered = None,
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    progress: Progress = None,
) -> DivergenceMap:
    """Computes a map: for each start position of one body, the number of steps until its trajectory and that of a slightly
    shifted twin part, or another ``quantity``. The start states form a grid, or are given as points.

    Names and defaults are those of the command line ``trisolar divergence``; without options it is the headline map, that of
    Badger's study by explicit Euler; ``preset="accurate"`` is the same region by a better method.
    Lengths, times and masses are in any consistent units: ``g`` ties them together. Numbers may be Python's or
    NumPy's, and sequences may be lists, tuples or arrays. A map has the same bits on every CPU and GPU (except with the precision
    "fast").

    Other Python threads run meanwhile. Ctrl-C ends the run within a second with ``KeyboardInterrupt``.

    :param spec: the source of values that are not given below: a mapping with the same names (such as another
        map's ``spec``), TOML text, or the path of a TOML file (a ``pathlib.Path``, or a string that ends in
        ``.toml``).
    :param preset: start from the values of a named map: "accurate" (the region of the headline map by a method that passes the check
        of steps), "headline" (the map of Badger's study, by explicit Euler) or "panorama" (the study's view of x from -40 to 470,
        10200 x 1600 pixels, 200000 steps); ``spec`` and options override them.
    :param points: start states instead of a grid, any number of them in an array of any shape: (..., 3) with x, y, z of
        the grid body; (..., 9) with those of bodies 1, 2, 3; (..., 18) also with their velocities; or (..., 21) also with their
        masses (length, length / time, mass). ``steps_together`` has the shape of the leading axes. The options of the grid, and
        of values that the points contain, are then not allowed here, and those of ``spec`` are not used.
    :param size: pixels: (width, height), or one number for a square [300].
    :param center: centre of the map along the two spanned axes, 2 numbers (length), or 2 texts of up to 32 digits, which
        count in double-double [(0, 0)].
    :param span: extent along the two spanned axes, 2 numbers, or one, which makes pixels square (length) [40].
    :param plane: the two coordinates of the grid body that the map spans: "xy", "xz" or "yz" ["xy"].
    :param map: one or two parameters of the start along the columns and the rows in place of the grid body's place, with their ranges:
        "mass2=5:30" or ["mass2=5:30", "vx1=-5:0"]; x1 to z3, vx1 to vz3 and mass1 to mass3. ``center``, ``span`` and ``plane`` are then
        not allowed.
    :param draw: parameters that are drawn anew in each pixel: "mass3=uniform:20:40", or a list of such texts.
    :param seed: seed of what is drawn [1].
    :param body: the grid body, whose start position depends on the pixel and whose twin is shifted: 1, 2 or 3 [1].
    :param masses: masses of the bodies, 3 numbers (mass); 0 for a test body [(10, 20, 30)]. With leading axes, (..., 3), each
        start state has masses of its own.
    :param positions: start positions, 3 x 3, a row for each body (length); of the grid body only the coordinate outside the
        plane is used [((0, 0, -11), (0, 0, 0), (10, 10, 12))]. With leading axes, (..., 3, 3), each start state has positions of
        its own, and all coordinates of the grid body are used.
    :param velocities: start velocities, 3 x 3, a row for each body (length / time) [((-3, 0, 0), (0, 0, 0), (3, 0, 0))]. With
        leading axes, (..., 3, 3), each start state has velocities of its own. The leading axes of points, masses, positions and
        velocities are broadcast against each other, and ``steps_together`` has their shape.
    :param g: gravitational constant (length^3 / mass / time^2) [9.8].
    :param softening: softening length (length) [0].
    :param steps: number of steps after which a pixel counts as never parted, 1 to 4294967294 [50000].
    :param dt: time step (time) [0.001].
    :param shift: shift of the grid body's twin, 3 numbers, or one for all three axes (length) [0.001].
    :param critical_distance: distance up to which the grid body counts as together with its twin (length) [0.5].
    :param quantity: the quantity to compute for each pixel: "divergence" (steps until the twins part), "closest-approach" (least
        distance of any two bodies during the run, length), "greatest-speed" (of any body relative to the centre of mass, length /
        time) or "ftle" (finite-time Lyapunov exponent, 1 / time); all but the first in the precision "f64" ["divergence"].
    :param precision: the arithmetic: "f64", "fast", "mixed", "f32", "fixed", "fixed:BITS" (8 to 56 bits after the
        point), "float-float" or "double-double" (106 bits) ["f64"].
    :param integrator: integrator of the trajectories (all except the default need "f64", or "double-double" for those with exact coefficients): "explicit-euler",
        "symplectic-euler", "leapfrog", "velocity-verlet", "forest-ruth", "adams-bashforth-2", "adams-bashforth-4",
        "runge-kutta-4", "hermite-4", "regularised-2", "regularised-6" or "regularised-8" ["explicit-euler"].
    :param start: how the Adams-Bashforth integrators take their first steps: "euler" (which reduces the order to 2) or
        "runge-kutta" ["euler"].
    :param steps_per_period: steps of the regularised integrators in a period of the tightest circular binary that the energy allows,
        5 to 1e6; ``dt`` is then only the unit in which ``steps`` and the value are counted [400, 10, 8 at order 2, 6, 8].
    :param max_error: the share of sampled values that change with a quarter of the step (:attr:`DivergenceMap.step_check`) or in double-double
        (:attr:`DivergenceMap.rounding_check`), or of unresolved pixels (:attr:`DivergenceMap.unresolved`), above which the map is a failure, a ``RuntimeError`` [none; an
        unresolved share well above 0.1 is a warning].
    :param certify: compute every pixel again, with a quarter of the step and in double-double, and give a verdict on each
        (:attr:`DivergenceMap.verdicts`); this takes some 15 times as long as the map, and up to 55 times.
    :param backend: the engine: "auto" (GPUs if any can be used, otherwise the CPU), "cpu", "gpu", or "gpu+cpu" (both
        together).
    :param gpus: how many GPUs, 1 to 64, from number 0 on, or "all" [all, but only as many as the map can keep busy].
    :param device: which GPUs, by their numbers as :func:`devices` shows them, such as 0, (0, 2) or "0,2", instead of ``gpus``.
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param progress: a function that is called a few times a second, in the calling thread, with the number of steps
        accounted for and that of the whole map; an exception that it raises ends the run. ``True`` shows a bar (needs tqdm).
    :returns: the map; ``.steps_together`` (of divergence) or ``.values`` (of any quantity) is the array.
    :raises ValueError: a value that is not allowed, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a specification file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or a share of values that the step
        changes, or of unresolved pixels, above ``max_error``. (GPUs that ``gpus`` or ``device`` asks for and that do not exist are a ``ValueError``.)

    Doubtful values (pixels that are not square, a shift close to rounding) give a :class:`TrisolarWarning`, a time step that
    is too long for the bodies gives an :class:`AccuracyWarning`; both are subclasses of ``UserWarning``.
    """
    options = parameters("divergence", locals())
    how = run_options(backend, threads, gpus, device, simd)
    options, states = _states(spec, preset, options, points)
    specification = _specification(spec, preset, options, states)
    warn_of_doubts([*specification.warnings, _trisolar.cpu_warning(backend)], stacklevel=2)
    with watching(progress, "divergence") as callback:
        computed = specification.run(how, callback, bool(certify))
    warn_of_accuracy(computed.accuracy_warning, stacklevel=2)
    computed.check(specification.max_error)
    return DivergenceMap(computed)


#: The parts of a start state, with the trailing axes of each.
_PARTS = {"positions": (3, 3), "velocities": (3, 3), "masses": (3,)}
#: The parts that points contain, by their numbers. Points of 3 numbers contain a row of the positions.
_TOLD = {9: ("positions",), 18: ("positions", "velocities"), 21: tuple(_PARTS)}


def _states(
    spec: Optional[Spec],
    preset: Optional[str],
    options: Dict[str, object],
    points: Optional[npt.ArrayLike],
) -> Tuple[Dict[str, object], Optional[npt.ArrayLike]]:
    """The start states, and the options that are the same for all of them: positions, velocities and masses with leading
    axes are put together with each other, with the points, and with what is the same for all."""
    given = {name: options[name] for name in _PARTS if options[name] is not None}
    many = [name for name, value in given.items() if axes(name, value) > len(_PARTS[name])]
    if not many:
        return options, points
    for name in ("size", "center", "span", "plane", "map", "draw", "seed"):
        if options[name] is not None:
            raise ValueError(f"{many[0]} of many start states have no grid: remove '{name}' or their leading axes")
    alike = {**options, **{name: None for name in many}}
    parts = {name: numbers(name, value) for name, value in given.items()}
    for name, array in parts.items():
        if array.shape[array.ndim - len(_PARTS[name]) :] != _PARTS[name]:
            last = ", ".join(map(str, _PARTS[name]))
            raise ValueError(f"{name} must be of shape ({last}) or (..., {last}), not {array.shape}")
    usual = json.loads(_specification(spec, preset, {**alike, **{name: None for name in given}}, None).json)
    told = {} if points is None else _parts(numbers("points", points), given, usual)
    parts.update(told)
    for name in _PARTS:
        parts.setdefault(name, np.asarray(usual[name], np.float64))
    if "masses" not in many:
        del parts["masses"]
    return {**alike, "positions": None, "velocities": None}, _together(parts, told)


def _parts(
    points: npt.NDArray[np.float64], given: Dict[str, object], usual: Dict[str, Any]
) -> Dict[str, npt.NDArray[np.float64]]:
    """The parts that points contain: 3 numbers are the position of the grid body; more numbers are all positions, velocities and
    masses."""
    numbers = points.shape[-1] if points.ndim else 0
    if numbers == 3:
        placed = np.array(given.get("positions", usual["positions"]), np.float64)
        if placed.ndim > 2:
            raise ValueError("the points replace 'positions': remove one of the two")
        placed = np.broadcast_to(placed, points.shape[:-1] + (3, 3)).copy()
        placed[..., int(usual["body"]) - 1, :] = points
        return {"positions": placed}
    told = _TOLD.get(numbers)
    if told is None:
        raise ValueError(f"points must be of shape (..., 3), (..., 9), (..., 18) or (..., 21), not {points.shape}")
    for name in told:
        if name in given:
            raise ValueError(f"the points replace '{name}': remove one of the two")
    found, at = {}, 0
    for name in told:
        end = at + int(np.prod(_PARTS[name]))
        found[name] = points[..., at:end].reshape(points.shape[:-1] + _PARTS[name])
        at = end
    return found


def _together(
    parts: Dict[str, npt.NDArray[np.float64]], told: Collection[str]
) -> npt.NDArray[np.float64]:
    """Positions, velocities and, if there are any, masses as start states, their leading axes broadcast. Some are told by
    points."""
    leading = {name: parts[name].shape[: -len(last)] for name, last in _PARTS.items() if name in parts}
    try:
        shape = np.broadcast_shapes(*leading.values())
    except ValueError:
        named = {"points" if name in told else name: shape for name, shape in leading.items() if shape}
        shapes = ", ".join(f"{name} {shape}" for name, shape in named.items())
        raise ValueError(f"leading axes that do not go together: {shapes}") from None
    columns = [
        np.broadcast_to(parts[name], shape + last).reshape(shape + (int(np.prod(last)),))
        for name, last in _PARTS.items()
        if name in parts
    ]
    return np.concatenate(columns, axis=-1)


def _specification(
    spec: Optional[Spec],
    preset: Optional[str],
    options: Dict[str, object],
    points: Optional[npt.ArrayLike],
) -> _trisolar.Specification:
    """The options, which override ``spec``, for a grid or for points."""
    starts = None
    if points is not None:
        array = numbers("points", points)
        starts = (list(array.shape), array.tobytes())
    given = source(spec)
    if given.mapping is not None and starts is not None:
        # Values of the mapping that the points replace are not used.
        under = dict(given.mapping)
        return _trisolar.Specification(merged(Source(), options), None, None, starts, under, preset)
    return _trisolar.Specification(merged(given, options), given.toml, given.file, starts, None, preset)
