"""Draws figures after Nitadori's slides (docs/references.md): energy error over time by the order of the scheme, the cost
of accuracy, and the shape of the cluster.

Run as a whole (`python hermite_figures.py [--quick | --full] [--out FOLDER]`), or cell by cell in an editor that
supports `# %%`. --quick uses few particles, --full as many as the slides.
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
parser.add_argument("--quick", action="store_true", help="few particles")
parser.add_argument("--full", action="store_true", help="as many particles as the slides")
parser.add_argument("--out", type=Path, default=Path("figures"), help="folder of the pictures")
arguments = parser.parse_known_args()[0]
arguments.out.mkdir(parents=True, exist_ok=True)

#: Particles and the time to stop at.
N, END = (48, 0.5) if arguments.quick else (1024, 4.0) if arguments.full else (128, 1.0)


def save(figure: Figure, name: str) -> None:
    """Writes NAME.png."""
    figure.savefig(arguments.out / f"{name}.png", dpi=100)
    plt.close(figure)


# %% Three orders, each with its usual accuracy: errors of the energy
runs = {order: list(trisolar.cluster(n=N, order=order, end=END, every=END / 16)) for order in (4, 6, 8)}
figure, ax = plt.subplots(layout="constrained")
for order, states in runs.items():
    times = [state.time for state in states[1:]]
    ax.semilogy(times, [abs(state.energy_error) for state in states[1:]], "o-", label=f"order {order}")
    last = states[-1]
    mean = last.steps / last.blocks
    print(f"order {order}: {last.blocks} blocks, {last.steps} steps, {mean:.1f} active on average, dE/E {last.energy_error:+.2e}")
ax.set(xlabel="time", ylabel="|dE / E|")
ax.legend()
save(figure, "hermite-energy")

# %% What accuracy costs: steps of particles and time for smaller and smaller eta
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for order, usual in ((4, 0.1), (6, 0.5), (8, 0.75)):
    errors: list[float] = []
    steps: list[int] = []
    seconds: list[float] = []
    for eta in usual * np.array([1.4, 1.0, 0.7, 0.5]):
        start = time.perf_counter()
        *_, last = trisolar.cluster(n=N, order=order, eta=eta, end=END / 2, every=END / 2)
        seconds.append(time.perf_counter() - start)
        errors.append(abs(last.energy_error))
        steps.append(last.steps)
    axes[0].loglog(steps, errors, "o-", label=f"order {order}")
    axes[1].loglog(seconds, errors, "o-", label=f"order {order}")
axes[0].set(xlabel="steps of particles", ylabel="|dE / E|")
axes[1].set(xlabel="time of the computation (s)", ylabel="|dE / E|")
axes[0].legend()
save(figure, "hermite-cost")

# %% The shape: radii that hold shares of the mass, and the core
states = runs[6]
figure, ax = plt.subplots(layout="constrained")
radii = np.array([state.lagrange_radii for state in states])
times = [state.time for state in states]
for k, fraction in enumerate(trisolar.LAGRANGE_FRACTIONS):
    ax.semilogy(times, radii[:, k], label=f"{100 * fraction:g} %")
ax.semilogy(times, [state.core_radius for state in states], "k--", label="core")
ax.set(xlabel="time", ylabel="radius (length)")
ax.legend(ncols=3, fontsize="small")
save(figure, "hermite-radii")

# %% The particles at the end
figure, ax = plt.subplots(layout="constrained")
last = states[-1]
ax.scatter(last.position[:, 0], last.position[:, 1], s=4, c=np.hypot(*last.velocity[:, :2].T))
ax.plot(*last.centre[:2], "r+", ms=12)
ax.set(xlabel="x (length)", ylabel="y (length)", aspect="equal", title=f"t = {last.time:g}; + density centre")
save(figure, "hermite-cluster")
print(f"the pictures are in {arguments.out}")
