"""Pictures of maps."""

from __future__ import annotations

import struct

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


def test_a_bare_picture_has_a_pixel_for_each_of_the_map(
    small: trisolar.DivergenceMap, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("png") / "map.png"
    small.save(path, bare=True)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (17, 12)


def test_plot_draws_steps_minus_times_over_the_lengths_of_the_map(
    small: trisolar.DivergenceMap,
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = small.plot(title="A title")
    (image,) = ax.get_images()
    drawn = image.get_array()
    assert drawn is not None
    assert np.array_equal(drawn, 8000 - small.steps_together.astype(np.int64))
    assert image.get_cmap().name == "inferno"
    half = 30 * (12 / 17) / 2
    assert image.get_extent() == pytest.approx([-15, 15, half, -half])
    assert ax.get_ylim() == pytest.approx((half, -half)), "row 0 is on top"
    assert ax.get_xlabel() == "start x of body 1 (length)"
    assert ax.get_title() == "A title"
    assert len(ax.child_axes) == 1, "the colour bar"
    plt.close("all")

    figure, ax = plt.subplots()
    assert small.plot(ax, cmap="viridis", colorbar=False, alpha=0.5) is ax
    assert not ax.child_axes and len(figure.axes) == 1
    plt.close(figure)
    # Where nobody else makes room for the colour bar, the map does.
    figure, ax = plt.subplots()
    small.plot(ax)
    assert len(figure.axes) == 2 and not ax.child_axes
    plt.close(figure)


def test_a_map_where_nothing_parts_is_black() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    map = trisolar.divergence(size=4, steps=3)
    assert map.never_parted == 16
    (image,) = map.plot().get_images()
    assert image.get_clim() == (0, 1)
    (image,) = map.plot(vmin=-1, vmax=5).get_images()
    assert image.get_clim() == (-1, 5)
    plt.close("all")
