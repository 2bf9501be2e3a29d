"""Draws the figures of Badger's study of divergence maps (docs/references.md): the headline map, its growth with time,
arithmetics, wider views, the zoom and the integrators.

Run as a whole (`python divergence_figures.py [--quick | --full] [--out FOLDER]`), or cell by cell in an editor that
supports `# %%`. By default it takes some seconds on a CPU; --full uses the pixels of Badger's study, which takes seconds on a GPU.
"""

# %% What to compute
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import trisolar

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="few pixels and steps")
parser.add_argument("--full", action="store_true", help="the pixels of Badger's study")
parser.add_argument("--out", type=Path, default=Path("figures"), help="folder of the pictures")
arguments = parser.parse_known_args()[0]
arguments.out.mkdir(parents=True, exist_ok=True)

#: Pixels along a side, and the share of the steps that are taken.
SIDE, SHARE = (24, 0.25) if arguments.quick else (300, 1.0) if arguments.full else (32, 1.0)


def steps(n: float) -> int:
    """As many steps as there is time for."""
    return int(n * SHARE)


def row(name: str, maps: dict[str, trisolar.DivergenceMap]) -> None:
    """Draws maps side by side into NAME.png."""
    figure, axes = plt.subplots(
        1, len(maps), figsize=(4.5 * len(maps), 4), layout="constrained", squeeze=False
    )
    for ax, (title, map) in zip(axes[0], maps.items()):
        map.plot(ax, title=title)
    figure.savefig(arguments.out / f"{name}.png", dpi=100)
    plt.close(figure)


# %% The headline map: the first body starts somewhere in the plane; bright where it soon parts from its twin
headline = trisolar.divergence(size=SIDE, steps=steps(50_000))
headline.save(arguments.out / "headline.png", title="Three-body divergence")
print(headline)
print(f"{headline.pixel_steps / headline.seconds:.3g} pixel-steps/s")

# %% With more steps more of the plane is seen to be unstable
later = {
    f"{n} steps": trisolar.divergence(size=SIDE, steps=n)
    for n in (steps(50_000), steps(90_000), steps(200_000))
}
row("steps", later)
for title, map in later.items():
    print(f"{title}: {100 * (map.never_parted or 0) / map.steps_together.size:.1f} % have not parted")

# %% Arithmetics: single precision is grainy, an f32 root in the denominators is not
arithmetics = {
    precision: trisolar.divergence(size=SIDE, steps=steps(50_000), precision=precision)
    for precision in ("f64", "mixed", "f32", "fixed:26")
}
row("arithmetics", arithmetics)
for precision, map in arithmetics.items():
    equal = np.mean(map.steps_together == headline.steps_together)
    print(f"{precision}: {map.seconds:.3f} s, {100 * equal:.1f} % of the pixels as in f64")

# %% Wider views: to the right the pattern is repeated and stretched
wide = trisolar.divergence(size=SIDE, steps=steps(90_000), span=80)
row("wide", {"80 across": wide})
strip = trisolar.divergence(
    size=(SIDE * 6, SIDE), steps=steps(90_000), center=(215, 0), span=(510, 85)
)
ax = strip.plot(title="x from -40 to 470")
figure = ax.get_figure(root=True)
assert figure is not None
figure.set_size_inches(14, 3.2)
figure.savefig(arguments.out / "strip.png", dpi=100)
plt.close("all")


# %% The zoom: every 30 frames the range and the shift halve, and there are more steps
def frame(i: int) -> trisolar.DivergenceMap:
    """Frame `i` of the zoom."""
    return trisolar.divergence(
        size=SIDE,
        center=(5.30031, -0.45),
        span=40 / 2 ** (i / 30),
        shift=0.001 / 2 ** (i / 30),
        steps=steps(50_000 + 350_000 * i / 400),
    )


row("zoom", {f"frame {i}": frame(i) for i in (0, 60, 120, 180)})

# %% Integrators: those of higher order take longer steps
time = 50.0 * SHARE
integrators: dict[str, dict[str, Any]] = {
    "Euler": {"dt": 0.001},
    "Euler, dt = 0.01": {"dt": 0.01},
    "Adams-Bashforth 2, dt = 0.01": {"dt": 0.01, "integrator": "adams-bashforth-2"},
    "Adams-Bashforth 4, dt = 0.01": {
        "dt": 0.01,
        "integrator": "adams-bashforth-4",
        "start": "runge-kutta",
    },
}
row(
    "integrators",
    {
        title: trisolar.divergence(size=SIDE, steps=round(time / options["dt"]), **options)
        for title, options in integrators.items()
    },
)
print(f"the pictures are in {arguments.out}")
