#!/usr/bin/env python3
"""Times Trisolar and REBOUND's IAS15 (Rein & Spiegel 2015) on the same encounters, on one CPU core each, in one run.

    pip install numpy rebound
    cargo build --release
    python benches/peers/encounters.py [--n 200] [--repeats 3] [--trisolar target/release/trisolar]

The encounters are those of Trani et al. (2024): a circular binary of masses 15 and 17.5 with a = 5, and a body of mass 12.5 at rest at a
distance of 100; G = 1, so that a year is 2 pi. Both programs follow them to the escape of a body, or for 500 years. REBOUND is asked
once a year whether a body has escaped, by Trisolar's rule: it is unbound, recedes, and is beyond 20 semi-major axes of the binary.
All times are processor times of one thread, which another program on the machine disturbs less than the clock. Those of Trisolar are of
the whole process, files included; those of REBOUND do not include the start of Python.
"""

import argparse
import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import rebound

YEAR = 2 * np.pi
YEARS = 500
MASSES = np.array([15.0, 17.5, 12.5])
A, DISTANCE, ESCAPE_RADIUS = 5.0, 100.0, 20.0


def starts(n, seed):
    """Start states of n encounters, shape (n, 21): positions, velocities and masses."""
    random = np.random.default_rng(seed)
    phase, inclination = random.uniform(0, 2 * np.pi, n), random.uniform(0, np.pi, n)
    sl, cl, si, ci = np.sin(phase), np.cos(phase), np.sin(inclination), np.cos(inclination)
    separation = A * np.stack([cl * si, sl, cl * ci], axis=1)
    speed = np.sqrt((MASSES[0] + MASSES[1]) / A)
    velocity = speed * np.stack([-sl * si, cl, -sl * ci], axis=1)
    share = MASSES[:2] / MASSES[:2].sum()
    rows = np.zeros((n, 21))
    rows[:, 0:3], rows[:, 3:6], rows[:, 6] = -share[1] * separation, share[0] * separation, DISTANCE
    rows[:, 9:12], rows[:, 12:15] = -share[1] * velocity, share[0] * velocity
    rows[:, 18:] = MASSES
    return rows


def escaper(x, v):
    """The body that has escaped, 1 to 3, or 0."""
    for body in range(3):
        i, j = (k for k in range(3) if k != body)
        pair = MASSES[i] + MASSES[j]
        dx, dv = x[j] - x[i], v[j] - v[i]
        energy = dv @ dv / 2 - pair / np.sqrt(dx @ dx)
        if energy >= 0:
            continue
        a = -pair / (2 * energy)
        centre = lambda y: (MASSES[i] * y[i] + MASSES[j] * y[j]) / pair
        r, w = x[body] - centre(x), v[body] - centre(v)
        distance = np.sqrt(r @ r)
        unbound = w @ w / 2 > MASSES.sum() / distance
        if unbound and r @ w > 0 and distance > ESCAPE_RADIUS * a:
            return body + 1
    return 0


def with_rebound(row):
    """Integrates one encounter: the escaper, its time, and the relative error of the energy."""
    simulation = rebound.Simulation()
    simulation.integrator = "ias15"
    for body in range(3):
        x, v = row[3 * body : 3 * body + 3], row[9 + 3 * body : 12 + 3 * body]
        simulation.add(m=row[18 + body], x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    before, found = simulation.energy(), 0
    x, v = np.zeros((3, 3)), np.zeros((3, 3))
    for year in range(1, YEARS + 1):
        simulation.integrate(year * YEAR, exact_finish_time=0)
        simulation.serialize_particle_data(xyz=x, vxvyvz=v)
        found = escaper(x, v)
        if found:
            break
    return found, simulation.t, abs(simulation.energy() / before - 1)


def with_trisolar(program, rows, folder, *options):
    """Integrates all encounters: processor seconds, escapers, times and errors."""
    points, records = folder / "points.npy", folder / "records.npz"
    np.save(points, rows)
    command = [program, "encounters", "--points", points, "--max-time", repr(YEARS * YEAR)]
    command += ["--backend", "cpu", "--threads", "1", "--out", records, "--json", *options]
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = spent()
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = spent() - begin
    with np.load(records) as found:
        body = np.where(found["outcome"] == 0, found["body"], 0)
        return seconds, body, found["time"], np.abs(found["energy_error"]), report["device"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="encounters")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3, help="the fastest counts")
    parser.add_argument("--trisolar", default="target/release/trisolar", help="the program")
    parser.add_argument("--many", type=int, default=50, help="Trisolar follows so many times as many encounters, to be measurable")
    arguments = parser.parse_args()
    rows = starts(arguments.n * arguments.many, arguments.seed)
    few = rows[: arguments.n]

    best, peer = np.inf, None
    rates = {"": np.inf, "--jump off": np.inf}
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.repeats):
            begin = time.process_time()
            peer = [with_rebound(row) for row in few]
            best = min(best, time.process_time() - begin)
            for options in rates:
                seconds, *found = with_trisolar(arguments.trisolar, rows, Path(folder), *options.split())
                rates[options] = min(rates[options], seconds)
                kept[options] = found
    body, ended, error = (np.array(column) for column in zip(*peer))
    rate = arguments.n / best
    print(f"REBOUND {rebound.__version__}, IAS15, and Trisolar on {kept[''][-1]}")
    print(f"{'program':<22} {'encounters':>10} {'seconds':>9} {'each s':>9} {'ratio':>7} {'|dE/E| median':>14} {'largest':>9}")
    line = "{:<22} {:>10} {:>9.3f} {:>9.1f} {:>7.1f} {:>14.1e} {:>9.1e}"
    print(line.format("REBOUND IAS15", arguments.n, best, rate, 1.0, np.median(error), error.max()))
    for options, seconds in rates.items():
        errors, count = kept[options][2], len(rows)
        name = f"Trisolar {options}".strip()
        ours = count / seconds
        print(line.format(name, count, seconds, ours, ours / rate, np.median(errors), errors.max()))
    early = (ended < 60 * YEAR) & (body > 0)
    same = kept["--jump off"][0][: arguments.n][early] == body[early]
    print(f"{early.sum()} of {arguments.n} encounters end before 60 years; in {same.sum()} of them both programs find the same escaper")


if __name__ == "__main__":
    main()
