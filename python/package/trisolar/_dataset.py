"""Results for xarray, pandas and matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


def module() -> Any:
    """xarray.

    :raises ImportError: without it.
    """
    try:
        import xarray
    except ImportError as error:
        raise ImportError("to_xarray() needs xarray: pip install xarray") from error
    return xarray


def dataframes() -> Any:
    """pandas.

    :raises ImportError: without it.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from error
    return pandas


def new_axes(ax: Optional[Axes]) -> Axes:
    """The axes to draw on: those given, or those of a new figure.

    :raises ImportError: without matplotlib.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from error
    if ax is not None:
        return ax
    made: Axes = plt.subplots(layout="constrained")[1]
    return made


def stacked(
    found: Sequence[Tuple[Mapping[str, float], xarray.Dataset]], specification: str, units: Mapping[str, str]
) -> xarray.Dataset:
    """Datasets along one dimension for each of the values that each comes with, the last varying fastest. ``units`` are those of the
    values.

    Coordinates that differ from one dataset to the next, as in a zoom, get these dimensions too; their own are then named ``row`` and
    ``column``.
    """
    xarray = module()
    if not found:
        raise ValueError("there is nothing left to put into a dataset")
    datasets = [dataset for _, dataset in found]
    first = datasets[0]
    moving = [
        name
        for name in first.dims
        if name in first.coords and not all(first[name].equals(dataset[name]) for dataset in datasets)
    ]
    if moving:
        axes = next(iter(first.data_vars.values())).dims
        named = {name: ("row", "column")[axes.index(name)] if len(axes) == 2 else "column" for name in moving}
        datasets = [dataset.rename_dims(named).reset_index(moving) for dataset in datasets]
    names = list(found[0][0])
    values = [[each[name] for each, _ in found] for name in names]
    if len(names) > 1:
        values = [list(dict.fromkeys(along)) for along in values]
        if len(found) != np.prod([len(along) for along in values]):
            raise ValueError(f"what is left has not all pairs of the values of {' and '.join(names)}")
    for name, along in reversed(list(zip(names, values))):
        unit = units.get(name)
        index: Any = xarray.DataArray(np.asarray(along), dims=name, name=name, attrs={"units": unit} if unit else {})
        groups: List[Any] = [
            xarray.concat(
                datasets[k : k + len(along)], index, coords="different", compat="equals",
                data_vars="all", combine_attrs="override", join="exact",
            )
            for k in range(0, len(datasets), len(along))
        ]
        datasets = groups
    whole = datasets[0]
    whole.attrs["specification"] = specification
    return whole
