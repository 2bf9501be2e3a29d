"""Computes the parts of a command of Trisolar as tasks of Dask or Ray, and merges them.

    python parts.py --parts 8 --with dask -- divergence --size 2000 --out map.npy --out map.png

The machines must share the working directory. See docs/clusters-of-machines.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

PROGRAM = os.environ.get("TRISOLAR_BIN", "trisolar")


def run(arguments: list[str], folder: str) -> dict:
    """Runs the program, and returns its report."""
    done = subprocess.run(
        [PROGRAM, *arguments, "--json"], cwd=folder, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def part(command: list[str], number: int, parts: int, folder: str) -> str:
    """Computes a part, and returns the name of its file or folder. If a task is repeated, it continues its part."""
    report = run([*command, "--part", f"{number}/{parts}"], folder)
    return report.get("folder", report["files"][0])


def with_dask(tasks: list[tuple], address: str | None, threads: int) -> list[str]:
    """The parts as tasks of Dask, on the cluster of the scheduler at `address` or on this machine."""
    from dask.distributed import Client

    def task(arguments: tuple) -> str:
        return part(*arguments)

    # A worker with several threads would compute as many parts at a time, each with all cores.
    options = {"address": address} if address else {"threads_per_worker": 1}
    with Client(**options) as client:
        return client.gather(client.map(task, tasks, retries=2, pure=False))


def with_ray(tasks: list[tuple], address: str | None, threads: int) -> list[str]:
    """The parts as tasks of Ray, each of which reserves `threads` cores."""
    import ray

    ray.init(address=address)
    remote = ray.remote(num_cpus=threads, max_retries=2, retry_exceptions=True)(part)
    try:
        return ray.get([remote.remote(*arguments) for arguments in tasks])
    finally:
        ray.shutdown()


def with_threads(tasks: list[tuple], address: str | None, threads: int) -> list[str]:
    """The parts one after another, on this machine, to try a command."""
    with ThreadPoolExecutor(1) as pool:
        return list(pool.map(lambda arguments: part(*arguments), tasks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", type=int, required=True)
    parser.add_argument("--with", dest="by", choices=["dask", "ray", "threads"], required=True)
    parser.add_argument("--address", help="of the scheduler of Dask, or of the cluster of Ray [default: this machine]")
    parser.add_argument("--threads", type=int, default=1, help="of each task")
    parser.add_argument("command", nargs="+", help="the command of Trisolar, without --part")
    given = parser.parse_args()
    command = [*given.command, "--threads", str(given.threads)]
    tasks = [(command, n, given.parts, os.getcwd()) for n in range(1, given.parts + 1)]
    compute = {"dask": with_dask, "ray": with_ray, "threads": with_threads}[given.by]
    names = compute(tasks, given.address, given.threads)
    report = run(["merge", *names], os.getcwd())
    print("\n".join(report["files"]))


if __name__ == "__main__":
    main()
