"""Planetary systems as structured arrays: their records equal the command line's, and simulations of REBOUND become elements."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import trisolar

from conftest import Run

JUPITER = {"m": 0.000954, "a": 5.204, "e": 0.048, "omega": 0.257, "M": 0.6}
SATURN: dict[str, Any] = {"m": 0.000285, "a": (7.5, 10, 5), "e": (0, 0.2, 3), "omega": 1.616, "M": 0.871}


@pytest.fixture(scope="module")
def found() -> trisolar.Planets:
    return trisolar.planets(planets=[JUPITER, SATURN], years=300, stop="r>20")


def test_records_equal_the_command_lines(
    found: trisolar.Planets, command_line: Run, tmp_path: Path
) -> None:
    text = [",".join(f"{k}={v}" for k, v in JUPITER.items())]
    text.append("m=0.000285,a=7.5:10:5,e=0:0.2:3,omega=1.616,M=0.871")
    options = ["--planet", text[0], "--planet", text[1], "--years", "300", "--stop", "r>20", "--quiet"]
    assert found.records.shape == (3, 5) and len(found) == 15
    for extension in "npz", "npy":
        ours, theirs = tmp_path / f"a.{extension}", tmp_path / f"b.{extension}"
        found.save(ours)
        command_line("planets", *options, "--out", str(theirs))
        assert ours.read_bytes() == theirs.read_bytes()
    there = np.load(tmp_path / "b.npz")
    for name in found.records.dtype.names or ():
        np.testing.assert_array_equal(found.records[name], there[name], err_msg=name)


def test_a_result_describes_how_it_was_computed(found: trisolar.Planets) -> None:
    assert found.spec["years"] == 300 and len(found.spec["planets"]) == 2
    for spec in found.spec, found.spec_toml:
        again = trisolar.planets(spec, backend="cpu", threads=1)
        assert again.records.tobytes() == found.records.tobytes()
    summary = found.summary
    assert sum(summary["outcomes"].values()) == summary["systems"] == 15
    assert summary["step_check"]["sample"] == 15
    assert found.engine in ("cpu", "gpu") and found.device and found.seconds > 0
    assert "15 systems" in repr(found)
    assert not found.records.flags.writeable
    assert np.asarray(found).dtype == found.records.dtype


def test_axes_are_coordinates(found: trisolar.Planets) -> None:
    pytest.importorskip("xarray")
    data = found.to_xarray()
    assert data["mean_megno"].dims == ("e2", "a2") and data["a2"].attrs["units"] == "au"
    np.testing.assert_allclose(data["a2"], 7.5 + 0.5 * np.arange(5))
    assert data["time"].attrs["units"] == "years" and "escape" in data.attrs["outcomes"]
    drawn = trisolar.planets(planets={"a": 1, "M": "uniform(0,6.28)"}, n=4, years=5).to_xarray()
    assert drawn["outcome"].dims == ("system",) and drawn.sizes["system"] == 4
    row = trisolar.planets(planets={"a": (1, 2, 3)}, years=5).to_xarray()
    assert row["outcome"].dims == ("a1",)


def test_what_is_observed_has_columns_with_units() -> None:
    pytest.importorskip("xarray")
    found = trisolar.planets(planets=[JUPITER, SATURN], years=100, observable="a-range", of=1)
    data = found.to_xarray()
    assert data["a_max"].attrs["units"] == "au" and data["time"].attrs["units"] == "years"
    assert (data["a_max"] > data["a_min"]).all() and np.isnan(data["mean_megno"]).all()
    angle = "5*lambda2-2*lambda1-3*pomega2"
    found = trisolar.planets(planets=[JUPITER, SATURN], years=100, observable="libration", angle=angle)
    assert found.spec["angle"] == angle and "libration_amplitude" in (found.records.dtype.names or ())


def test_presets_forces_and_integrators_are_options() -> None:
    found = trisolar.planets(
        preset="kepler-36", set={"a2": (0.127, 0.13, 3)}, years=2, integrator="adaptive", relativity="full"
    )
    assert found.records.shape == (1, 3) and found.spec["relativity"] == "full"
    assert trisolar.planets(found.spec).records.tobytes() == found.records.tobytes()
    giant: dict[str, Any] = {"m": "1 mjup", "a": 0.05, "k2": 0.4, "lag": 100, "radius": "1 rjup"}
    star: dict[str, Any] = {"radius": "1 rsun", "k2": 0.03, "lag": 0.1, "spin": 25}
    tidal = trisolar.planets(planets=giant, **star, integrator="adaptive", tolerance=1e-10, years=1)
    assert tidal.records["outcome"][0] == 1
    oblate = trisolar.planets(planets={"a": 1}, j2=0.01, j4=-1e-4, radius=0.1, form="dkd", years=5)
    assert oblate.spec["form"] == "dkd"


def test_progress_ends_with_the_systems() -> None:
    seen: list[tuple[int, int]] = []
    trisolar.planets(planets={"a": (1, 2, 40)}, years=2000, progress=lambda *of: seen.append(of))
    assert all(now >= before for (before, _), (now, _) in zip(seen, seen[1:])), seen
    assert {total for _, total in seen} <= {40}


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({}, ValueError, "planet"),
        ({"planets": {"a": 1, "q": 2}}, ValueError, "there is no q"),
        ({"planets": {"a": (1, 2)}}, ValueError, "an axis is"),
        ({"planets": {"a": None}}, TypeError, "NoneType"),
        ({"planets": 3}, TypeError, "int"),
        ({"planets": {"a": 1}, "stop": "r<5"}, ValueError, "r>DISTANCE"),
        ({"planets": {"a": 1}, "relativity": "full"}, ValueError, "adaptive"),
        ({"preset": "giants", "set": {"a5": 1}}, ValueError, "a1 to a4"),
        ({"planets": {"a": 1}, "backend": "x"}, ValueError, "backend"),
    ],
)
def test_what_is_not_allowed_is_refused(options: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        trisolar.planets(**options)


def simulation(g: float, *particles: tuple[float, list[float], list[float]]) -> Any:
    """An object with the attributes of a simulation of REBOUND that are read."""
    made = [
        SimpleNamespace(m=m, **dict(zip("xyz", x)), **dict(zip(("vx", "vy", "vz"), v)))
        for m, x, v in particles
    ]
    return SimpleNamespace(G=g, particles=made)


def test_simulations_of_rebound_become_jacobi_elements() -> None:
    g, rest = 39.4, (1.0, [0.1, 0.2, 0.3], [0.0, 0.1, 0.0])
    # A planet at its pericentre on the x-axis, in an orbit that is inclined by 0.3 about that axis.
    m, a, e, inc = 1e-3, 2.0, 0.2, 0.3
    speed = math.sqrt(g * (1 + m) / a * (1 + e) / (1 - e))
    planet = (
        m,
        [0.1 + a * (1 - e), 0.2, 0.3],
        [0.0, 0.1 + speed * math.cos(inc), speed * math.sin(inc)],
    )
    given = trisolar.from_rebound(simulation(g, rest, planet))
    assert given["star"] == 1.0
    (found,) = given["planets"]
    expected = {"m": m, "a": a, "e": e, "inc": inc, "Omega": 0.0, "omega": 0.0, "M": 0.0}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name
    assert trisolar.planets(**given, years=50).records["outcome"][0] == 1
    for bad in (
        simulation(1, rest),
        simulation(1, (0.0, *rest[1:]), planet),
        simulation(1, rest, (m, [1.1, 0.2, 0.3], [0.0, 9.0, 0.0])),
        simulation(1, rest, (m, rest[1], [0.0, 0.0, 0.0])),
    ):
        with pytest.raises(ValueError, match="particle|simulation"):
            trisolar.from_rebound(bad)


def test_elements_are_those_of_rebound() -> None:
    rebound = pytest.importorskip("rebound")
    sim = rebound.Simulation()
    sim.add(m=1.3)
    sim.add(m=1e-3, a=1, e=0.1, inc=0.2, Omega=1, omega=2, M=3)
    sim.add(m=2e-3, a=2.2, e=0.3, inc=0.1, Omega=-2, omega=0.5, M=1)
    sim.move_to_com()
    given = trisolar.from_rebound(sim)
    for i, planet in enumerate(given["planets"]):
        for name in "a", "e", "inc", "Omega", "omega", "M":
            there = getattr(sim.particles[i + 1], name)
            off = math.remainder(planet[name] - there, math.tau) if name not in "ae" else planet[name] - there
            assert abs(off) < 1e-9, (i, name)
