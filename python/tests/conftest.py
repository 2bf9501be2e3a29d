"""Fixtures for all tests: the command line's program, and a small map."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
import trisolar

# A shell that runs the tests in the background makes them ignore Ctrl-C, and Python and its child processes would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def command_line(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the program that TRISOLAR_BIN names."""
    program = os.environ.get("TRISOLAR_BIN")
    if program is None:
        pytest.skip("TRISOLAR_BIN does not name the program trisolar")
    folder = tmp_path_factory.mktemp("cwd")

    def run(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [str(Path(program).resolve()), *arguments]
        return subprocess.run(command, cwd=folder, check=check, capture_output=True, text=True)

    return run


#: A map whose twins all part early: at most 1.6e6 pixel-steps.
SMALL: dict[str, Any] = {"size": (17, 12), "steps": 8000, "critical_distance": 0.01, "span": 30}


@pytest.fixture(scope="session")
def small() -> trisolar.DivergenceMap:
    return trisolar.divergence(SMALL)
