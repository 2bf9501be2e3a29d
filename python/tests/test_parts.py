"""The script of docs/clusters-of-machines.md merges the parts that its tasks compute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples/clusters/parts.py"


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("divergence --size 6 --steps 60 --out map.npy", "map.npy"),
        ("sweep --vary mass2=5:9:3 --size 5 --steps 60 --out s", "s/table.csv"),
    ],
)
def test_parts_are_merged(tmp_path: Path, words: str, file: str) -> None:
    program = os.environ.get("TRISOLAR_BIN")
    if program is None:
        pytest.skip("TRISOLAR_BIN does not name the program trisolar")
    program = str(Path(program).resolve())
    whole, divided = tmp_path / "whole", tmp_path / "divided"
    for folder in (whole, divided):
        folder.mkdir()
    subprocess.run([program, *words.split(), "--quiet"], cwd=whole, check=True)
    command = [sys.executable, str(SCRIPT), "--parts", "3", "--with", "threads", "--", *words.split()]
    environment = {**os.environ, "TRISOLAR_BIN": program}
    done = subprocess.run(
        command, cwd=divided, env=environment, check=True, capture_output=True, text=True
    )
    assert file in done.stdout.split()
    assert (whole / file).read_bytes() == (divided / file).read_bytes()
