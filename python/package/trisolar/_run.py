"""Runs in threads of their own: the common part of the iterators of states."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Generic, Iterator, List, Optional, Protocol, Type, TypeVar

import numpy as np

from ._dataset import dataframes, module, new_axes
from ._progress import Progress, Tell, watching
from ._warnings import warn_of_accuracy

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

State = TypeVar("State")
Found = TypeVar("Found")
Found_co = TypeVar("Found_co", covariant=True)
Self = TypeVar("Self", bound="Run[Any, Any]")


class Data:
    """Data of a run, which can be pickled and copied: handed from process to process, or kept in a file."""

    def __setstate__(self, state: Dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)


class Computing(Protocol[Found_co]):
    """The compiled run."""

    def next(self, progress: Optional[Tell] = None) -> Optional[Found_co]: ...
    def close(self) -> None: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def notes(self) -> List[str]: ...
    @property
    def energy_errors(self) -> Optional[List[float]]: ...
    @property
    def accuracy_warnings(self) -> List[str]: ...


class Run(Iterator[State], Generic[State, Found]):
    """A running integration, an iterator of its states.

    It computes in a thread of its own, one state ahead. It ends when it is exhausted, closed (:meth:`close`, or the end
    of a ``with`` block) or garbage-collected.
    """

    _name = "run"

    def __init__(
        self, computing: Computing[Found], spec: Dict[str, Any], toml: str, progress: Progress
    ) -> None:
        self._computing = computing
        self._spec = spec
        self._toml = toml
        self._progress = progress
        self._bar = ExitStack()
        self._tell: Optional[Tell] = None
        self._warned = False

    def _state(self, found: Found) -> State:
        raise NotImplementedError

    def _row(self, state: State) -> Dict[str, float]:
        """What a series has of a state."""
        raise NotImplementedError

    @property
    def spec(self) -> Dict[str, Any]:
        """Every value on which the run depends, under the names of the options, except given bodies."""
        return dict(self._spec)

    @property
    def spec_toml(self) -> str:
        """:attr:`spec` as TOML text."""
        return self._toml

    @property
    def engine(self) -> str:
        """``"cpu"`` or ``"gpu"``."""
        return self._computing.engine

    @property
    def device(self) -> str:
        """Description of the device."""
        return self._computing.device

    @property
    def notes(self) -> List[str]:
        """Notes, such as that no GPU could be used."""
        return self._computing.notes

    @property
    def energy_error(self) -> Optional[float]:
        """The relative error of the total energy, (E - E0) / abs(E0) with E0 at the start; ``None`` before the run has found it,
        and with ``energy="none"``. If it exceeds 0.01, the run ends with an :class:`AccuracyWarning`."""
        errors = self._computing.energy_errors
        return None if errors is None else errors[0]

    @property
    def largest_energy_error(self) -> Optional[float]:
        """The :attr:`energy_error` of the largest magnitude so far."""
        errors = self._computing.energy_errors
        return None if errors is None else errors[1]

    def __next__(self) -> State:
        if self._tell is None and self._progress:
            self._tell = self._bar.enter_context(watching(self._progress, self._name))
        try:
            found = self._computing.next(self._tell)
        except BaseException:
            self.close()
            raise
        if found is None:
            self.close()
            if not self._warned:
                self._warned = True
                for message in self._computing.accuracy_warnings:
                    warn_of_accuracy(message, stacklevel=2)
            raise StopIteration
        return self._state(found)

    def to_pandas(self) -> pandas.DataFrame:
        """Computes the states that are left, and returns a data frame with a row for each: step or block steps, energies and their
        relative error since the first row, and radii, by time.

        :raises ImportError: without pandas.
        """
        frame: pandas.DataFrame = dataframes().DataFrame([self._row(state) for state in self])
        frame.attrs["specification"] = self._toml
        return frame.set_index("time") if len(frame) else frame

    def to_xarray(self) -> xarray.Dataset:
        """Computes the states that are left, and returns them as a dataset: ``position`` and ``velocity`` over ``time``, ``body`` (numbers
        from 1) and ``axis`` (x, y, z), ``mass`` over ``body``, and the columns of :meth:`to_pandas` over ``time``. All states are in memory.

        :raises ImportError: without xarray.
        """
        states: List[Any] = list(self)
        if not states:
            raise ValueError("there are no states left to put into a dataset")
        rows = [self._row(state) for state in states]
        of_bodies = ("time", "body", "axis")
        variables: Dict[str, Any] = {
            "mass": ("body", states[0].mass),
            "position": (of_bodies, np.stack([state.position for state in states])),
            "velocity": (of_bodies, np.stack([state.velocity for state in states])),
        }
        for name in rows[0]:
            if name != "time":
                variables[name] = ("time", [row.get(name, np.nan) for row in rows])
        coordinates = {
            "time": [state.time for state in states],
            "body": np.arange(1, len(states[0].mass) + 1),
            "axis": ["x", "y", "z"],
        }
        made: xarray.Dataset = module().Dataset(variables, coords=coordinates, attrs={"specification": self._toml})
        return made

    def plot(self, ax: Optional[Axes] = None, *, plane: str = "xy", **options: Any) -> Axes:
        """Computes the states that are left, and draws the paths of the bodies with matplotlib, with a dot where each is at the end; of more
        than 30 bodies only the dots. Paths are straight from state to state: a smaller ``every`` makes them smooth.

        :param ax: where to draw; a new figure if ``None``.
        :param plane: the coordinates to the right and upwards: "xy", "xz" or "yz".
        :param options: further options of ``Axes.plot`` for the paths.
        :raises ImportError: without matplotlib.
        """
        if plane not in ("xy", "xz", "yz"):
            raise ValueError(f"plane must be xy, xz or yz, not {plane!r}")
        drawn: Any = new_axes(ax)
        right, up = ("xyz".index(name) for name in plane)
        states: List[Any] = list(self)
        if not states:
            raise ValueError("there are no states left to draw")
        paths = np.stack([state.position for state in states])
        many = paths.shape[1] > 30
        for body in range(0 if many else paths.shape[1]):
            named = {"label": f"body {body + 1}", "lw": 1, **options}
            line = drawn.plot(paths[:, body, right], paths[:, body, up], **named)[0]
            drawn.plot(*paths[-1, body, [right, up]], "o", ms=4, color=line.get_color())
        if many:
            drawn.plot(paths[-1, :, right], paths[-1, :, up], ".", ms=3)
        elif paths.shape[1] <= 12:
            drawn.legend()
        drawn.set(xlabel=plane[0], ylabel=plane[1], title=f"t = {states[0].time:g} to {states[-1].time:g}")
        drawn.set_aspect("equal", "datalim")
        axes: Axes = drawn
        return axes

    def close(self) -> None:
        """Ends the run; there are no more states."""
        self._computing.close()
        self._bar.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()
