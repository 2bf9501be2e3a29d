"""Quantities other than divergence: arrays of f64, in every form of a map."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest
import trisolar

OPTIONS: Dict[str, Any] = {"size": (9, 7), "steps": 200, "dt": 0.01, "backend": "cpu"}
UNITS = {"closest-approach": "length", "greatest-speed": "length / time", "ftle": "1 / time"}


@pytest.mark.parametrize("quantity", UNITS)
def test_values_are_f64_without_a_copy(quantity: str) -> None:
    map = trisolar.divergence(quantity=quantity, **OPTIONS)
    assert (map.quantity, map.unit) == (quantity, UNITS[quantity])
    assert (map.values.shape, map.values.dtype) == ((7, 9), np.dtype("float64"))
    assert np.shares_memory(np.asarray(map), map.values) and not map.values.flags.owndata
    assert map.pixel_steps == 7 * 9 * 200 and map.never_parted is None
    assert np.isfinite(map.values).all() and np.ptp(map.values) > 0
    assert quantity in repr(map)
    with pytest.raises(AttributeError, match="values"):
        map.steps_together


@pytest.mark.parametrize("quantity", UNITS)
def test_files_pickles_and_specifications_give_the_same_values(quantity: str, tmp_path: Path) -> None:
    map = trisolar.divergence(quantity=quantity, **OPTIONS)
    again = trisolar.divergence(map.spec, backend="cpu")
    restored = pickle.loads(pickle.dumps(map))
    map.save(tmp_path / "map.npz")
    map.save(tmp_path / "map.png")
    with np.load(tmp_path / "map.npz") as file:
        saved = file["values"]
    for values in (again.values, restored.values, saved):
        assert values.tobytes() == map.values.tobytes()


def test_the_closest_approach_is_at_most_the_distance_at_the_start() -> None:
    map = trisolar.divergence(quantity="closest-approach", masses=(1, 1, 1), **OPTIONS)
    # The root in the kernels is within one ULP of NumPy's.
    assert (map.values <= np.nextafter(np.sqrt(344), np.inf)).all(), "the distance of bodies 2 and 3"
    assert (map.values > 0).all()


def test_divergence_is_the_default() -> None:
    map = trisolar.divergence(**OPTIONS)
    assert (map.quantity, map.unit) == ("divergence", "steps")
    assert map.values is map.steps_together and "quantity" not in map.spec


def test_a_precision_that_a_quantity_does_not_support_is_named() -> None:
    with pytest.raises(ValueError, match="with quantity ftle it must be f64"):
        trisolar.divergence(quantity="ftle", precision="fast", **OPTIONS)
    with pytest.raises(ValueError, match=", ".join(["divergence", *UNITS])):
        trisolar.divergence(quantity="lyapunov", **OPTIONS)


def test_sweeps_work_for_every_quantity() -> None:
    maps = [map for _, map in trisolar.sweep(vary={"mass2": [10, 20]}, quantity="ftle", **OPTIONS)]
    assert maps[1].values.tobytes() == trisolar.divergence(quantity="ftle", **OPTIONS).values.tobytes()
