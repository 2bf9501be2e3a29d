"""Start states from arrays: any set of points, with the values that they have as pixels of a map."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trisolar
from conftest import SMALL, Run

USUAL = trisolar.divergence(size=1, steps=1).spec


def starts(small: trisolar.DivergenceMap) -> Any:
    """Start positions of the grid body at each pixel: (height, width, 3)."""
    spec = small.spec
    (width, height), (cx, cy), (sx, sy) = spec["size"], spec["center"], spec["span"]
    x = cx - sx / 2 + sx * (np.arange(width) / width)
    y = cy - sy / 2 + sy * (np.arange(height) / height)
    points = np.empty((height, width, 3))
    points[..., 0], points[..., 1], points[..., 2] = x, y[:, None], -11
    return points


OPTIONS = {name: value for name, value in SMALL.items() if name not in ("size", "span")}


def test_points_of_a_map_have_its_times_in_any_order_and_shape(small: trisolar.DivergenceMap) -> None:
    points = starts(small)
    map = trisolar.divergence(points=points, **OPTIONS)
    assert map.steps_together.dtype == np.uint32 and map.steps_together.shape == (12, 17)
    assert np.array_equal(map.steps_together, small.steps_together)
    order = np.random.default_rng(5).permutation(12 * 17)
    mixed = trisolar.divergence(points=points.reshape(-1, 3)[order].reshape(2, 51, 2, 3), **OPTIONS)
    assert mixed.steps_together.shape == (2, 51, 2)
    assert np.array_equal(mixed.steps_together.ravel(), small.steps_together.ravel()[order])


def test_whole_states_may_be_given_as_positions_and_velocities(small: trisolar.DivergenceMap) -> None:
    positions = np.broadcast_to(np.array(USUAL["positions"]), (12, 17, 3, 3)).copy()
    positions[:, :, 0] = starts(small)
    for many in (
        {"positions": positions},
        {"positions": positions, "velocities": USUAL["velocities"]},
        {"positions": positions, "velocities": np.array(USUAL["velocities"])[None, None]},
        {"points": positions.reshape(12, 17, 9)},
    ):
        assert np.array_equal(trisolar.divergence(**many, **OPTIONS).steps_together, small.steps_together)
    slow = np.array(USUAL["velocities"]) * np.array([1, 0.5])[:, None, None]
    both = trisolar.divergence(positions=positions[3, 4], velocities=slow, **OPTIONS)
    assert both.steps_together.shape == (2,) and both.steps_together[0] == small.steps_together[3, 4]
    one = trisolar.divergence(positions=positions[None, 3, 4], velocities=slow[1], **OPTIONS)
    assert one.steps_together[0] == both.steps_together[1]
    whole = both.points
    assert whole is not None and whole.shape == (2, 18)
    assert np.array_equal(trisolar.divergence(both.spec, points=whole).steps_together, both.steps_together)


def test_the_specification_of_a_map_can_be_used_for_points(small: trisolar.DivergenceMap) -> None:
    map = trisolar.divergence(small.spec, points=starts(small))
    assert np.array_equal(map.steps_together, small.steps_together)
    assert not {"size", "center", "span", "plane"} & set(map.spec)
    assert map.points is not None and np.array_equal(map.points, starts(small))
    assert small.points is None
    assert "12x17 points" in repr(map) and "17x12 pixels" in repr(small)


def test_masses_affect_the_result(small: trisolar.DivergenceMap) -> None:
    point = [[1.0, 2.0, 3.0]]
    steps_together = [
        int(trisolar.divergence(points=point, masses=masses, **OPTIONS).steps_together[0])
        for masses in ((10, 20, 30), (10, 20, 35), (10, 20, 30))
    ]
    assert steps_together[0] == steps_together[2] != steps_together[1]


def test_each_point_may_have_its_own_masses(small: trisolar.DivergenceMap) -> None:
    masses = np.array([(10, 20, 30), (10, 25, 30), (0, 20, 35)])
    points = starts(small)
    alone = np.stack([trisolar.divergence(points=points, masses=m, **OPTIONS).steps_together for m in masses])
    assert (alone[0] != alone[1]).any() and (alone[1] != alone[2]).any()
    # Every mass at every point, whichever option gives the positions.
    everywhere = {"masses": masses[:, None, None], **OPTIONS}
    map = trisolar.divergence(points=points, **everywhere)
    assert map.steps_together.shape == (3, 12, 17) and np.array_equal(map.steps_together, alone)
    positions = np.broadcast_to(np.array(USUAL["positions"]), (12, 17, 3, 3)).copy()
    positions[:, :, 0] = points
    for more in (
        {"positions": positions},
        {"points": positions.reshape(12, 17, 9)},
        {"points": points, "velocities": np.array(USUAL["velocities"])[None]},
    ):
        assert np.array_equal(trisolar.divergence(**more, **everywhere).steps_together, alone)
    # Neighbouring points with different masses, in one array of whole states.
    which = np.random.default_rng(3).integers(0, 3, (12, 17))
    mixed = trisolar.divergence(points=points, masses=masses[which], **OPTIONS)
    assert np.array_equal(mixed.steps_together, np.take_along_axis(alone, which[None], 0)[0])
    assert mixed.points is not None and mixed.points.shape == (12, 17, 21)
    assert "masses" not in mixed.spec and "velocities" not in mixed.spec
    assert np.array_equal(trisolar.divergence(mixed.spec, points=mixed.points).steps_together, mixed.steps_together)


def test_the_specification_supplies_what_points_do_not_contain(small: trisolar.DivergenceMap) -> None:
    spec = {**SMALL, "body": 3, "positions": [[0, 1, 2], [3, 4, 5], [6, 7, 8]], "velocities": np.eye(3)}
    masses = np.array([(1, 2, 3), (3, 2, 1)])
    map = trisolar.divergence(spec, points=[[1, 2, 3]], masses=masses)
    assert map.steps_together.shape == (2,) and map.points is not None
    placed = [[0, 1, 2], [3, 4, 5], [1, 2, 3]]
    assert np.array_equal(map.points[:, :9].reshape(2, 3, 3), [placed, placed])
    assert np.array_equal(map.points[:, 9:18].reshape(2, 3, 3), [np.eye(3)] * 2)
    assert np.array_equal(map.points[:, 18:], masses)
    text = 'masses = [1, 2, 3]\nbody = 3\npositions = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]'
    moving = np.broadcast_to(np.eye(3), (2, 3, 3))
    again = trisolar.divergence(text, points=[[1, 2, 3]], velocities=moving, **OPTIONS)
    assert np.array_equal(again.steps_together, map.steps_together[[0, 0]])


def test_masses_of_points_work_in_every_precision() -> None:
    masses = np.array([(10, 20, 30), (20, 20, 10)])
    for precision in ("f32", "fixed:30", "float-float", "mixed"):
        options: dict[str, Any] = {"points": [[1, 2, 3]], "precision": precision, **OPTIONS}
        both = trisolar.divergence(masses=masses, **options).steps_together
        assert list(both) == [trisolar.divergence(masses=m, **options).steps_together[0] for m in masses]


def test_files_equal_the_command_lines(
    small: trisolar.DivergenceMap, tmp_path: Path, command_line: Run
) -> None:
    map = trisolar.divergence(points=starts(small), **OPTIONS)
    np.save(tmp_path / "points.npy", starts(small))
    options = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items()]
    for name in ("map.npz", "map.npy", "map.png"):
        map.save(tmp_path / name)
        theirs = tmp_path / f"their-{name}"
        command_line(
            "divergence", f"--points={tmp_path / 'points.npy'}", f"--out={theirs}", *options
        )
        assert (tmp_path / name).read_bytes() == theirs.read_bytes()
    with np.load(tmp_path / "map.npz") as file:
        assert np.array_equal(file["points"], starts(small))
    with pytest.raises(ValueError, match="rows and columns"):
        trisolar.divergence(points=[[1, 2, 3]], steps=5).save(tmp_path / "no.png")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"points": [1, 2, 3]}, "each point needs 3 numbers"),
        ({"points": np.zeros((2, 4))}, "each point needs 3 numbers"),
        ({"points": np.zeros((0, 3))}, "from 1 to 4294967296 points"),
        ({"points": [[1, np.nan, 3]]}, "'NaN of point 0' for 'points'"),
        ({"points": np.zeros((1, 9))}, "'point 0' for 'points': bodies 2 and 3 coincide"),
        ({"points": [[1, 2, 3]], "size": 5}, "replace 'size'"),
        ({"points": np.ones((1, 9)), "positions": np.ones((3, 3))}, "replace 'positions'"),
        ({"points": [[1, 2, 3]], "positions": np.ones((2, 3, 3))}, "replace 'positions'"),
        ({"points": np.ones((1, 18)), "velocities": np.ones((2, 3, 3))}, "replace 'velocities'"),
        ({"points": np.ones((1, 21)), "masses": np.ones((2, 3))}, "replace 'masses'"),
        ({"points": np.ones((1, 21)), "masses": (1, 2, 3)}, "replace 'masses'"),
        ({"points": np.full((2, 21), -1.0)}, "'masses of point 0' for 'points'"),
        ({"masses": [[1, 2, 3], [1, 2, -3]]}, "'masses of point 1' for 'points'"),
        ({"points": np.ones((2, 6)), "masses": np.ones((2, 3))}, r"not \(2, 6\)"),
        ({"points": np.ones((4, 3)), "masses": np.ones((5, 3))}, r"points \(4,\), masses \(5,\)"),
        ({"masses": np.ones((5, 3)), "size": 5}, "masses of many start states have no grid: .*'size'"),
        ({"masses": np.ones((0, 3))}, "from 1 to 4294967296 points"),
        ({"masses": np.ones((5, 2))}, r"masses must be of shape \(3\) or \(..., 3\)"),
        ({"positions": np.ones((5, 2, 3))}, r"\(3, 3\)"),
    ],
)
def test_bad_points(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        trisolar.divergence(**options)


def test_maps_of_points_can_be_pickled(small: trisolar.DivergenceMap) -> None:
    points = np.zeros((2, 3, 3))
    points[..., :2] = np.random.default_rng(3).uniform(-1, 1, (2, 3, 2))
    made = trisolar.divergence(small.spec, points=points, dt=0.1 + 0.2)
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.steps_together, made.steps_together) and np.array_equal(again.points, points)
    assert again.spec == made.spec


def test_points_are_drawn_in_rows_or_at_their_positions(small: trisolar.DivergenceMap) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = trisolar.divergence(points=starts(small), **OPTIONS)
    assert rows.extent == (-0.5, 16.5, -0.5, 11.5)
    ax = rows.plot()
    assert ax.get_xlabel() == "column" and len(ax.get_images()) == 1
    cloud = trisolar.divergence(points=starts(small).reshape(-1, 3), **OPTIONS)
    ax = cloud.plot()
    (dots,) = ax.collections
    assert np.array_equal(np.asarray(dots.get_offsets()), starts(small).reshape(-1, 3)[:, :2])
    assert ax.get_xlabel() == "start x of body 1 (length)"
    assert cloud._repr_png_() is None
    with pytest.raises(ValueError, match="rows and columns"):
        cloud.extent
    plt.close("all")
