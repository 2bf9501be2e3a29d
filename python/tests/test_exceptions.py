"""Failures raise an exception of the right type that gives the reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar


@pytest.mark.parametrize(
    ("options", "exception", "said"),
    [
        ({"steps": "many"}, ValueError, "steps"),
        ({"steps": 2.5}, ValueError, "steps: .*`2.5`, expected a whole number"),
        ({"dt": "x"}, ValueError, "dt: .*expected a number"),
        ({"steps": 2**64}, ValueError, "within 64 bits"),
        ({"steps": -1}, ValueError, "steps"),
        ({"masses": (1, 2)}, ValueError, "masses"),
        ({"size": (1, 2, 3)}, ValueError, "two numbers"),
        ({"shift": "far"}, ValueError, "three numbers"),
        ({"plane": "zx"}, ValueError, "xy"),
        ({"precision": "best"}, ValueError, "f64, fast, mixed, f32"),
        ({"integrator": "magic"}, ValueError, "explicit-euler"),
        ({"integrator": "leapfrog", "precision": "f32"}, ValueError, "'leapfrog' for 'integrator'"),
        ({"masses": object()}, TypeError, "masses must be .* not object"),
        ({"masses": {1: 2}}, TypeError, "not dict"),
        ({"center": 1j}, TypeError, "not complex"),
        ({"stepz": 5}, TypeError, "stepz"),
        ({"backend": "tpu"}, ValueError, "'tpu' for 'backend': must be auto, cpu, gpu or gpu\\+cpu"),
        ({"gpus": "some"}, ValueError, "'some' for 'gpus': must be all, or how many GPUs, from 1 to 64"),
        ({"gpus": 65}, ValueError, "'65' for 'gpus'"),
        ({"gpus": (0, 1)}, ValueError, "'0,1' for 'gpus': .* device 0,1 chooses GPUs by number"),
        ({"device": 64}, ValueError, "'64' for 'device': must be numbers of GPUs from 0 to 63"),
        ({"device": (0, -1)}, ValueError, "'0,-1' for 'device'"),
        ({"device": ()}, ValueError, "'' for 'device'"),
        ({"device": 1.5}, TypeError, "device must be"),
        ({"device": 0, "gpus": 1}, ValueError, "'0' for 'device': gpus says how many"),
        ({"gpus": 1.5}, TypeError, "gpus must be"),
        ({"gpus": True}, TypeError, "gpus must be"),
        ({"backend": 3}, TypeError, "backend must be a string, not 3"),
        ({"threads": 1.5}, TypeError, "threads must be a whole number, not 1.5"),
        ({"masses": [[1, 2], [3]]}, ValueError, "masses: "),
        ({"points": [["a", "b", "c"]]}, TypeError, "points must be numbers"),
        ({"points": [[1j, 2, 3]]}, TypeError, "points must be numbers, not complex128"),
        ({"gpus": [0, "x"]}, TypeError, "gpus must be"),
        ({"preset": "moon"}, ValueError, "'moon' for 'preset': must be accurate, headline or panorama"),
        ({"threads": 0}, ValueError, "'threads': must be a whole number from 1 to 4096"),
        ({"threads": 5000}, ValueError, "'5000' for 'threads'"),
        ({"simd": "sse"}, ValueError, "'sse' for 'simd': must be scalar, avx2, avx512 or neon"),
        ({"simd": 4}, TypeError, "simd must be a string, not 4"),
        ({"progress": 5}, TypeError, "progress"),
        ({"spec": 5}, TypeError, "spec must be"),
        ({"spec": {"stepz": 5}}, ValueError, "unknown field `stepz`"),
        ({"spec": "stepz = 5\n"}, ValueError, "line 1: stepz = 5\nunknown field `stepz`"),
        ({"spec": "dt = -1\n"}, ValueError, "'-1' for 'dt'"),
    ],
)
def test_bad_input(options: dict[str, Any], exception: type[Exception], said: str) -> None:
    with pytest.raises(exception, match=said):
        trisolar.divergence(**options)


def test_a_missing_file_is_named() -> None:
    for path in (Path("nowhere/map.toml"), "nowhere/map.toml"):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            trisolar.divergence(path)


def test_a_bad_value_of_a_file_is_named_with_it(tmp_path: Path) -> None:
    file = tmp_path / "map.toml"
    file.write_text("critical_distance = -1\n")
    with pytest.raises(ValueError, match="for 'critical_distance in .*map.toml'"):
        trisolar.divergence(file)
    with pytest.raises(ValueError, match="'-2' for 'critical_distance'"):
        trisolar.divergence(file, critical_distance=-2)


def test_files_that_cannot_be_written(small: trisolar.DivergenceMap, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown extension .jpg.*\.png, .*\.npy, \.npz and \.zarr\.zip"):
        small.save(tmp_path / "map.jpg")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        small.save(tmp_path / "no" / "map.png")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(IsADirectoryError):
        small.save(tmp_path / "folder.npy")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        small.save(tmp_path / "file" / "map.npy")
    with pytest.raises(ValueError, match="colormap"):
        small.save(tmp_path / "map.png", colormap="jet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.npy"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_os_error(small: trisolar.DivergenceMap, tmp_path: Path) -> None:
    (tmp_path / "map.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match="disk is full"):
        small.save(tmp_path / "map.npy")


@pytest.mark.parametrize(
    "options",
    [
        {"backend": "gpu"},
        {"backend": "gpu+cpu"},
    ],
    ids=lambda options: "-".join(map(str, options)),
)
def test_a_missing_gpu_is_a_runtime_error(options: dict[str, Any]) -> None:
    if trisolar.devices()["gpus"]:
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="no usable GPU"):
        trisolar.divergence(size=2, steps=2, **options)
    with pytest.raises(RuntimeError, match="no usable GPU"):
        next(trisolar.zoom(size=2, frames=1, **options))
    with pytest.raises(RuntimeError, match="no usable GPU"):
        trisolar.nbody(n=16, steps=1, backend="gpu")
    with pytest.raises(RuntimeError, match="no usable GPU"):
        trisolar.cluster(n=16, backend="gpu")
    with pytest.raises(RuntimeError, match="no usable GPU"):
        trisolar.encounters(n=3, backend=options["backend"])


def test_a_missing_gpu_that_is_requested_by_number_is_a_value_error() -> None:
    if trisolar.devices()["gpus"]:
        pytest.skip("there is a GPU")
    for backend in ("auto", "gpu"):
        with pytest.raises(ValueError, match="device 0: "):
            trisolar.divergence(size=2, steps=2, backend=backend, device=np.array([0, 1]))
        with pytest.raises(ValueError, match="gpus 7: "):
            next(trisolar.zoom(size=2, frames=1, backend=backend, gpus=7))
        with pytest.raises(ValueError, match="device 1: "):
            trisolar.nbody(n=16, steps=1, backend=backend, device=1)
        with pytest.raises(ValueError, match="gpus 1: "):
            trisolar.cluster(n=16, backend=backend, gpus=1)


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("divergence", {"device": 0}, "device 0: backend cpu uses no GPU"),
        ("divergence", {"gpus": "all"}, "gpus all: backend cpu uses no GPU"),
        ("nbody", {"gpus": 1}, "gpus 1: backend cpu uses no GPU"),
        ("nbody", {"device": 0}, "device 0: backend cpu uses no GPU"),
        ("cluster", {"gpus": 1}, "'1' for 'gpus': backend cpu uses no GPU"),
    ],
)
def test_gpus_with_a_backend_that_uses_none_are_rejected(command: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        getattr(trisolar, command)(backend="cpu", **options)


def test_options_that_may_be_unintended_give_a_warning() -> None:
    with pytest.warns(UserWarning, match="not square") as caught:
        trisolar.divergence(size=4, span=(1, 2), steps=5)
    assert caught[0].filename == __file__
