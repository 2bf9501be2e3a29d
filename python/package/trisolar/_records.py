"""What ensembles whose items have a record each have in common."""

from __future__ import annotations

from typing import Any, Dict, Generic, List, Optional, Tuple, TypeVar

import numpy as np
import numpy.typing as npt

from . import _trisolar


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

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[np.void]:
        records = self._records if dtype is None else self._records.astype(dtype)
        return records.copy() if copy else records

    def __len__(self) -> int:
        return int(self._records.size)
