"""What ensembles whose items have a record each have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Generic, List, Optional, Tuple, TypeVar

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._dataset import dataframes, new_axes

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Axis = Tuple[str, str, npt.NDArray[np.float64]]
"""An axis of a map: its name, its unit, and its values."""

Found = TypeVar("Found", _trisolar.EncountersFound, _trisolar.EquationsFound, _trisolar.PlanetsFound)


class Recorded(Generic[Found]):
    """Computed items with a record for each, as a structured array of a shape."""

    _found: Found

    def __init__(self, spec: Dict[str, Any], toml: str, shape: Tuple[int, ...]) -> None:
        self._spec = spec
        self._toml = toml
        columns, rows = self._found.records()
        self._records: npt.NDArray[np.void] = np.frombuffer(rows, np.dtype(columns)).reshape(shape)

    @property
    def spec_toml(self) -> str:
        """:attr:`spec` as TOML text."""
        return self._toml

    @property
    def engine(self) -> str:
        """``"cpu"`` or ``"gpu"``."""
        return self._found.engine

    @property
    def device(self) -> str:
        """Description of the device."""
        return self._found.device

    @property
    def seconds(self) -> float:
        """Time of the computation itself (s)."""
        return self._found.seconds

    @property
    def notes(self) -> List[str]:
        """Notes, such as that no GPU could be used."""
        return self._found.notes

    def _grid(self) -> List[Axis]:
        """The axes of a map: the columns, then the rows; none if the items are not a map."""
        return []

    def _plot(self, ax: Optional[Axes], column: str, options: Dict[str, Any]) -> Axes:
        """Draws a map of a column, or its distribution."""
        names = self._records.dtype.names or ()
        if column not in names:
            raise ValueError(f"column must be one of {', '.join(names)}, not {column!r}")
        drawn: Any = new_axes(ax)
        values = self._records[column].astype(np.float64)
        grid = self._grid()
        labels = [f"{name} ({unit})" if unit else name for name, unit, _ in grid]
        if len(grid) == 2:
            # Each value is in the middle of its pixel.
            half = [(along[-1] - along[0]) / max(len(along) - 1, 1) / 2 for _, _, along in grid]
            extent = [end for (_, _, along), d in zip(grid, half) for end in (along[0] - d, along[-1] + d)]
            usual = {"extent": extent, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
            image = drawn.imshow(values, **{**usual, **options})
            drawn.figure.colorbar(image, ax=drawn, label=column)
            drawn.set(xlabel=labels[0], ylabel=labels[1])
        elif len(grid) == 1:
            drawn.plot(grid[0][2], values.ravel(), **options)
            drawn.set(xlabel=labels[0], ylabel=column)
        else:
            drawn.hist(values[np.isfinite(values)], **{"bins": "auto", **options})
            drawn.set(xlabel=column, ylabel="number")
        axes: Axes = drawn
        return axes

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a data frame, a row for each item; those of a map row by row.

        :raises ImportError: without pandas.
        """
        flat = self._records.ravel()
        made: pandas.DataFrame = dataframes().DataFrame({name: flat[name] for name in flat.dtype.names or ()})
        made.attrs["specification"] = self._toml
        return made

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[np.void]:
        records = self._records if dtype is None else self._records.astype(dtype)
        return records.copy() if copy else records

    def __len__(self) -> int:
        return int(self._records.size)
