"""Pictures of maps."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import trisolar


def test_a_notebook_shows_the_picture_that_is_saved(
    small: trisolar.DivergenceMap, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("png") / "map.png"
    small.save(path)
    png = small._repr_png_()
    assert png == path.read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_bare_picture_has_one_pixel_for_each_pixel_of_the_map(
    small: trisolar.DivergenceMap, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("png") / "map.png"
    small.save(path, bare=True)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (17, 12)


def test_y_grows_in_the_direction_that_is_wanted(tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    for quantity in "divergence", "ftle":
        map = trisolar.divergence(size=(5, 4), steps=8000, critical_distance=0.01, quantity=quantity)
        files = {}
        for direction in ("up", "down", None):
            for bare in (True, False):
                path = tmp_path / f"{quantity}-{direction}-{bare}.png"
                map.save(path, bare=bare, y_axis=direction)
                files[direction, bare] = path
        up, down = (image.imread(files[direction, True]) for direction in ("up", "down"))
        np.testing.assert_array_equal(up, down[::-1])
        assert (up != down).any()
        for bare in True, False:
            assert files[None, bare].read_bytes() == files["up", bare].read_bytes()
        map.save(tmp_path / "study.png", bare=True, look="study")
        assert (tmp_path / "study.png").read_bytes() == files["down", True].read_bytes()
        assert files["up", False].read_bytes() != files["down", False].read_bytes()
        with pytest.raises(ValueError, match="'sideways' for 'y_axis.*must be down or up"):
            map.save(tmp_path / "map.png", y_axis="sideways")
        with pytest.raises(ValueError, match="'mine' for 'look.*must be standard or study"):
            map.save(tmp_path / "map.png", look="mine")
        with pytest.raises(TypeError):
            map.save(tmp_path / "map.png", y_axis=1)  # type: ignore[arg-type]
    found = trisolar.encounters(map="phase,inclination", size=(4, 3))
    for name, options in {"usual": {}, "up": {"y_axis": "up"}, "down": {"y_axis": "down"}}.items():
        found.save(tmp_path / f"{name}.png", **options)
    drawn = {name: (tmp_path / f"{name}.png").read_bytes() for name in ("usual", "up", "down")}
    assert drawn["usual"] == drawn["up"] != drawn["down"]


def test_plot_draws_times_around_the_places_of_the_map(
    small: trisolar.DivergenceMap,
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = small.plot(title="A title")
    (image,) = ax.get_images()
    drawn = image.get_array()
    assert drawn is not None
    assert np.array_equal(drawn, small.steps_together * small.spec["dt"])
    assert image.get_cmap().name == "inferno_r"
    half, pixel = 30 * (12 / 17) / 2, 30 / 17
    edges = [-15 - pixel / 2, 15 - pixel / 2, -half - pixel / 2, half - pixel / 2]
    assert image.get_extent() == pytest.approx(edges)
    assert ax.get_ylim() == pytest.approx(edges[2:]), "y grows upwards"
    # The middle of each pixel is the place of its value, as in the dataset.
    assert image.origin == "lower"
    xarray = pytest.importorskip("xarray")
    assert isinstance(small.to_xarray(), xarray.Dataset)
    for axis, (low, high), count in ("x", edges[:2], 17), ("y", edges[2:], 12):
        middles = low + (high - low) * (np.arange(count) + 0.5) / count
        np.testing.assert_allclose(small.to_xarray()[axis], middles, atol=1e-12)
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "time until the twins part (time)"
    assert ax.get_xlabel() == "start x of body 1 (length)"
    assert ax.get_title() == "A title"
    assert len(ax.child_axes) == 1, "the colour bar"
    plt.close("all")

    ax = small.plot()
    assert ax.get_title().splitlines()[0] == "explicit-euler, step 0.001, 8000 steps"
    plt.close("all")
    figure, ax = plt.subplots()
    assert small.plot(ax, cmap="viridis", colorbar=False, alpha=0.5) is ax
    assert not ax.child_axes and len(figure.axes) == 1
    plt.close(figure)
    # If nothing else makes room for the colour bar, the map does.
    figure, ax = plt.subplots()
    small.plot(ax)
    assert len(figure.axes) == 2 and not ax.child_axes
    plt.close(figure)


def test_a_map_in_which_no_twins_part_is_black() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    map = trisolar.divergence(size=4, steps=3)
    assert map.never_parted == 16
    (image,) = map.plot().get_images()
    assert image.get_clim() == pytest.approx((0.003 - 1, 0.003)), "the darkest of inferno_r"
    (image,) = map.plot(vmin=-1, vmax=5).get_images()
    assert image.get_clim() == (-1, 5)
    plt.close("all")


def test_plot_leaves_out_the_same_values_as_the_picture() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    map = trisolar.divergence(size=24, steps=4000, quantity="ftle")
    (image,) = map.plot().get_images()
    values = np.sort(map.values[np.isfinite(map.values)])
    beyond = int(values.size * 0.005)
    assert image.get_clim() == (values[beyond], values[-1 - beyond])
    plt.close("all")
