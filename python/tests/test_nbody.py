"""N-body runs: NumPy accesses the states without a copy, and they equal the command line's."""

from __future__ import annotations

import inspect
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import Run


def test_states_are_at_the_start_at_every_interval_and_at_the_end() -> None:
    run = trisolar.nbody(model="figure-eight", steps=25, every=10)
    assert iter(run) is run and run.engine == "cpu"
    states = list(run)
    assert [state.step for state in states] == [0, 10, 20, 25]
    assert [state.time for state in states] == [s.step * run.spec["dt"] for s in states]
    for state in states:
        assert state.position.shape == state.velocity.shape == (3, 3)
        assert state.mass.shape == (3,) and state.mass.dtype == state.position.dtype == np.float64
        assert not state.position.flags.writeable and state.position.base is not None
    assert next(run, None) is None, "an exhausted run stays exhausted"
    assert [state.step for state in trisolar.nbody(model="burrau", steps=7)] == [0, 7]


def test_a_run_has_the_bits_of_the_command_line(tmp_path: Path, command_line: Run) -> None:
    options: dict[str, Any] = {"n": 64, "seed": 3, "softening": 0.05, "dt": 0.01, "steps": 20}
    words = [f"--{name}={value}" for name, value in options.items()]
    command_line("nbody", *words, f"--out={tmp_path / 'end.npz'}", "--quiet")
    *_, end = trisolar.nbody(**options, integrator="velocity-verlet")
    with np.load(tmp_path / "end.npz") as file:
        assert np.array_equal(file["position"], end.position)
        assert np.array_equal(file["velocity"], end.velocity)
        assert np.array_equal(file["mass"], end.mass)
        # Arrays from a file serve as the start, and so does the file itself.
        *_, onwards = trisolar.nbody(bodies=file, softening=0.05, steps=5)
    *_, same = trisolar.nbody(input=tmp_path / "end.npz", softening=0.05, steps=5)
    assert np.array_equal(onwards.position, same.position)


def test_a_run_continues_from_a_state_and_from_a_specification() -> None:
    for integrator in ("leapfrog", "runge-kutta-4"):
        whole = list(trisolar.nbody(model="burrau", steps=40, every=20, integrator=integrator))
        rest = trisolar.nbody(bodies=whole[1], steps=20, dt=whole[1].time / 20, integrator=integrator)
        *_, end = rest
        assert np.array_equal(end.position, whole[2].position)
    first = trisolar.nbody(n=16, seed=5, steps=3)
    for spec in (first.spec, first.spec_toml):
        again = trisolar.nbody(spec)
        assert again.spec == first.spec
    *_, a = first
    *_, b = again
    assert np.array_equal(a.position, b.position)
    # A different model uses nothing of the start in the specification.
    assert trisolar.nbody(first.spec_toml, model="kepler").spec["dt"] == first.spec["dt"]


def test_kepler_comes_back_and_keeps_its_energy() -> None:
    dt = 2 * np.pi / np.sqrt(2) / 4000
    run = trisolar.nbody(model="kepler", dt=dt, steps=4000, integrator="forest-ruth")
    start, end = run
    assert np.allclose(end.position, start.position, atol=1e-6)
    energies = [state.diagnostics()["total"] for state in (start, end)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-9)
    assert set(start.diagnostics()) == set(trisolar.Diagnostics.__annotations__)


def test_bodies_may_be_in_a_plane() -> None:
    plane = {"mass": [1.0, 1.0], "position": [[0, 0], [1, 0]], "velocity": [[0, 0], [0, 1]]}
    run = trisolar.nbody(bodies=plane, steps=10)
    assert run.spec["dimensions"] == 2 and "model" not in run.spec
    *_, end = run
    assert end.position.shape == (2, 3) and np.all(end.position[:, 2] == 0)


@pytest.mark.parametrize(
    ("options", "exception", "said"),
    [
        ({"steps": 0}, ValueError, "'0' for 'steps': must be from 1"),
        ({"dt": 0}, ValueError, "'0' for 'dt'"),
        ({"model": "moon"}, ValueError, "model: unknown variant `moon`"),
        ({"model": "burrau", "seed": 2}, ValueError, "seed: model burrau is not random"),
        ({"radius": 2.0}, ValueError, "radius cannot be used with model plummer"),
        ({"model": "burrau", "n": 4}, ValueError, "the model has 3 bodies"),
        ({"every": 0}, ValueError, "'0' for 'every'"),
        ({"every": -1}, ValueError, "'-1' for 'every': must be a whole number from 1 to 9007199254740992"),
        ({"every": 1.5}, TypeError, "every must be a whole number, not 1.5"),
        ({"device": -1}, ValueError, "'-1' for 'device'"),
        ({"gpus": 0}, ValueError, "'0' for 'gpus': must be a whole number from 1 to 64"),
        ({"partials": "none"}, ValueError, "'none' for 'partials': must be one of rows, threads"),
        ({"backend": "tpu"}, ValueError, "auto, cpu or gpu"),
        ({"schedule": "fair"}, ValueError, "'fair' for 'schedule'"),
        ({"threads": 0}, ValueError, "'0' for 'threads'"),
        ({"input": "nowhere.csv"}, FileNotFoundError, "nowhere.csv"),
        ({"spec": "stepz = 5"}, ValueError, "line 1: stepz = 5\nunknown field `stepz`"),
        ({"spec": 5}, TypeError, "spec must be"),
        ({"n": object()}, TypeError, "n must be .* not object"),
        ({"progress": 5}, TypeError, "progress"),
        ({"bodies": {"mass": [1.0]}}, ValueError, "dict has no position"),
        ({"bodies": {"mass": [1], "position": [[1, 2]], "velocity": [[1, 2, 3]]}}, ValueError, "shape"),
        ({"bodies": 5}, ValueError, "int has no mass"),
    ],
)
def test_bad_input(options: dict[str, Any], exception: type[Exception], said: str) -> None:
    with pytest.raises(exception, match=said):
        trisolar.nbody(**options)


def test_bodies_that_cannot_be_integrated_are_rejected() -> None:
    same = {"mass": [1, 1], "position": np.ones((2, 3)), "velocity": np.zeros((2, 3))}
    with pytest.raises(ValueError, match="bodies 1 and 2 are both at"):
        trisolar.nbody(bodies=same)
    with pytest.raises(ValueError, match="model cannot be used with bodies"):
        trisolar.nbody(bodies=same, model="burrau")


def test_progress_is_reported_to_the_end_and_may_end_the_run() -> None:
    told: list[tuple[int, int]] = []
    list(trisolar.nbody(n=200, steps=300, every=100, progress=lambda *now: told.append(now)))
    assert told[-1] == (300, 300) and told == sorted(told)

    def enough(done: int, total: int) -> None:
        raise LookupError("no more")

    run = trisolar.nbody(n=1000, steps=10_000_000, progress=enough)
    start = time.monotonic()
    with pytest.raises(LookupError, match="no more"):
        list(run)
    assert time.monotonic() - start < 10
    assert next(run, None) is None


def test_a_run_ends_when_it_is_closed() -> None:
    with trisolar.nbody(n=1000, steps=10_000_000, every=1) as run:
        next(run)
        next(run)
    assert next(run, None) is None


def test_options_match_the_specification_and_are_documented() -> None:
    names = list(inspect.signature(trisolar.nbody).parameters)
    documented = inspect.getdoc(trisolar.nbody) or ""
    assert all(f":param {name}:" in documented for name in names)
    spec = json.loads(json.dumps(trisolar.nbody(steps=1, n=2).spec))
    assert set(spec) <= set(names)


def test_partial_sums_and_configurations_equal_the_command_lines(
    tmp_path: Path, command_line: Run
) -> None:
    words = "--model=plummer --n=40 --steps=20 --seed=5 --threads=2 --schedule=cyclic-forces --partials=threads".split()
    files = [f"--out={tmp_path / 'end.npz'}", f"--save-config={tmp_path / 'run.toml'}"]
    command_line("nbody", *words, *files, "--quiet")
    how: dict[str, Any] = {"threads": 2, "schedule": "cyclic-forces", "partials": "threads"}
    *_, named = trisolar.nbody(model="plummer", n=40, steps=20, seed=5, **how)
    *_, read = trisolar.nbody(tmp_path / "run.toml", **how)
    with np.load(tmp_path / "end.npz") as theirs:
        for end in (named, read):
            assert np.array_equal(theirs["position"], end.position)
            assert np.array_equal(theirs["velocity"], end.velocity)


def test_bodies_keep_the_parameters_of_their_integration(tmp_path: Path, command_line: Run) -> None:
    options: dict[str, Any] = {"model": "outer-planets", "steps": 4, "softening": 1e-4}
    words = [f"--{name}={value}" for name, value in options.items()]
    command_line("nbody", *words, f"--out={tmp_path / 'end.npz'}", "--quiet")
    run = trisolar.nbody(**options)
    *_, end = run
    with np.load(tmp_path / "end.npz") as file:
        for bodies in (end, file):
            onwards = trisolar.nbody(bodies=bodies, steps=1)
            for name in ("g", "softening", "dt"):
                assert onwards.spec[name] == run.spec[name], name
            assert next(onwards).time == end.time
            assert onwards.notes == [] or all("GPU" in note for note in onwards.notes)
            other = trisolar.nbody(bodies=bodies, steps=1, g=2.0)
            assert other.spec["g"] == 2.0


def test_units_and_steps_of_their_own() -> None:
    year = trisolar.nbody(model="kepler", units="au,yr,msun", mass_ratio=0, integrator="adaptive", tolerance=1e-11)
    *_, end = year
    assert end.time == pytest.approx(1, rel=1e-4)
    assert year.spec["units"] == "au,yr,msun"
    with pytest.raises(ValueError, match="tolerance"):
        trisolar.nbody(tolerance=1e-9)


def test_integrators_are_compared() -> None:
    compared = trisolar.compare_integrators(["leapfrog", "adaptive"], records=20, model="kepler")
    table = compared.to_pandas()
    assert list(table.columns) == ["leapfrog", "adaptive"]
    assert table["leapfrog"].abs().max() > 1e3 * table["adaptive"].abs().max()
    assert set(compared.errors) == {"leapfrog", "adaptive"}
    with pytest.raises(ValueError, match="list of names"):
        trisolar.compare_integrators("leapfrog")
    with pytest.raises(ValueError, match="compare_integrators"):
        trisolar.nbody(integrator="leapfrog,adaptive")
