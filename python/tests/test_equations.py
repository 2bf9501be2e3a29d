"""Equations as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional

import numpy as np
import pytest
import trisolar

LORENZ = "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z"


def test_a_map_has_its_axes_and_the_values_of_a_computation_with_34_digits() -> None:
    found = trisolar.ode(
        LORENZ,
        set={"s": 10, "r": 28, "b": 8 / 3},
        map={"x": (1, 2), "y": (1, 2)},
        size=(3, 2),
        end=10,
        tolerance=1e-13,
        value=["lyapunov", "x", "z"],
        backend="cpu",
    )
    assert found.records.shape == (2, 3)
    first = found.records[0, 0]
    expected = [0.0563947920606865480, -4.902687541134645732, 24.69085810279055545]
    np.testing.assert_allclose(list(first), expected, rtol=0, atol=1e-8)
    again = trisolar.ode(spec=found.spec, backend="cpu")
    assert again.records.tobytes() == found.records.tobytes()
    assert trisolar.ode(spec=found.spec_toml, backend="cpu").records.tobytes() == found.records.tobytes()


def test_outcomes_of_iterated_maps_have_names(tmp_path: Path) -> None:
    found = trisolar.iterate("x'=x*x; far: x > 4; near: x < 1e-3", map="x=0:2", size=8, end=50, backend="cpu")
    assert found.outcomes == ["far", "near"]
    np.testing.assert_array_equal(found.records["outcome"], [2, 2, 2, 2, 0, 1, 1, 1])
    found.save(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz") as saved:
        np.testing.assert_array_equal(saved["outcome"], found.records["outcome"])


def test_drawn_items_are_a_dataset() -> None:
    pytest.importorskip("xarray")
    found = trisolar.ode("x'=-x", draw="x=uniform:1:2", n=40, end=1, value="x", backend="cpu")
    dataset = found.to_xarray()
    assert dataset.sizes == {"item": 40}
    assert abs(float(dataset.x.mean()) - 1.5 / np.e) < 0.1


@pytest.mark.parametrize(
    ("equations", "options", "words"),
    [
        ("x'=s", {}, "no s"),
        ("x'=x", {"map": {"x": (1, 0)}}, "ascend"),
        ("x'=x", {"method": "euler"}, "dop853"),
        (None, {}, "missing"),
    ],
)
def test_what_is_not_allowed_is_refused(equations: Optional[str], options: Dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trisolar.ode(equations, **options)
