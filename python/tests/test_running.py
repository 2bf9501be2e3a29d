"""Python stays responsive during a run: threads, signals, progress."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import trisolar
from conftest import SMALL

#: Takes minutes, because no twins part.
LONG = "size=2000, steps=4_000_000_000, critical_distance=1e150, backend='cpu'"


def interrupted(script: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """Runs a script, interrupts it when it prints `running`, and also returns the seconds until it ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "running\n"
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        seconds = time.monotonic() - start
    finally:
        child.kill()
        child.wait()
    return subprocess.CompletedProcess(child.args, child.returncode, out, err), seconds


def test_ctrl_c_raises_keyboard_interrupt_within_a_second() -> None:
    ended, seconds = interrupted(f"""
import trisolar
told = []
def progress(done, total):
    if not told:
        print("running", flush=True)
        told.append(done)
try:
    trisolar.divergence({LONG}, progress=progress)
except KeyboardInterrupt:
    print("interrupted")
map = trisolar.divergence(size=2, steps=3, backend="cpu")
print(map.pixel_steps)
""")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("interrupted\n12\n", "", 0)
    # The run gets one second to end, and some more on a busy machine.
    assert seconds < 3


RUNS = {
    "nbody": "trisolar.nbody(n=3000, steps=10_000_000, backend='cpu', every=EVERY, progress=progress)",
    "cluster": "trisolar.cluster(n=3000, end=10_000, every=EVERY, backend='cpu', progress=progress)",
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("every", ["1", "10_000"])
def test_ctrl_c_ends_a_run_between_its_steps_and_inside(name: str, every: str) -> None:
    # The first call can be the last thing before a state is returned, and an interrupt in the loop over states does not end the run. From the
    # second call on, a run with long steps is inside of one; the other waits in the call itself.
    ended, seconds = interrupted(f"""
import time
import trisolar
told = []
def progress(done, total):
    told.append(done)
    if len(told) == 2:
        print("running", flush=True)
        if {every} == 1:
            time.sleep(60)
run = {RUNS[name].replace("EVERY", every)}
try:
    for state in run:
        pass
except KeyboardInterrupt:
    print("interrupted", next(run, None))
print(trisolar.divergence(size=2, steps=3).pixel_steps)
""")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("interrupted None\n12\n", "", 0)
    assert seconds < 3


def test_other_threads_run_while_a_state_is_awaited() -> None:
    done = threading.Event()
    states: list[trisolar.NbodyState] = []

    def compute() -> None:
        states.extend(trisolar.nbody(n=1500, steps=60, backend="cpu", threads=1))
        done.set()

    worker = threading.Thread(target=compute)
    worker.start()
    counted = 0
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    worker.join()
    assert counted > 20 and states[-1].step == 60


def test_the_users_signal_handler_may_end_the_run() -> None:
    ended, _ = interrupted(f"""
import signal, trisolar
def stop(number, frame):
    raise RuntimeError("enough")
signal.signal(signal.SIGINT, stop)
told = []
def progress(done, total):
    if not told:
        print("running", flush=True)
        told.append(done)
try:
    trisolar.divergence({LONG}, progress=progress)
except RuntimeError as error:
    print(error)
""")
    assert (ended.stdout, ended.stderr) == ("enough\n", "")


def test_other_threads_run_during_a_map() -> None:
    counted, seen = 0, []
    stop = threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    start = time.monotonic()

    def enough(done: int, total: int) -> None:
        seen.append(counted)
        if time.monotonic() - start > 0.5:
            raise StopIteration

    with pytest.raises(StopIteration):
        trisolar.divergence(size=2000, critical_distance=1e150, backend="cpu", progress=enough)
    stop.set()
    other.join()
    assert seen[-1] > seen[0] + 20, "the interpreter was held while computing"


def test_maps_computed_concurrently_equal_those_computed_alone(small: trisolar.DivergenceMap) -> None:
    with ThreadPoolExecutor(4) as pool:
        maps = list(pool.map(lambda _: trisolar.divergence(SMALL), range(8)))
    assert all(np.array_equal(map.steps_together, small.steps_together) for map in maps)


def test_progress_is_reported_in_the_calling_thread_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    threads = set()

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        threads.add(threading.current_thread())

    trisolar.divergence(size=64, steps=20_000, critical_distance=1e150, progress=progress)
    total = 64 * 64 * 20_000
    assert told[-1] == (total, total)
    assert all(a[0] <= b[0] for a, b in zip(told, told[1:]))
    assert threads == {threading.current_thread()}


def test_an_exception_in_the_progress_function_ends_the_run() -> None:
    def progress(done: int, total: int) -> None:
        raise LookupError("no more")

    start = time.monotonic()
    with pytest.raises(LookupError, match="no more"):
        trisolar.divergence(
            size=2000, steps=4_000_000_000, critical_distance=1e150, progress=progress
        )
    assert time.monotonic() - start < 10


def test_a_bar_shows_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    trisolar.divergence(size=32, steps=20_000, critical_distance=1e150, progress=True)
    shown = capsys.readouterr().err
    assert "divergence" in shown and "20.5M/20.5M" in shown and "100%" in shown


def test_importing_loads_neither_matplotlib_nor_tqdm() -> None:
    script = "import sys, trisolar; print([m for m in ('matplotlib', 'tqdm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
