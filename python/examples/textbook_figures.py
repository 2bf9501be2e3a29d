"""Draws the figures and prints the tables of the N-body solvers of Pacheco & Malensek (2021; docs/references.md): Euler's
method, four particles on a line, and run-times of the basic and the reduced solver by threads and schedules.

Run as a whole (`python textbook_figures.py [--quick] [--out FOLDER]`), or cell by cell in an editor that knows
`# %%`. --quick takes few steps.
"""

# %% What to compute
from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import trisolar
from matplotlib.figure import Figure

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="few steps")
parser.add_argument("--out", type=Path, default=Path("figures"), help="folder of the pictures")
arguments = parser.parse_known_args()[0]
arguments.out.mkdir(parents=True, exist_ok=True)

#: Particles and steps of the run-times (the book has 400 and 1000).
PARTICLES, STEPS = (60, 20) if arguments.quick else (400, 1000)


def save(figure: Figure, name: str) -> None:
    """Writes NAME.png."""
    figure.savefig(arguments.out / f"{name}.png", dpi=100)
    plt.close(figure)


# %% Euler's method follows tangents: a circular orbit with ever shorter steps
circle = {"mass": [1.0, 0.0], "position": [[0.0, 0.0], [1.0, 0.0]], "velocity": [[0.0, 0.0], [0.0, 1.0]]}
figure, ax = plt.subplots(layout="constrained")
angle = np.linspace(0, 2 * np.pi, 200)
ax.plot(np.cos(angle), np.sin(angle), "k--", lw=0.8, label="the orbit")
for steps in (16, 64, 512):
    run = trisolar.nbody(
        bodies=circle, integrator="explicit-euler", dt=2 * np.pi / steps, steps=steps, every=1
    )
    path = np.array([state.position[1] for state in run])
    ax.plot(path[:, 0], path[:, 1], ".-", ms=3, lw=0.8, label=f"{steps} steps a period")
ax.set(xlabel="x", ylabel="y", aspect="equal")
ax.legend()
save(figure, "textbook-euler")

# %% Four particles on a line, as the book's program starts them (SI units), to t = 1
line = {"model": "line", "n": 4, "dt": 0.01, "integrator": "explicit-euler"}
states = list(trisolar.nbody(line, steps=100, every=1))
for state in (states[0], states[-1]):
    print(f"{state.time:.2f}")
    for k, (x, v) in enumerate(zip(state.position, state.velocity)):
        print(f"{k:3d} {x[0]:10.3e}   {x[1]:10.3e}   {v[0]:10.3e}   {v[1]:10.3e}")
figure, ax = plt.subplots(layout="constrained")
orbits = np.array([state.position for state in states])
for k in range(4):
    (drawn,) = ax.plot(orbits[:, k, 0], orbits[:, k, 1], label=f"particle {k}")
    ax.plot(*orbits[0, k, :2], "o", color=drawn.get_color())
ax.set(xlabel="x (m)", ylabel="y (m)")
ax.legend(ncols=2)
save(figure, "textbook-line")

# %% Run-times: the basic solver, and the reduced one with its rows dealt in blocks and in turns
most = trisolar.devices()["cpu"]["threads"]
threads = sorted({n for n in (1, 2, 4, 8) if n <= most} | {most})


def seconds(threads: int, **options: str) -> float:
    """Time of the steps, from the start's state to the last."""
    run = trisolar.nbody(
        model="line", n=PARTICLES, dt=0.01, steps=STEPS, integrator="explicit-euler", backend="cpu",
        threads=threads, solver=options["solver"], schedule=options["schedule"],
    )
    next(run)
    start = time.perf_counter()
    list(run)
    return time.perf_counter() - start


kinds = {
    "basic": {"solver": "basic", "schedule": "block"},
    "reduced, block": {"solver": "reduced", "schedule": "block"},
    "reduced, cyclic": {"solver": "reduced", "schedule": "cyclic"},
}
print("threads" + "".join(f"{name:>18}" for name in kinds))
table = {name: [seconds(n, **options) for n in threads] for name, options in kinds.items()}
for row, n in enumerate(threads):
    print(f"{n:7d}" + "".join(f"{table[name][row]:16.3f} s" for name in kinds))
figure, ax = plt.subplots(layout="constrained")
for name, times in table.items():
    ax.plot(threads, times, "o-", label=name)
ax.set(xlabel="threads", ylabel=f"time of {STEPS} steps, {PARTICLES} particles (s)", xticks=threads, ylim=(0, None))
ax.legend()
save(figure, "textbook-times")
print(f"the pictures are in {arguments.out}")
