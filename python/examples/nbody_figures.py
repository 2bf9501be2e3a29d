"""Draws the figures of Bertinelli (2024/25; docs/references.md): speed over the number of bodies, the orbits of six bodies
in two and three dimensions, and the error of their energy.

Run as a whole (`python nbody_figures.py [--quick | --full] [--out FOLDER]`), or cell by cell in an editor that knows
`# %%`. --quick takes few steps, --full as many as the report.
"""

# %% What to compute
from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import trisolar
from matplotlib.axes import Axes
from matplotlib.figure import Figure

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--quick", action="store_true", help="few steps")
parser.add_argument("--full", action="store_true", help="the steps and bodies of the report")
parser.add_argument("--out", type=Path, default=Path("figures"), help="folder of the pictures")
arguments = parser.parse_known_args()[0]
arguments.out.mkdir(parents=True, exist_ok=True)

#: Steps of the six bodies, bodies of the largest run, and seconds for each speed.
STEPS, LARGEST, SECONDS = 1_000_000, 4096, 0.3
if arguments.quick:
    STEPS, LARGEST, SECONDS = 20_000, 512, 0.05
if arguments.full:
    STEPS, LARGEST, SECONDS = 5_000_000, 65536, 1.0


def save(figure: Figure, name: str) -> None:
    """Writes NAME.png."""
    figure.savefig(arguments.out / f"{name}.png", dpi=100)
    plt.close(figure)


# %% Speed: N^2 interactions a step, for more and more bodies, by both solvers
def speed(n: int, solver: str) -> float:
    """Interactions per second of a Plummer sphere of `n` bodies."""
    steps = 1
    while True:
        start, seconds = None, 0.0
        for _ in trisolar.nbody(n=n, softening=0.01, dt=1e-4, steps=steps, solver=solver):
            start, seconds = (time.perf_counter(), 0.0) if start is None else (start, time.perf_counter() - start)
        if seconds > SECONDS:
            return n * n * steps / seconds
        steps *= 2


numbers = [2**k for k in range(6, 17) if 2**k <= LARGEST]
figure, ax = plt.subplots(layout="constrained")
for solver in ("basic", "reduced"):
    speeds = [speed(n, solver) for n in numbers]
    ax.plot(numbers, speeds, "o-", label=f"{solver} solver")
    print(f"{solver}: {max(speeds):.3g} interactions/s at most")
ax.set_xscale("log", base=2)
ax.set(xlabel="bodies", ylabel="interactions per second", yscale="log")
ax.legend()
save(figure, "nbody-speed")

# %% Six bodies: masses from 1 to 10, velocities up to 1, in a cube of 10
run = trisolar.nbody(model="six-bodies", steps=STEPS, every=STEPS // 500)
states = list(run)
times = np.array([state.time for state in states])
orbits = np.array([state.position for state in states])
print(f"{run.spec['integrator']}, dt = {run.spec['dt']}, to t = {times[-1]:g}")

# %% Seen on the x-y plane; the dots are where they start
names = "xyz"


def draw(ax: Axes, first: int, second: int) -> None:
    """The orbits on a plane."""
    for body in range(orbits.shape[1]):
        (line,) = ax.plot(orbits[:, body, first], orbits[:, body, second], lw=0.8)
        ax.plot(*orbits[0, body, [first, second]], "o", color=line.get_color())
    ax.set(xlabel=f"{names[first]} (length)", ylabel=f"{names[second]} (length)", aspect="equal")
    ax.set_adjustable("datalim")


figure, ax = plt.subplots(layout="constrained")
draw(ax, 0, 1)
save(figure, "nbody-plane")

# %% On all three planes
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, (first, second) in zip(axes, ((0, 1), (0, 2), (1, 2))):
    draw(ax, first, second)
save(figure, "nbody-planes")

# %% In space
figure = plt.figure(layout="constrained")
ax = figure.add_subplot(projection="3d")
for body in range(orbits.shape[1]):
    (line,) = ax.plot(*orbits[:, body].T, lw=0.8)
    ax.plot(*orbits[0, body], "o", color=line.get_color())
ax.set(xlabel="x (length)", ylabel="y (length)", zlabel="z (length)")
save(figure, "nbody-space")

# %% The error of the total energy, relative to that of the start
energies = np.array([state.diagnostics()["total"] for state in states])
errors = (energies - energies[0]) / abs(energies[0])
figure, ax = plt.subplots(layout="constrained")
ax.plot(times, errors, lw=0.8)
ax.set(xlabel="time", ylabel="(E - E$_0$) / |E$_0$|")
save(figure, "nbody-energy")
print(f"largest energy error {np.max(np.abs(errors)):.2g}")
print(f"the pictures are in {arguments.out}")
