"""Analyses of maps of outcomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import trisolar


def rings(n: int = 96) -> Any:
    """Rings of three classes, ever closer towards a corner."""
    x, y = np.meshgrid(np.arange(1, n + 1), np.arange(1, n + 1))
    return np.floor(6 * np.log(np.hypot(x, y))).astype(np.int64) % 3


def test_an_atlas_has_the_numbers_of_the_command_line(
    tmp_path: Path, command_line: Callable[..., Any]
) -> None:
    array = rings()
    np.save(tmp_path / "map.npy", array)
    theirs = json.loads(command_line("atlas", str(tmp_path / "map.npy"), "--box", "4,8", "--json").stdout)
    ours = trisolar.atlas(array, boxes=(4, 8))
    assert {key: theirs[key] for key in ours} == ours
    assert [basin["count"] for basin in ours["basins"]] == np.bincount(array.ravel()).tolist()
    assert trisolar.atlas(array + 0.5, limits=(1, 2), boxes=(4, 8))["entropies"] == ours["entropies"]


@pytest.mark.parametrize(
    ("array", "options", "error", "words"),
    [
        (np.zeros((9, 9)), {}, ValueError, "all pixels have the class 0"),
        (np.zeros(9), {}, ValueError, "two axes"),
        (np.eye(4), {}, ValueError, "a box of 5 pixels"),
        (np.eye(9) / 2, {}, ValueError, "whole numbers"),
        (np.full((9, 9), np.nan), {}, ValueError, "NaN"),
        (np.eye(9), {"limits": (2, 1)}, ValueError, "ascending"),
        (np.full((9, 9), "a"), {}, TypeError, "numbers"),
        (np.eye(9, dtype=np.int64) * (2**60 + 1), {}, ValueError, "64-bit"),
    ],
)
def test_what_is_no_map_of_outcomes_is_refused(
    array: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        trisolar.atlas(array, **options)
