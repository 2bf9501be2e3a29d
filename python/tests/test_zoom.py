"""Zooms: the maps equal the command line's frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import Run


def test_frames_equal_the_command_lines(tmp_path: Path, command_line: Run) -> None:
    command_line(
        "zoom", "--size=6x5", "--frames=3", "--set=steps=2000+frame", "--npy", f"--out={tmp_path}", "--backend=cpu",
        "--quiet",
    )
    maps = list(trisolar.zoom(size=(6, 5), frames=3, set="steps=2000+frame", backend="cpu"))
    for frame, map in enumerate(maps):
        assert np.array_equal(map.steps_together, np.load(tmp_path / f"frame-{frame:05}.npy"))
        assert map.spec["steps"] == 2000 + frame and map.spec["center"] == [5.30031, -0.45]


def test_the_rounded_cache_gives_the_command_lines_values(
    tmp_path: Path, command_line: Run
) -> None:
    # Every second frame has the range of the one before, and more steps.
    options: dict[str, Any] = {
        "size": (8, 6), "frames": 4, "set": ["steps=2000+500*frame", "span=40/2^floor(frame/2)"], "backend": "cpu",
    }
    command_line(
        "zoom", "--size=8x6", "--frames=4", "--set=steps=2000+500*frame", "--set=span=40/2^floor(frame/2)",
        "--cache=rounded", f"--out={tmp_path}", "--backend=cpu", "--quiet",
    )
    for frame, map in enumerate(trisolar.zoom(cache="rounded", **options)):
        assert np.array_equal(map.steps_together, np.load(tmp_path / f"frame-{frame:05}.npy"))


def test_the_published_zoom_has_its_ranges() -> None:
    whole = list(trisolar.zoom(size=1, backend="cpu", progress=None, set=["steps=10"]))
    assert whole[30].spec["span"] == [20, 20] and whole[30].spec["shift"] == [0.0005] * 3
    # Fewer frames lead to the same target.
    few = list(trisolar.zoom(size=1, backend="cpu", set=["steps=10"], frames=3))
    assert [map.spec["span"] for map in (few[0], few[2])] == [map.spec["span"] for map in (whole[0], whole[499])]
    first = next(trisolar.zoom("steps = 7", preset="none", center=(1, 2), size=2))
    assert first.spec["center"] == [1, 2] and first.spec["steps"] == 7


def test_progress_counts_frames_and_may_end_the_zoom() -> None:
    told: list[tuple[int, int]] = []
    for _ in trisolar.zoom(
        size=1, frames=3, set=["steps=5"], progress=lambda *now: told.append(now)
    ):
        pass
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("options", "exception", "said"),
    [
        ({"preset": "moon"}, ValueError, "'moon' for 'preset': must be document, video or none"),
        ({"frames": 0}, ValueError, "'0' for 'frames'"),
        ({"set": ["span"]}, ValueError, "'span' for 'set'"),
        ({"set": ["dt=0-frame"], "frames": 2}, ValueError, "frame 0"),
        ({"stepz": 5}, ValueError, "unknown field `stepz`"),
        ({"progress": 5}, TypeError, "progress"),
        ({"backend": "tpu"}, ValueError, "'tpu' for 'backend': must be auto, cpu, gpu or gpu"),
        ({"gpus": "0;1"}, ValueError, "'0;1' for 'gpus': must be all"),
        ({"threads": 0}, ValueError, "'0' for 'threads'"),
        ({"set": [5]}, TypeError, r"set\[0\] must be a string"),
        ({"set": "span"}, ValueError, "'span' for 'set'"),
        ({"frames": 1.5}, TypeError, "frames must be a whole number, not 1.5"),
    ],
)
def test_bad_input(options: dict[str, Any], exception: type[Exception], said: str) -> None:
    with pytest.raises(exception, match=said):
        trisolar.zoom(**options)
