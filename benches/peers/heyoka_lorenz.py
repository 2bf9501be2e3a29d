"""Times heyoka (Biscani & Izzo 2021) on the Lorenz model: trajectories to t = 100 a second, in batches of 8, with a process for each core.

The peer of `trisolar map --ode "x'=s*(y-x); y'=x*(r-z)-y; z'=x*y-b*z" --set s=10,r=28,b=8/3,y=1,z=1 --draw x=uniform:-10:10 --n 1e6
--end 100 --tolerance 1e-10 --value x,steps`. Needs numpy and heyoka.
"""

import multiprocessing
import os
import time

import heyoka
import numpy

BATCH, ROUNDS = 8, 120


def rate(seed: int) -> float:
    """Trajectories a second of one process."""
    x, y, z = heyoka.make_vars("x", "y", "z")
    equations = [(x, 10.0 * (y - x)), (y, x * (28.0 - z) - y), (z, x * y - 8.0 / 3.0 * z)]
    batch = heyoka.taylor_adaptive_batch(equations, numpy.ones((3, BATCH)), tol=1e-10)
    starts = numpy.random.default_rng(seed)

    def follow(rounds: int) -> None:
        for _ in range(rounds):
            batch.set_time(0.0)
            batch.state[0, :] = starts.uniform(-10, 10, BATCH)
            batch.state[1:, :] = 1.0
            batch.propagate_until(100.0)

    follow(3)
    begin = time.perf_counter()
    follow(ROUNDS)
    return BATCH * ROUNDS / (time.perf_counter() - begin)


if __name__ == "__main__":
    for workers in (1, os.cpu_count() or 1):
        with multiprocessing.get_context("fork").Pool(workers) as pool:
            rates = pool.map(rate, range(workers), chunksize=1)
        print(f"heyoka {heyoka.__version__}, {workers} processes: {sum(rates):.4g} trajectories a second")
