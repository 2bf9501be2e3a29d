"""Runs that write files on the way and go on from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar

RUNS: dict[str, dict[str, Any]] = {
    "nbody": dict(n=20, softening=0.05, steps=60, every=10, threads=1, backend="cpu"),
    "cluster": dict(n=20, end=2, every=0.25, threads=1, backend="cpu"),
}


@pytest.mark.parametrize("system", RUNS)
def test_a_closed_run_goes_on_to_the_same_files(system: str, tmp_path: Path) -> None:
    run, options = getattr(trisolar, system), RUNS[system]

    def files(folder: Path) -> Any:
        folder.mkdir()
        named = dict(series=folder / "s.csv", snapshots=folder / "sn", checkpoint=folder / "c.npz")
        return run(**options, **named)

    whole = [state.time for state in files(tmp_path / "whole")]
    parted = files(tmp_path / "parted")
    before = [next(parted).time for _ in range(4)]
    parted.close()
    later = [state.time for state in run(resume=tmp_path / "parted" / "c.npz", threads=2, backend="cpu")]
    # The run computes one state ahead, and what it has recorded is not shown again.
    assert before + [time for time in later if time > before[-1]] == whole
    for path in sorted((tmp_path / "whole").rglob("*.*")):
        if path.is_file() and path.name != "c.npz":
            assert path.read_bytes() == (tmp_path / "parted" / path.relative_to(tmp_path / "whole")).read_bytes()
    snapshots = sorted((tmp_path / "whole" / "sn").iterdir())
    assert len(snapshots) == len(whole)
    with np.load(snapshots[-1]) as last:
        assert last["time"][0] == whole[-1]


@pytest.mark.parametrize("system", RUNS)
def test_a_run_is_extended_but_not_changed(system: str, tmp_path: Path) -> None:
    run, options = getattr(trisolar, system), RUNS[system]
    checkpoint = tmp_path / "c.npz"
    longer: dict[str, dict[str, Any]] = {"nbody": dict(steps=80), "cluster": dict(end=2.5)}
    ends = longer[system]
    first = list(run(**options, checkpoint=checkpoint))[-1]
    more = list(run(resume=checkpoint, **ends))
    whole = list(run(**{**options, **ends}))
    assert [state.time for state in more] == [state.time for state in whole if state.time > first.time]
    assert np.array_equal(more[-1].position, whole[-1].position)
    others: list[dict[str, Any]] = [dict(n=21), dict(softening=0.1), dict(series=tmp_path / "s.npz"), dict(spec={"n": 20})]
    for wrong in others:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            run(resume=checkpoint, **wrong)
    with pytest.raises(OSError):
        run(resume=tmp_path / "none.npz")
