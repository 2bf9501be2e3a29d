"""Star clusters: the states are at equal intervals and equal the command line's."""

from __future__ import annotations

import inspect
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import Run


def test_states_are_at_equal_intervals_and_hold_the_energy() -> None:
    run = trisolar.cluster(n=64, end=0.6, every=0.25)
    states = list(run)
    assert [state.time for state in states] == [0, 0.25, 0.5, 0.6]
    assert (run.engine, run.block_steps) == ("cpu", "host")
    first, *_, last = states
    assert first.energy_error == 0 and 0 < abs(last.energy_error) < 1e-5
    assert first.energy == pytest.approx(-0.25, abs=0.1)
    for state in states:
        assert state.position.shape == state.velocity.shape == (64, 3) and state.mass.shape == (64,)
        assert not state.position.flags.writeable
        assert state.lagrange_radii.shape == (len(trisolar.LAGRANGE_FRACTIONS),) == (8,)
        assert np.all(np.diff(state.lagrange_radii) >= 0) and state.centre.shape == (3,)
        assert state.core_radius > 0
    assert 0 < last.blocks < last.steps and first.blocks == 0


def test_a_run_has_the_bits_of_the_command_line(tmp_path: Path, command_line: Run) -> None:
    command_line(
        "cluster", "--n=100", "--seed=7", "--order=4", "--end=0.5", f"--out={tmp_path / 'end.npz'}", "--quiet"
    )
    *_, end = trisolar.cluster(n=100, seed=7, order=4, end=0.5)
    with np.load(tmp_path / "end.npz") as file:
        for name in ("mass", "position", "velocity"):
            assert np.array_equal(file[name], getattr(end, name))
        *_, a = trisolar.cluster(bodies=file, end=0.625)
    *_, b = trisolar.cluster(input=tmp_path / "end.npz", end=0.625)
    assert np.array_equal(a.position, b.position)


def test_a_specification_gives_the_same_run() -> None:
    first = trisolar.cluster(model="king", w0=5, n=50, end=0.125, threads=1)
    *_, a = first
    for spec in (first.spec, first.spec_toml):
        again = trisolar.cluster(spec, threads=2)
        *_, b = again
        assert again.spec == first.spec and np.array_equal(a.position, b.position)


@pytest.mark.parametrize(
    ("options", "exception", "said"),
    [
        ({"order": 5}, ValueError, "order 5: must be 4, 6 or 8"),
        ({"eta": 0}, ValueError, "'0' for 'eta': must be from 1e-6 to 1e6"),
        ({"max_step": 0.1}, ValueError, "'0.1' for 'max_step': must be a power of two"),
        ({"end": math.inf}, ValueError, "'inf' for 'end'"),
        ({"every": 1e-9}, ValueError, "'0.000000001' for 'every'"),
        ({"w0": 5}, ValueError, "needs model king"),
        ({"n": 1}, ValueError, "'1' for 'n'"),
        ({"input": "nowhere.npz"}, FileNotFoundError, "nowhere.npz"),
        ({"input": "nowhere.npz", "n": 5}, ValueError, "are for a model"),
        ({"spec": "orders = 5"}, ValueError, "unknown field `orders`"),
        ({"neighbours": 5}, ValueError, "'5' for 'neighbours': needs scheme ahmad-cohen"),
        ({"model": "burrau", "n": 5}, ValueError, "'5' for 'n': cannot be used with model burrau"),
        ({"gpus": 2}, ValueError, "'2' for 'gpus'"),
        ({"block_step": "gpu"}, ValueError, "'gpu' for 'block_step': must be auto, host or device"),
        ({"block_step": "device"}, ValueError, "'device' for 'block_step': needs backend gpu"),
        (
            {"block_step": "device", "backend": "gpu", "gpus": 2, "scheme": "ahmad-cohen"},
            ValueError,
            "'device' for 'block_step': needs gpus 1 with scheme ahmad-cohen",
        ),
        ({"bodies": {"mass": [-1], "position": [[0, 0, 0]], "velocity": [[0, 0, 0]]}}, ValueError, "mass"),
        ({"bodies": {"mass": [1], "position": [[0, 0]], "velocity": [[0, 0]]}}, ValueError, r"\(1, 3\)"),
    ],
)
def test_bad_input(options: dict[str, Any], exception: type[Exception], said: str) -> None:
    with pytest.raises(exception, match=said):
        trisolar.cluster(**options)


def test_the_neighbour_scheme_gives_nearly_the_same_orbits() -> None:
    *_, plain = trisolar.cluster(n=64, order=4, end=0.25)
    run = trisolar.cluster(n=64, scheme="ahmad-cohen", neighbours=12, end=0.25)
    assert (run.spec["order"], run.spec["neighbours"]) == (4, 12)
    *_, split = run
    assert np.allclose(plain.position, split.position, atol=1e-4)
    assert not np.array_equal(plain.position, split.position)
    assert [len(s.mass) for s in trisolar.cluster(model="figure-eight", end=0.25)] == [3, 3]


def test_a_step_that_became_too_small_is_a_runtime_error() -> None:
    falling = {
        "mass": [1.0, 1.0],
        "position": [[-0.5, 0, 0], [0.5, 0, 0]],
        "velocity": np.zeros((2, 3)),
    }
    with pytest.raises(RuntimeError, match="body . needs a step below|no finite number"):
        list(trisolar.cluster(bodies=falling, softening=0, end=2))


def test_progress_and_exceptions() -> None:
    told: list[tuple[int, int]] = []
    list(trisolar.cluster(n=64, end=0.25, progress=lambda *now: told.append(now)))
    assert told[-1][0] == told[-1][1] and told == sorted(told)

    def enough(done: int, total: int) -> None:
        raise LookupError("no more")

    start = time.monotonic()
    with pytest.raises(LookupError, match="no more"):
        list(trisolar.cluster(n=2000, end=1000, every=1000, progress=enough))
    assert time.monotonic() - start < 10


def test_options_match_the_specification_and_are_documented() -> None:
    names = list(inspect.signature(trisolar.cluster).parameters)
    documented = inspect.getdoc(trisolar.cluster) or ""
    assert all(f":param {name}:" in documented for name in names)
    assert set(trisolar.cluster(n=2, end=0.1).spec) <= set(names)
