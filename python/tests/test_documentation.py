"""The Python code of the documentation runs, with smaller maps and runs where it would take long."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar

ROOT = Path(__file__).resolve().parents[2]

#: Replacements in the text of a page that make it take less time. Each key must occur.
SMALLER: dict[str, dict[str, str]] = {
    "README.md": {
        'preset="accurate", size=300': 'preset="accurate", size=16, steps=500',
        "n=10_000": "n=300",
    },
    "docs/python.md": {
        "size=(640, 480), center=(5.3, -0.45), span=2, steps=90_000": (
            "size=(32, 24), center=(5.3, -0.45), span=2, steps=900"
        ),
        'preset="accurate", quantity="ftle")': 'preset="accurate", quantity="ftle", size=16, steps=500)',
        "size=(160, 120)": "size=(16, 12)",
        "size=100, dt=10, steps=1000": "size=20, dt=10, steps=1000",
        "np.linspace(0, 6.28, 500)": "np.linspace(0, 6.28, 6)",
        "masses=(10, 20, 31))": "masses=(10, 20, 31), steps=500)",
        "np.linspace(0.5, 2, 100)": "np.linspace(0.5, 2, 5)",
        "velocities=fast)": "velocities=fast, steps=500)",
        "np.full(50, 10), np.linspace(5, 40, 50), np.full(50, 30)": "np.full(5, 10), np.linspace(5, 40, 5), np.full(5, 30)",
        "points=ring, masses=masses[:, None])": "points=ring, masses=masses[:, None], steps=500)",
        "steps=6000, every=100": "steps=60, every=10",
        "n=1024, order=6, end=10": "n=64, order=6, end=1",
        'frames=60, size=200, set="steps=50000"': 'frames=2, size=20, set="steps=500"',
        '"dt": [0.001, 0.002]}, size=100': '"dt": [0.001, 0.002]}, size=16, steps=500',
        'vary={"mass2": "5:40:4"}, size=50': 'vary={"mass2": "5:40:2"}, size=8, steps=500',
        'vary={"mass3": "5:40:8"}, n=10_000': 'vary={"mass3": "5:40:2"}, n=30',
    },
    "docs/atlas.md": {},
    "docs/encounters.md": {
        "n=100_000": "n=300",
        "size=300": "size=8",
    },
    "docs/equations.md": {},
    "docs/planets.md": {
        '"a": (7, 10, 96), "e": (0, 0.5, 96)': '"a": (7, 10, 4), "e": (0, 0.5, 3)',
        'stop="r>20")': 'stop="r>20", years=100)',
    },
    "docs/quantities.md": {
        "size=200, steps=5000": "size=20, steps=500",
    },
    "docs/thrown-out.md": {"n=40_000": "n=300"},
}

#: Statements that raise an exception, as their page says.
RAISING: dict[str, type[Exception]] = {
    "trisolar.divergence(size=20, dt=10, steps=1000)": trisolar.AccuracyWarning,
}


def pages() -> list[str]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [str(p.relative_to(ROOT)) for p in paths if "```python" in p.read_text("utf-8")]


def test_the_pages_with_python_are_known() -> None:
    assert sorted(SMALLER) == pages()


@pytest.mark.parametrize("page", pages())
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    state = next(trisolar.nbody(model="figure-eight", steps=1))
    np.savez("start.npz", mass=state.mass, position=state.position, velocity=state.velocity)
    text = (ROOT / page).read_text("utf-8")
    for old, new in SMALLER[page].items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    # Each block continues from the previous one, as if a reader typed them.
    names: dict[str, Any] = {"trisolar": trisolar}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        with warnings.catch_warnings():
            for statement in ast.parse(textwrap.dedent(block)).body:
                source = ast.unparse(statement)
                code = compile(source, page, "exec")
                if source in RAISING:
                    with pytest.raises(RAISING[source]):
                        exec(code, names)
                else:
                    exec(code, names)
