"""Equations in Rust. Cargo is a script here: that programs are compiled and right is tested with `trisolar new`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import List

import numpy as np
import pytest
import trisolar

EQUATIONS = "use trisolar_equations::*;\npub struct Spring;\nexport!(flow Spring);\n"

ABOUT = {
    "name": "spring",
    "label": "A spring",
    "parameters": [["k", 1.0]],
    "state": [["x", 1.0], ["v", None]],
    "outcomes": ["far"],
    "methods": ["dop853"],
}
REPORT = {
    "specification": {"map": ["x=0:1", "k=1:3"], "size": [3, 2], "value": ["outcome", "x"], "set": ["v=0"], "seed": 1},
    "summary": {"items": 6},
    "engine": "cpu",
    "device": "a lane",
    "seconds": 0.5,
    "notes": [],
}


def scripted(path: Path, lines: List[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of equations, a cargo that makes a program of it, and nothing of the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    program = tmp_path / "program"
    results = tmp_path / "results"
    results.mkdir()
    np.savez(results / "found.npz", outcome=np.arange(6.0).reshape(2, 3), x=np.arange(6.0).reshape(2, 3) / 4)
    np.save(results / "orbit.npy", np.arange(9.0).reshape(3, 3))
    (results / "report.json").write_text(json.dumps(REPORT))
    (results / "about.json").write_text(json.dumps(ABOUT))
    scripted(
        program,
        [
            f'echo "$@" >> {tmp_path}/arguments',
            'command=$1; for last; do case $before in --out) out=$last;; esac; before=$last; done',
            f"case $command in help) cat {results}/about.json;;",
            f"map) case $* in *--end=0*|*'--end 0'*) echo 'error: --end 0: must be above 0' >&2; exit 2;; esac",
            f"cp {results}/found.npz $out; cat {results}/report.json;;",
            f"orbit) cp {results}/orbit.npy $out;; draw) echo drawn > $out;; esac",
        ],
    )
    message = json.dumps({"reason": "compiler-artifact", "executable": str(program)})
    scripted(tmp_path / "bin" / "cargo", [f"echo '{message}'"])
    equations = tmp_path / "spring.rs"
    equations.write_text(EQUATIONS)
    return equations


def test_a_file_is_a_system_whose_results_are_arrays(file: Path, tmp_path: Path) -> None:
    spring = trisolar.system(file)
    assert (spring.name, spring.parameters, spring.outcomes) == ("spring", {"k": 1.0}, ["far"])
    assert spring.state["x"] == 1 and np.isnan(spring.state["v"])
    (folder,) = (tmp_path / "cache" / "trisolar" / "systems").iterdir()
    assert (folder / "src" / "system.rs").samefile(file)
    assert f'#[path = "{file}"]' in (folder / "src" / "main.rs").read_text()
    assert "system::Spring" in (folder / "src" / "main.rs").read_text()

    found = spring.trajectories(map={"x": (0, 1), "k": (1, 3)}, size=(3, 2), set={"v": 0}, value="outcome,x", threads=2)
    said = (tmp_path / "arguments").read_text().splitlines()[-1]
    for words in ["map --backend auto --threads 2", "--map x=0.0:1.0,k=1.0:3.0", "--size 3x2", "--set v=0.0", "--value outcome,x"]:
        assert words in said
    assert found.records.shape == (2, 3) and found.records.dtype.names == ("outcome", "x")
    np.testing.assert_array_equal(found.records["x"], np.arange(6).reshape(2, 3) / 4)
    assert found.outcomes == ["far"] and found.summary == {"items": 6} and found.engine == "cpu"
    assert found.spec["size"] == [3, 2] and "map" in found.spec_toml
    assert [(name, len(along)) for name, _, along in found._grid()] == [("x", 3), ("k", 2)]
    assert trisolar.atlas(found, boxes=[2])["size"] == [3, 2]
    found.save(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_text() == "drawn\n"

    spring.trajectories(found.spec)
    assert "--size 3x2" in (tmp_path / "arguments").read_text().splitlines()[-1]
    orbit = spring.orbit(end=2, samples=2)
    assert orbit.dtype.names == ("t", "x", "v")
    np.testing.assert_array_equal(orbit["v"], [2, 5, 8])


def test_what_is_not_allowed_is_refused(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spring = trisolar.system(file)
    with pytest.raises(ValueError, match="end.*must be above 0"):
        spring.trajectories(end=0)
    with pytest.raises(TypeError, match="no option iterate"):
        spring.trajectories(iterate="x'=x")
    with pytest.raises(ValueError, match="not a clone"):
        trisolar.system(file, checkout=tmp_path)
    with pytest.raises(FileNotFoundError):
        trisolar.system(tmp_path / "none.rs")
    file.write_text("pub struct Spring;\n")
    with pytest.raises(ValueError, match=r"spring.rs: there is no line such as export!"):
        trisolar.system(file)
    file.write_text(EQUATIONS)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="https://rustup.rs"):
        trisolar.system(file)


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ('echo \'{"message": {"level": "error", "rendered": "error: f64 * R, spring.rs:2:7"}}\'', ValueError, "R, spring.rs:2:7"),
        (
            "printf '  --- stderr\\n  error: f64 * R\\n    --> src/system.rs:2:7\\n  error: could not compile\\n"
            "  see the compiler'\\''s messages\\n' >&2",
            ValueError,
            "error: f64 [*] R\n  --> .*/spring.rs:2:7$",
        ),
        ("echo no matching package >&2", RuntimeError, "cargo cannot build"),
    ],
)
def test_messages_of_cargo_are_those_of_the_exception(
    file: Path, tmp_path: Path, line: str, error: type, words: str
) -> None:
    scripted(tmp_path / "bin" / "cargo", [line, "exit 101"])
    with pytest.raises(error, match=words):
        trisolar.system(file)
