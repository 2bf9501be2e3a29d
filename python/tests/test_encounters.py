"""Encounters as structured arrays: their records equal the command line's, in every form."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar

from conftest import Run

FEW: dict[str, Any] = {"n": 40, "max_time": 2000.0}


@pytest.fixture(scope="module")
def found() -> trisolar.Encounters:
    with pytest.warns(trisolar.TrisolarWarning, match="are open"):
        return trisolar.encounters(seed=3, draw=["inclination=isotropic", "phase=uniform"], **FEW)


def test_records_equal_the_command_lines(
    found: trisolar.Encounters, command_line: Run, tmp_path: Path
) -> None:
    file = tmp_path / "a.npz"
    options = "--n 40 --max-time 2000 --seed 3 --draw inclination=isotropic,phase=uniform"
    command_line("encounters", *options.split(), "--quiet", "--out", str(file))
    there = np.load(file)
    assert found.records.shape == (40,) and len(found) == 40
    for name in found.records.dtype.names or ():
        np.testing.assert_array_equal(found.records[name], there[name], err_msg=name)
    assert {*(found.records.dtype.names or ()), "specification.json"} == set(there.files)
    for extension in "npz", "csv":
        ours, theirs = tmp_path / f"b.{extension}", tmp_path / f"c.{extension}"
        found.save(ours)
        command_line("encounters", *options.split(), "--quiet", "--out", str(theirs))
        assert ours.read_bytes() == theirs.read_bytes()


def test_a_result_describes_how_it_was_computed(found: trisolar.Encounters) -> None:
    assert found.spec["seed"] == 3 and found.spec["n"] == 40
    with pytest.warns(trisolar.TrisolarWarning):
        for spec in found.spec, found.spec_toml:
            again = trisolar.encounters(spec, backend="cpu", threads=1)
            assert again.records.tobytes() == found.records.tobytes()
    assert sum(o["count"] for o in found.summary["outcomes"]) == 40
    assert found.engine in ("cpu", "gpu") and found.device and found.seconds > 0
    assert "40 runs" in repr(found)
    assert not found.records.flags.writeable
    assert np.asarray(found).dtype == found.records.dtype


def test_pandas(found: trisolar.Encounters) -> None:
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert len(frame) == 40 and frame.index.name == "run"
    counts = frame["outcome"].value_counts()
    for outcome in found.summary["outcomes"]:
        assert counts[outcome["what"]] == outcome["count"]
    np.testing.assert_array_equal(frame["time"], found.records["time"])


def test_maps_and_xarray(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    found = trisolar.encounters(map="phase=0:360,e=0:0.5", size=(6, 4), a=4.0)
    assert found.records.shape == (4, 6)
    data = found.to_xarray()
    assert data["time"].dims == ("start_e", "start_phase")
    assert data["start_phase"].attrs["units"] == "degrees"
    np.testing.assert_array_equal(data["start_phase"], found.records["start_phase"][0])
    np.testing.assert_array_equal(data["start_e"], found.records["start_e"][:, 0])
    np.testing.assert_array_equal(data["outcome"], found.records["outcome"])
    found.save(tmp_path / "map.png", theme="light")
    assert (tmp_path / "map.png").read_bytes()[1:4] == b"PNG"
    row = trisolar.encounters(map="phase", size=5).to_xarray()
    assert row["time"].dims == ("start_phase",) and row["time"].shape == (5,)
    runs = trisolar.encounters(n=3).to_xarray()
    assert runs["time"].dims == ("run",)


def test_points() -> None:
    burrau = np.array([1, 3, 0, -2, -1, 0, 1, -1, 0, *([0] * 9), 3, 4, 5], float)
    given = trisolar.encounters(points=[burrau, burrau], order=8)
    named = trisolar.encounters(setup="burrau", order=8)
    assert given.records.shape == (2,)
    assert given.records[1] == named.records[0]
    assert trisolar.ENCOUNTER_OUTCOMES[int(named.records["outcome"][0])] == "escape"
    assert named.records["body"][0] == 1


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({"n": 0}, ValueError, "'n'"),
        ({"n": 1.5}, ValueError, "n: 1.5 must be a whole number"),
        ({"setup": "ring"}, ValueError, "setup: must be binary-single, free-fall or burrau"),
        ({"e": 1.0}, ValueError, "'e'"),
        ({"order": 4}, ValueError, "order: must be 2, 6 or 8"),
        ({"jump": "on"}, ValueError, "jump: must be off, or a tolerance"),
        ({"draw": "e=normal"}, ValueError, "'draw'"),
        ({"map": "phase", "n": 3}, ValueError, "'n'"),
        ({"size": 3}, ValueError, "needs map"),
        ({"points": np.zeros((2, 9))}, ValueError, "21"),
        ({"points": np.zeros((2, 21)), "n": 3}, ValueError, "cannot be used with points"),
        ({"max_error": -1.0}, ValueError, "'max_error'"),
        ({"backend": "cpu", "gpus": 1}, ValueError, "uses no GPU"),
        ({"backend": "abacus"}, ValueError, "auto, cpu, gpu or gpu+cpu"),
        ({"threads": 0}, ValueError, "'threads'"),
        ({"masses": "heavy"}, ValueError, "masses"),
        ({"threads": "two"}, TypeError, "threads"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_wrong_values_are_named(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as raised:
        trisolar.encounters(**options)
    assert message in str(raised.value)


def test_large_errors_are_warnings_or_failures() -> None:
    rough: dict[str, Any] = {"n": 20, "order": 2, "steps_per_period": 30, "max_time": 300.0}
    with pytest.warns(trisolar.AccuracyWarning, match="energy of"):
        with pytest.warns(trisolar.TrisolarWarning, match="are open"):
            trisolar.encounters(**rough)
    with pytest.warns(trisolar.TrisolarWarning):
        with pytest.raises(RuntimeError, match="above max_error"):
            trisolar.encounters(max_error=1e-9, **rough)


def test_progress_and_interruption() -> None:
    seen: list[tuple[int, int]] = []
    trisolar.encounters(n=200, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (200, 200) and seen == sorted(seen)

    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        trisolar.encounters(n=10**6, backend="cpu", progress=stop)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        trisolar.encounters(n=10**6, backend="cpu")
    timer.join()


def test_a_zoom_has_the_command_lines_records(command_line: Run, tmp_path: Path) -> None:
    options = "zoom --map phase=225:255,inclination=0:40 --argument 270 --size 6x8 --to 230.2,24 --frames 3"
    rule = "span=span/2^frame"
    command_line("encounters", *options.split(), f"--set={rule}", "--npz", "--quiet", "--out", str(tmp_path))
    told: list[tuple[int, int]] = []
    maps = trisolar.encounters_zoom(
        map="phase=225:255,inclination=0:40", argument=270, size=(6, 8), to=(230.2, 24), frames=3, set=rule,
        progress=lambda *now: told.append(now),
    )
    for frame, found in enumerate(maps):
        there = np.load(tmp_path / f"frame-{frame:05}.npz")
        for name in found.records.dtype.names or ():
            np.testing.assert_array_equal(found.records[name], there[name], err_msg=name)
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_sweep_is_an_ensemble_for_each_value() -> None:
    swept = list(trisolar.encounters_sweep(vary={"mass3": [10, 20], "e": "0,0.5"}, n=5, seed=4))
    assert [values for values, _ in swept] == [{"mass3": m, "e": e} for m in (10.0, 20.0) for e in (0.0, 0.5)]
    for values, found in swept:
        one = trisolar.encounters(masses=(15, 17.5, values["mass3"]), e=values["e"], n=5, seed=4)
        assert found.records.tobytes() == one.records.tobytes() and found.spec == one.spec


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"to": 5, "n": 3}, r"'5' for 'to': only a map \(map\)"),
        ({"to": (1, 2), "map": "phase=0:9"}, "'1,2' for 'to': it must have a number for each axis"),
        ({"to": 10, "map": "phase=0:9"}, "'10' for 'to': phase must be on the map, from 0 to 9"),
        ({"to": 1, "map": "phase=0:9", "frames": 0}, "'0' for 'frames'"),
        ({"to": 1, "map": "phase=0:9", "set": "moon=1"}, "'moon=1' for 'set'"),
    ],
)
def test_invalid_zooms_are_rejected(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        trisolar.encounters_zoom(**options)


@pytest.mark.parametrize("vary", ["moon=1", {"e": [2]}, []])
def test_invalid_sweeps_are_rejected(vary: Any) -> None:
    with pytest.raises(ValueError, match="vary|e = 2|must be"):
        trisolar.encounters_sweep(vary=vary, n=3)


def test_verdicts() -> None:
    found = trisolar.encounters(map="phase,inclination", size=(6, 5), certify=True)
    verdicts = found.verdicts
    assert verdicts is not None and verdicts.shape == (5, 6) and verdicts.dtype == np.uint8
    shares = found.summary["certificate"]["verdicts"]
    assert [share["what"] for share in shares] == ["agrees", "step", "rounding", "undecided"]
    assert [share["count"] for share in shares] == np.bincount(verdicts.ravel(), minlength=4).tolist()
    assert trisolar.encounters(n=30).verdicts is None
