"""Python and the command line give the same bytes and the same messages."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import SMALL, Run
from trisolar._trisolar import in_python

#: Options in Python, and the same options for the command line.
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"size": 9, "steps": 20000}, ["--size", "9", "--steps", "20000"]),
    (
        {"size": (7, 11), "center": (5.30031, -0.45), "span": (2, 3), "steps": 9000},
        ["--size", "7x11", "--center", "5.30031,-0.45", "--span", "2,3", "--steps", "9000"],
    ),
    (
        {"size": 6, "integrator": "adams-bashforth-4", "start": "runge-kutta", "steps": 9000},
        "--size 6 --integrator adams-bashforth-4 --start runge-kutta --steps 9000".split(),
    ),
    (
        {"size": 6, "precision": "fixed:30", "steps": 9000},
        "--size 6 --precision fixed:30 --steps 9000".split(),
    ),
    (
        {
            "size": (5, 6),
            "plane": "yz",
            "body": 3,
            "masses": (1, 0, 2.5),
            "positions": ((0, 1, 2), (3, 4, 5.5), (-1, 0, 0)),
            "velocities": ((0, 0, 0.1), (0, 0, 0), (0.1, 0.2, 0.3)),
            "g": 1.5,
            "softening": 0.05,
            "dt": 0.002,
            "shift": (0.001, 0, 0),
            "critical_distance": 0.1,
            "steps": 15000,
        },
        "--size 5x6 --plane yz --body 3 --masses 1,0,2.5 --positions 0,1,2:3,4,5.5:-1,0,0 "
        "--velocities 0,0,0.1:0,0,0:0.1,0.2,0.3 --g 1.5 --softening 0.05 --dt 0.002 "
        "--shift 0.001,0,0 --critical-distance 0.1 --steps 15000".split(),
    ),
]


@pytest.mark.parametrize(("options", "arguments"), CASES, ids=["headline", "window", "integrator", "precision", "every"])
@pytest.mark.filterwarnings("ignore:pixels are not square")
def test_files_are_those_of_the_command_line_byte_for_byte(
    options: dict[str, Any], arguments: list[str], command_line: Run, tmp_path: Path
) -> None:
    map = trisolar.divergence(**options)
    names = ["map.npy", "map.npz", "map.png"]
    outs = [word for name in names for word in ("--out", str(tmp_path / f"theirs-{name}"))]
    reported = json.loads(command_line("divergence", *arguments, *outs, "--json").stdout)
    assert reported["specification"] == map.spec
    assert reported["pixel_steps"] == map.pixel_steps
    assert reported["never_parted"] == map.never_parted
    for name in names:
        map.save(tmp_path / name)
        ours, theirs = (tmp_path / name).read_bytes(), (tmp_path / f"theirs-{name}").read_bytes()
        assert ours == theirs, name
    assert np.array_equal(np.load(tmp_path / "theirs-map.npy"), map.steps_together)


def test_pictures_accept_the_options_of_the_command_line(command_line: Run, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.png", tmp_path / "ours.png"
    command_line(
        "divergence", "--size", "6", "--steps", "9000", "--out", str(theirs),
        "--colormap", "viridis", "--title", "A title",
    )  # fmt: skip
    map = trisolar.divergence(size=6, steps=9000)
    map.save(str(ours), colormap="viridis", title="A title")
    assert ours.read_bytes() == theirs.read_bytes()
    command_line("divergence", "--size", "6", "--steps", "9000", "--out", str(theirs), "--bare")
    map.save(ours, bare=True)
    assert ours.read_bytes() == theirs.read_bytes()


def test_pictures_shrink_as_on_the_command_line(command_line: Run, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.png", tmp_path / "ours.png"
    command_line("divergence", "--size=9", "--steps=9000", f"--out={theirs}", "--bare", "--shrink=2")
    map = trisolar.divergence(size=9, steps=9000)
    map.save(ours, bare=True, shrink=2)
    assert ours.read_bytes() == theirs.read_bytes()
    with pytest.raises(ValueError, match="'0' for 'shrink': must be a whole number from 1 to 65536"):
        map.save(ours, shrink=0)


def test_everything_else_overrides_a_preset(command_line: Run, tmp_path: Path) -> None:
    file = tmp_path / "few.toml"
    file.write_text("steps = 9\n")
    arguments = ["--preset=panorama", "--size=7x2", f"--config={file}", f"--out={tmp_path / 'map.npy'}"]
    reported = json.loads(command_line("divergence", *arguments, "--json").stdout)
    with pytest.warns(UserWarning, match="not square"):
        ours = [trisolar.divergence(spec, preset="panorama", size=(7, 2)).spec for spec in (file, {"steps": 9})]
    assert ours == [reported["specification"]] * 2
    assert ours[0]["span"] == [510, 80] and ours[0]["steps"] == 9


@pytest.mark.parametrize(
    ("option", "value"),
    [("backend", "tpu"), ("gpus", "0,1"), ("gpus", ""), ("threads", 0), ("threads", 5000), ("simd", "sse")],
)
@pytest.mark.parametrize("command", ["divergence", "zoom", "nbody", "cluster"])
def test_run_options_are_rejected_with_the_command_lines_messages(
    command: str, option: str, value: Any, command_line: Run
) -> None:
    maps = command in ("divergence", "zoom")
    if not maps and option == "gpus":
        # One run accepts up to 64 GPUs.
        value = 65 if value == "0,1" else 0
    refused = command_line(command, f"--{option}={value}", check=False)
    assert refused.returncode == 2
    with pytest.raises(ValueError) as error:
        getattr(trisolar, command)(**{option: value})
    # On the command line, the message also contains the placeholder of the option's value.
    said = re.sub(rf"'--{option} <[^>]*>'", f"'--{option}'", refused.stderr)
    assert in_python(said).startswith(f"error: {error.value}\n")


def test_a_missing_gpu_gives_the_command_lines_message(command_line: Run) -> None:
    if trisolar.devices()["gpus"]:
        pytest.skip("there is a GPU")
    cases: list[tuple[str, dict[str, Any]]] = [
        ("divergence", {"backend": "gpu+cpu"}),
        ("divergence", {"backend": "gpu", "device": "0,1"}),
        ("divergence", {"gpus": 7}),
        ("nbody", {"backend": "gpu"}),
        ("nbody", {"backend": "gpu", "gpus": 2}),
        ("nbody", {"device": 1}),
        ("cluster", {"backend": "gpu"}),
        ("cluster", {"backend": "gpu", "gpus": 2}),
        ("cluster", {"gpus": 1}),
    ]
    for command, options in cases:
        failed = command_line(command, *(f"--{k}={v}" for k, v in options.items()), check=False)
        # A missing GPU that was requested by number is bad input.
        by_number = "gpus" in options or "device" in options
        assert failed.returncode == (2 if by_number else 1)
        with pytest.raises(ValueError if by_number else RuntimeError) as error:
            getattr(trisolar, command)(**options)
        assert in_python(failed.stderr).splitlines()[0] == f"error: {error.value}"


def test_each_side_reads_the_others_saved_configuration(command_line: Run, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.toml", tmp_path / "ours.toml"
    map = trisolar.divergence(SMALL)
    ours.write_text(map.spec_toml, encoding="utf-8")
    out = ["--out", str(tmp_path / "map.npy")]
    command_line("divergence", "--config", str(ours), "--save-config", str(theirs), *out)
    assert theirs.read_text(encoding="utf-8") == map.spec_toml
    assert np.array_equal(np.load(tmp_path / "map.npy"), map.steps_together)
    assert np.array_equal(trisolar.divergence(theirs).steps_together, map.steps_together)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"size": 0}, ["--size", "0"]),
        ({"size": (70000, 70000)}, ["--size", "70000x70000"]),
        ({"dt": -1.0}, ["--dt", "-1"]),
        ({"dt": float("nan")}, ["--dt", "nan"]),
        ({"g": float("inf")}, ["--g", "inf"]),
        ({"masses": (1, -2, 3)}, ["--masses", "1,-2,3"]),
        ({"positions": np.zeros((3, 3))}, ["--positions", "0,0,0:0,0,0:0,0,0"]),
        ({"critical_distance": 0}, ["--critical-distance", "0"]),
        ({"span": (1, 0)}, ["--span", "1,0"]),
        ({"body": 4}, ["--body", "4"]),
        ({"steps": 0}, ["--steps", "0"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_values_give_the_command_lines_messages(
    options: dict[str, Any], arguments: list[str], command_line: Run
) -> None:
    refused = command_line("divergence", *arguments, check=False)
    assert refused.returncode == 2
    with pytest.raises(ValueError) as error:
        trisolar.divergence(**options)
    assert in_python(refused.stderr) == f"error: {error.value}\n"


def test_a_bad_file_gives_the_command_lines_message(command_line: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    for text in ("dt = -1\n", "steps = 5\n\nstep = 6\n", "steps = [\n"):
        file.write_text(text)
        refused = command_line("divergence", "--config", str(file), check=False)
        assert refused.returncode == 2
        with pytest.raises(ValueError) as error:
            trisolar.divergence(file)
        assert in_python(refused.stderr).strip() == f"error: {error.value}".strip()


def test_the_devices_are_those_of_the_command_line(command_line: Run) -> None:
    theirs = json.loads(command_line("devices", "--json").stdout)
    ours: dict[str, Any] = dict(trisolar.devices())
    # The program also has the keys that all of its reports have.
    theirs = {key: theirs[key] for key in ours}
    # The package and the program may have been built with different features.
    for machine in (theirs, ours):
        machine["cpu"] = {k: v for k, v in machine["cpu"].items() if k != "memory_available_bytes"}
        machine.pop("kernels")
        machine.pop("no_gpu")
    assert ours == theirs


def test_an_npz_holds_the_array_and_its_specification(
    small: trisolar.DivergenceMap, tmp_path: Path
) -> None:
    small.save(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz") as file:
        assert np.array_equal(file["steps_together"], small.steps_together)
    with zipfile.ZipFile(tmp_path / "map.npz") as file:
        assert json.load(io.TextIOWrapper(file.open("specification.json"), "utf-8")) == small.spec
