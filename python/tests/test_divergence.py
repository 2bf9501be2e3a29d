"""Maps: values, shapes and types, which do not depend on the form in which options are given."""

from __future__ import annotations

import copy
import gc
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import SMALL


def test_the_headline_map_has_its_reference_values() -> None:
    map = trisolar.divergence(size=10)
    assert (map.pixel_steps, map.never_parted, map.steps_together.min()) == (4509164, 66, 15616)
    assert map.steps_together.sum(dtype=np.uint64) == map.pixel_steps
    assert np.count_nonzero(map.steps_together == 50000) == map.never_parted


def test_the_reference_map_has_its_known_pixels() -> None:
    map = trisolar.divergence(size=100)
    assert (map.pixel_steps, map.never_parted, map.steps_together.min()) == (443725853, 6674, 9707)
    assert map.steps_together.flat[[4321, 7550]].tolist() == [20527, 47744]


def test_times_are_u32_rows_by_columns_without_a_copy(small: trisolar.DivergenceMap) -> None:
    times = small.steps_together
    assert (times.shape, times.dtype) == ((12, 17), np.dtype("uint32"))
    assert times.flags.c_contiguous and not times.flags.owndata
    assert times is small.steps_together
    assert np.shares_memory(np.asarray(small), times)
    assert times.__array_interface__["data"][0] == small.__array_interface__["data"][0]


def test_times_cannot_be_written_but_their_copy_can(small: trisolar.DivergenceMap) -> None:
    with pytest.raises(ValueError, match="read-only"):
        small.steps_together[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        small.steps_together.flags.writeable = True
    small.steps_together.copy()[0, 0] = 1


def test_an_array_outlives_its_map() -> None:
    map = trisolar.divergence(SMALL)
    times, before = map.steps_together, map.steps_together.copy()
    del map
    gc.collect()
    blocks = [np.full(before.shape, 7, np.uint32) for _ in range(50)]
    assert np.array_equal(times, before) and len(blocks) == 50


def test_the_map_describes_how_it_was_computed(small: trisolar.DivergenceMap) -> None:
    assert small.engine in ("cpu", "gpu")
    assert small.device and small.device in repr(small)
    assert small.seconds > 0
    assert small.notes == [] or all(isinstance(note, str) for note in small.notes)
    assert small.spec["size"] == [17, 12]
    assert small.spec["span"] == [30.0, 30.0 * (12 / 17)]
    assert small.spec["masses"] == [10.0, 20.0, 30.0]


def test_a_specification_round_trips_to_the_same_bits(
    small: trisolar.DivergenceMap, tmp_path: Path
) -> None:
    file = tmp_path / "a = b.toml"
    file.write_text(small.spec_toml, encoding="utf-8")
    ways: list[Any] = [small.spec, small.spec_toml, file, str(file)]
    for spec in ways:
        again = trisolar.divergence(spec)
        assert again.spec == small.spec
        assert np.array_equal(again.steps_together, small.steps_together)


def test_a_map_can_be_pickled_and_copied(small: trisolar.DivergenceMap) -> None:
    for again in (pickle.loads(pickle.dumps(small)), copy.deepcopy(small)):
        assert again.steps_together.dtype == np.uint32 and np.array_equal(again.steps_together, small.steps_together)
        for name in ("spec", "spec_toml", "engine", "device", "seconds", "pixel_steps", "never_parted", "notes"):
            assert getattr(again, name) == getattr(small, name), name
    make, (toml, points, times, made) = small.__reduce__()
    with pytest.raises(ValueError, match="too many or too few values"):
        make(toml, points, times[4:], made)
    with pytest.raises(ValueError, match="beyond the number of steps"):
        make(toml, points, b"\xff" * len(times), made)


def test_options_override_the_specification() -> None:
    for spec in ({"steps": 7, "size": 5}, "steps = 7\nsize = 5\n"):
        map = trisolar.divergence(spec, size=(3, 2))
        assert (map.spec["steps"], map.spec["size"]) == (7, [3, 2])


def test_numpy_numbers_and_arrays_are_accepted() -> None:
    options: dict[str, Any] = {
        "size": np.array([4, 3]),
        "center": np.array([0.1, -2.5]),
        "span": np.float64(0.1),
        "body": np.uint8(2),
        "masses": np.array([1, 2, 3]),
        "positions": np.arange(9.0).reshape(3, 3) ** 2,
        "velocities": np.zeros((3, 3), np.float32),
        "g": np.float32(0.1),
        "steps": np.int64(50),
        "dt": np.array(0.001),
        "shift": (np.float64(1e-3), 0, -1e-3),
    }
    map = trisolar.divergence(**options)
    spec = map.spec
    assert spec["size"] == [4, 3]
    assert spec["g"] == float(np.float32(0.1)) != 0.1
    assert spec["positions"] == (np.arange(9.0).reshape(3, 3) ** 2).tolist()
    assert spec["shift"] == [1e-3, 0.0, -1e-3]
    plain = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in options.items()}
    assert np.array_equal(trisolar.divergence(**plain).steps_together, map.steps_together)


def test_options_match_the_specification_and_are_documented(small: trisolar.DivergenceMap) -> None:
    names = list(inspect.signature(trisolar.divergence).parameters)
    assert names[:3] == ["spec", "preset", "points"]
    # The specification of a divergence map does not contain its quantity.
    names_of_values = names[3:-8]
    names_of_values.remove("quantity")
    # That of a regularised integrator alone contains the steps per period.
    names_of_values.remove("steps_per_period")
    # That of a map over places of the grid body contains no other axes and no draws.
    for name in ("map", "draw", "seed"):
        names_of_values.remove(name)
    assert names_of_values == list(small.spec)
    assert names[-8:] == ["max_error", "certify", "backend", "gpus", "device", "threads", "simd", "progress"]
    documented = inspect.getdoc(trisolar.divergence) or ""
    assert all(f":param {name}:" in documented for name in names)


def test_an_instruction_set_can_be_chosen_and_changes_no_bit(small: trisolar.DivergenceMap) -> None:
    map = trisolar.divergence(SMALL, backend="cpu", simd="scalar")
    assert map.engine == "cpu" and "scalar" in map.device
    assert np.array_equal(map.values, small.values)
    for run in (
        trisolar.nbody(n=5, steps=1, backend="cpu", simd="scalar"),
        trisolar.cluster(n=5, end=0.01, backend="cpu", simd="scalar"),
    ):
        assert "scalar" in run.device and len(list(run)) > 0
    found = trisolar.encounters(n=2, backend="cpu", simd="scalar")
    assert "scalar" in found.device


def test_every_number_of_threads_gives_the_same_map(small: trisolar.DivergenceMap) -> None:
    for threads in (1, 2, 5):
        map = trisolar.divergence(SMALL, backend="cpu", threads=threads)
        assert map.engine == "cpu" and f"{threads} thread" in map.device
        assert np.array_equal(map.steps_together, small.steps_together)


def test_devices_describe_the_cpu_and_why_there_is_no_gpu() -> None:
    found = trisolar.devices()
    assert found["cpu"]["threads"] >= 1
    assert [simd["name"] for simd in found["cpu"]["simd"]][-1] == "scalar"
    assert bool(found["gpus"]) == (found["no_gpu"] is None)
    for gpu in found["gpus"]:
        assert gpu["memory_bytes"] > 0 and gpu["name"]
    json.dumps(found)
