"""Results in the forms of other libraries: xarray, Zarr, pandas, pickle."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import Run

SMALL: dict[str, Any] = {"size": (6, 5), "steps": 2000, "critical_distance": 0.01, "backend": "cpu"}


def test_a_map_as_a_dataset_has_the_coordinates_of_its_pixels() -> None:
    pytest.importorskip("xarray")
    for plane, body in ("xy", 1), ("xz", 3):
        map = trisolar.divergence(**SMALL, plane=plane, body=body, center=(3, 4.5), span=7)
        data = map.to_xarray()["divergence"]
        assert data.dims == (plane[1], plane[0]) and data.attrs == {"units": "steps", "long_name": "steps until the twins part"}
        np.testing.assert_array_equal(data.values, map.values)
        assert data[plane[0]].attrs["units"] == "length"
        # A point at the coordinates of a pixel is that pixel.
        points = np.zeros((30, 3))
        points[:, "xyz".index(plane[0])] = np.tile(data[plane[0]].values, 5)
        points[:, "xyz".index(plane[1])] = np.repeat(data[plane[1]].values, 6)
        away = next(axis for axis in range(3) if "xyz"[axis] not in plane)
        points[:, away] = map.spec["positions"][map.spec["body"] - 1][away]
        spec = {name: value for name, value in map.spec.items() if name not in ("center", "span", "size", "plane")}
        there = trisolar.divergence(spec, points=points, backend="cpu")
        np.testing.assert_array_equal(there.values, map.values.ravel())
        assert trisolar.divergence(map.to_xarray().attrs["specification"]).spec == map.spec


@pytest.mark.filterwarnings("ignore::trisolar.AccuracyWarning")
def test_other_quantities_and_points() -> None:
    pytest.importorskip("xarray")
    map = trisolar.divergence(**SMALL, quantity="closest-approach").to_xarray()
    assert map["closest_approach"].attrs == {"units": "length", "long_name": map["closest_approach"].attrs["long_name"]}
    ring = np.column_stack([np.linspace(1, 9, 4), np.ones(4), np.zeros(4)])
    few = {name: value for name, value in SMALL.items() if name != "size"}
    assert trisolar.divergence(**few, points=ring).to_xarray()["divergence"].dims == ("point",)
    square = trisolar.divergence(**few, points=ring.reshape(2, 2, 3)).to_xarray()
    assert square["divergence"].dims == ("row", "column")


@pytest.mark.filterwarnings("ignore::trisolar.AccuracyWarning")
def test_maps_over_masses_and_velocities() -> None:
    few = {name: value for name, value in SMALL.items() if name != "critical_distance"}
    map = trisolar.divergence(**few, map=["mass2=5:29", "vx1=-5:0"], draw="vz3=uniform:-1:1", seed=7)
    assert map.points is None and map.extent == (3.0, 27.0, -5.5, -0.5)
    again = trisolar.divergence(map.spec)
    np.testing.assert_array_equal(again.values, map.values)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(map)).values, map.values)
    one = trisolar.divergence(
        **few, map="mass2=5:29", velocities=[[-2, 0, 0], [0, 0, 0], [3, 0, 0]], body=1, positions=map.spec["positions"]
    )
    assert one.values.shape == (1, 6)
    with pytest.raises(ValueError, match="cannot be given together"):
        trisolar.divergence(map="mass2=5:29", center=(1, 2))
    with pytest.raises(ValueError, match="points replace"):
        trisolar.divergence(map="mass2=5:29", points=np.ones((2, 3)))
    pytest.importorskip("xarray")
    data = map.to_xarray()["divergence"]
    assert data.dims == ("vx1", "mass2") and list(data["mass2"].values) == [5.0, 9.0, 13.0, 17.0, 21.0, 25.0]
    assert data["vx1"].attrs == {"units": "length / time", "long_name": "start vx of body 1"}


def test_sweeps_and_zooms_as_datasets(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    vary: dict[str, Any] = {"mass2": [10, 25], "dt": [0.001, 0.002, 0.004]}
    data = trisolar.sweep(vary=vary, **SMALL).to_xarray()
    assert data["divergence"].dims == ("mass2", "dt", "y", "x") and data["divergence"].shape == (2, 3, 5, 6)
    one = trisolar.divergence(**SMALL, masses=(10, 25, 30), dt=0.004)
    np.testing.assert_array_equal(data["divergence"].sel(mass2=25, dt=0.004), one.values)
    # The coordinates of a zoom move.
    zoom = trisolar.zoom(**SMALL, preset="none", frames=3, set="span=8/2^frame")
    next(zoom)
    frames = zoom.to_xarray()
    assert frames["divergence"].dims == ("frame", "row", "column") and list(frames["frame"].values) == [1, 2]
    wide, narrow = (frames["x"].sel(frame=k).values for k in (1, 2))
    assert wide[-1] - wide[0] == 2 * (narrow[-1] - narrow[0])
    assert "span = [4" in str(frames["specification"].sel(frame=1).values)
    with pytest.raises(ValueError, match="nothing left"):
        zoom.to_xarray()
    # And of encounters.
    swept = trisolar.encounters_sweep(vary="e=0,0.5", n=4).to_xarray()
    assert swept["time"].dims == ("start_e", "run") and swept["time"].shape == (2, 4)
    assert swept["time"].attrs == {"units": "time"} and swept["outcome"].attrs == {}
    pytest.importorskip("zarr")
    for name, dataset in {"sweep": data, "encounters": swept}.items():
        dataset.to_zarr(tmp_path / name, zarr_format=3)
        again = xarray.open_zarr(tmp_path / name)
        xarray.testing.assert_identical(again.load(), dataset)


def test_the_program_writes_the_dataset_as_zarr(command_line: Run, tmp_path: Path) -> None:
    xarray, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    for quantity, plane in ("divergence", "xy"), ("closest-approach", "yz"):
        path, saved = tmp_path / f"{quantity}.zarr.zip", tmp_path / "saved.zarr.zip"
        words = f"--size 6x5 --steps 2000 --critical-distance 0.01 --plane {plane} --quantity {quantity} --backend cpu --quiet"
        command_line("divergence", *words.split(), "--out", str(path))
        map = trisolar.divergence(**SMALL, plane=plane, quantity=quantity)
        with xarray.open_zarr(zarr.storage.ZipStore(path, mode="r"), consolidated=True) as there:
            xarray.testing.assert_identical(there.load(), map.to_xarray())
        map.save(saved)
        assert saved.read_bytes() == path.read_bytes()


@pytest.mark.filterwarnings("ignore::trisolar.AccuracyWarning")
def test_the_program_writes_sweeps_and_zooms_as_the_same_datasets(command_line: Run, tmp_path: Path) -> None:
    xarray, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    small = "--size 6x5 --steps 2000 --critical-distance 0.01 --backend cpu --quiet --zarr"

    def opened(folder: Path) -> Any:
        with xarray.open_zarr(zarr.storage.ZipStore(folder / "maps.zarr.zip", mode="r"), consolidated=True) as there:
            return there.load()

    sweeps: list[dict[str, list[float]]] = [
        {"mass2": [10, 25], "critical-distance": [0.01, 0.02, 0.04]},
        {"mass2": [10, 10]},
        {"center1": [1, 2.5]},
        {"dt": [0.001, 0.002], "center2": [1, 2.5, 4]},
        {"span": [8, 4, 2], "center1": [0, 1]},
    ]
    for k, vary in enumerate(sweeps):
        words = [word for name, values in vary.items() for word in ("--vary", f"{name}={','.join(map(str, values))}")]
        command_line("sweep", *words, *small.split(), "--out", str(tmp_path / f"sweep{k}"))
        options = {name: value for name, value in SMALL.items() if name.replace("_", "-") not in vary}
        expected = trisolar.sweep(vary=vary, **options).to_xarray()
        xarray.testing.assert_identical(opened(tmp_path / f"sweep{k}"), expected)
        varied = [name.replace("-", "_") for name in vary]
        assert expected["divergence"].dims[: len(varied)] == tuple(varied) and set(expected.coords) == {"x", "y", *varied}
        for name in varied:
            assert expected[name].attrs["units"] == {"mass2": "mass", "dt": "time"}.get(name, "length")
    whole = trisolar.sweep(vary={"mass2": [10, 25], "dt": [0.001, 0.002]}, **SMALL)
    next(whole)
    with pytest.raises(ValueError, match="not all pairs of the values of mass2 and dt"):
        whole.to_xarray()

    for k, (formula, quantity) in enumerate((("span=8/2^frame", "divergence"), ("mass1=10+frame", "closest-approach"))):
        words = ["--preset", "none", "--frames", "3", "--set", formula, "--quantity", quantity, "--plane", "xz"]
        command_line("zoom", *words, *small.split(), "--npy", "--out", str(tmp_path / f"zoom{k}"))
        frames = trisolar.zoom(preset="none", frames=3, set=formula, quantity=quantity, plane="xz", **SMALL)
        expected = frames.to_xarray()
        xarray.testing.assert_identical(opened(tmp_path / f"zoom{k}"), expected)
        assert expected["specification"].dims == ("frame",)
    # If frames move along one axis only, the other one remains a dimension. A zoom of one frame has the dimension `frame`, too.
    for axis, dims in (1, ("frame", "z", "column")), (2, ("frame", "row", "x")):
        moved = trisolar.zoom(preset="none", frames=2, set=f"center{axis}=frame", plane="xz", **SMALL).to_xarray()
        assert moved["divergence"].dims == dims
    single = trisolar.zoom(preset="none", frames=1, **SMALL).to_xarray()
    assert single["divergence"].dims == ("frame", "y", "x") and single["specification"].dims == ("frame",)


def test_series_as_data_frames() -> None:
    pytest.importorskip("pandas")
    frame = trisolar.nbody(model="figure-eight", steps=40, every=10).to_pandas()
    assert list(frame["step"]) == [0, 10, 20, 30, 40] and frame.index.name == "time"
    *_, last = trisolar.nbody(model="figure-eight", steps=40, every=10)
    found = last.diagnostics()
    assert frame["total"].iloc[-1] == found["total"] and frame["momentum_x"].iloc[-1] == found["momentum"][0]
    assert frame["energy_error"].iloc[0] == 0 and abs(frame["energy_error"]).max() < 1e-6
    series = trisolar.cluster(n=32, end=0.25, every=0.125).to_pandas()
    *_, state = trisolar.cluster(n=32, end=0.25, every=0.125)
    assert series["energy_error"].iloc[-1] == state.energy_error and series.index[-1] == 0.25
    assert series["lagrange_50"].iloc[-1] in state.lagrange_radii
    assert state.binaries is None and "binaries" not in series


def test_clusters_with_regularised_pairs_have_their_binaries(command_line: Run, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    # A binary of semi-major axis 0.01 and eccentricity 0.5 at its apocentre, and a distant third body.
    a, e = 0.01, 0.5
    speed = np.sqrt(0.5 / a * (1 - e) / (1 + e))
    bodies = {
        "mass": [0.25, 0.25, 0.5],
        "position": [[a * (1 + e) / 2, 0, 0], [-a * (1 + e) / 2, 0, 0], [5, 0, 0]],
        "velocity": [[0, speed / 2, 0], [0, -speed / 2, 0], [0, 0, 0]],
    }
    options: dict[str, Any] = {"bodies": bodies, "softening": 0, "close_pairs": "regularised", "end": 0.25, "every": 0.125}
    *_, state = trisolar.cluster(**options, pair_radius=0.05)
    again = pickle.loads(pickle.dumps(state))
    for found in state, again:
        assert found.binaries == 1
        assert found.hardest_a == pytest.approx(a, rel=1e-3) and found.hardest_e == pytest.approx(e, abs=1e-3)
    series = trisolar.cluster(**options, pair_radius=0.05).to_pandas()
    assert series["binaries"].iloc[-1] == 1 and series["hardest_a"].iloc[-1] == state.hardest_a
    words = "--n 16 --softening 0 --close-pairs regularised --end 0.125 --quiet".split()
    command_line("cluster", *words, "--series", str(tmp_path / "series.npz"))
    run = trisolar.cluster(n=16, softening=0, close_pairs="regularised", end=0.125)
    with np.load(tmp_path / "series.npz") as columns:
        assert {"binaries", "hardest_a", "hardest_e"} <= set(columns.files) & set(run.to_pandas().columns)


def test_states_can_be_pickled_and_continue_a_run() -> None:
    *_, body = trisolar.nbody(model="kepler", steps=20, eccentricity=0.5)
    *_, star = trisolar.cluster(n=16, end=0.125)
    for state in body, star:
        for again in pickle.loads(pickle.dumps(state)), copy.deepcopy(state):
            assert repr(again) == repr(state) and not again.mass.flags.writeable
            np.testing.assert_array_equal(again.position, state.position)
    kept = pickle.loads(pickle.dumps(body))
    assert kept.diagnostics() == body.diagnostics()
    *_, on = trisolar.nbody(bodies=kept, steps=10)
    *_, there = trisolar.nbody(bodies=body, steps=10)
    assert on.time == there.time and on.position.tobytes() == there.position.tobytes()
    kept_star = pickle.loads(pickle.dumps(star))
    assert kept_star.energy_error == star.energy_error and kept_star.core_radius is not None


def test_a_run_becomes_a_dataset_over_time_bodies_and_axes() -> None:
    pytest.importorskip("xarray")
    found = trisolar.nbody(model="figure-eight", steps=20, every=10).to_xarray()
    assert found["position"].dims == ("time", "body", "axis")
    assert found["position"].shape == (3, 3, 3)
    assert found["energy_error"].dims == ("time",)
    assert list(found["body"].values) == [1, 2, 3]
    cluster = trisolar.cluster(n=32, end=0.125, every=0.0625).to_xarray()
    assert cluster["velocity"].shape == (3, 32, 3)
    assert "core_radius" in cluster


def test_bodies_come_from_a_data_frame_and_from_particles() -> None:
    pandas = pytest.importorskip("pandas")
    state = next(trisolar.nbody(model="figure-eight", steps=1))
    columns = {"mass": state.mass}
    for k, x in enumerate("xyz"):
        columns[x], columns["v" + x] = state.position[:, k], state.velocity[:, k]
    expected = [s.position for s in trisolar.nbody(bodies=state, g=1, dt=0.01, steps=5, softening=0)]

    def ends(bodies: Any) -> Any:
        return [s.position for s in trisolar.nbody(bodies=bodies, g=1, dt=0.01, steps=5, softening=0)][-1]

    assert (ends(pandas.DataFrame(columns)) == expected[-1]).all()
    particles = [SimpleNamespace(m=columns["mass"][i], **{c: columns[c][i] for c in columns if c != "mass"}) for i in range(3)]
    assert (ends(SimpleNamespace(G=1.0, t=0.0, particles=particles)) == expected[-1]).all()
    with pytest.raises(ValueError, match="need the columns mass"):
        ends(pandas.DataFrame({"mass": [1.0], "x": [0.0]}))
    with pytest.raises(TypeError, match="input='start.csv'"):
        trisolar.nbody(bodies="start.csv")


def test_everything_draws() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    jupiter: dict[str, Any] = {"m": 1e-3, "a": (4, 6, 4), "e": (0, 0.4, 3)}
    drawn = [
        trisolar.nbody(model="figure-eight", steps=20, every=5).plot(),
        trisolar.cluster(n=64, end=0.125, every=0.125).plot(plane="xz"),
        trisolar.encounters(n=200).plot(),
        trisolar.encounters(map="phase,inclination", size=5).plot(column="time"),
        trisolar.planets(planets=jupiter, years=10).plot(),
        trisolar.planets(planets={"a": 5}, years=10).plot(),
        trisolar.ode("x'=y; y'=-x-c*y", map={"x": (0, 1), "c": (0, 1)}, size=4, end=2).plot(),
    ]
    assert [ax.get_xlabel() for ax in drawn[:2]] == ["x", "x"]
    assert drawn[4].get_xlabel() == "a1 (au)"
    assert len(drawn[0].lines) == 6
    assert len(trisolar.planets(planets=jupiter, years=10).to_pandas()) == 12
    with pytest.raises(ValueError, match="column must be one of"):
        trisolar.planets(planets=jupiter, years=10).plot(column="colour")
