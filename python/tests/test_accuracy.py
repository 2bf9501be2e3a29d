"""Inaccurate results give warnings, and errors above a limit."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import trisolar

NONSENSE: dict[str, Any] = {"size": 8, "dt": 10, "steps": 50, "backend": "cpu"}
KEPLER: dict[str, Any] = {"model": "kepler", "eccentricity": 0.99, "dt": 0.01, "steps": 500, "backend": "cpu"}


def test_the_warnings_are_user_warnings() -> None:
    assert issubclass(trisolar.AccuracyWarning, trisolar.TrisolarWarning)
    assert issubclass(trisolar.TrisolarWarning, UserWarning)


def test_a_map_reports_for_how_many_pixels_its_step_is_too_long() -> None:
    with pytest.warns(trisolar.AccuracyWarning, match="too long for 100.0 %") as caught:
        map = trisolar.divergence(**NONSENSE)
    assert caught[0].filename == __file__
    assert map.unresolved == 1.0
    assert len(map.warnings) == 1 and "too long" in map.warnings[0]
    again = pickle.loads(pickle.dumps(map))
    assert (again.unresolved, again.warnings) == (map.unresolved, map.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        map = trisolar.divergence(size=8, steps=5000, backend="cpu", max_error=0.1)
    assert map.unresolved is not None and map.unresolved < 0.1
    assert map.warnings == []


def maps(**options: Any) -> list[Callable[[], object]]:
    return [
        lambda: trisolar.divergence(**NONSENSE, **options),
        lambda: list(trisolar.sweep(vary="mass2=10,20", **NONSENSE, **options)),
        lambda: list(trisolar.zoom(preset="none", frames=2, **NONSENSE, **options)),
    ]


@pytest.mark.parametrize("which", range(3))
def test_more_unresolved_pixels_than_the_limit_are_an_error(which: int) -> None:
    with pytest.warns(trisolar.AccuracyWarning, match="too long"):
        maps(max_error=1)[which]()
    with pytest.warns(trisolar.AccuracyWarning), pytest.raises(RuntimeError, match="max_error 0.5"):
        maps(max_error=0.5)[which]()


def test_the_specification_may_contain_a_limit() -> None:
    with pytest.warns(trisolar.AccuracyWarning), pytest.raises(RuntimeError, match="max_error 0.25"):
        trisolar.divergence("max_error = 0.25", **NONSENSE)
    for bad in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="max_error"):
            trisolar.divergence(max_error=bad, **NONSENSE)


def test_a_run_of_bodies_reports_its_energy_error() -> None:
    run = trisolar.nbody(**KEPLER)
    assert run.energy_error is None
    with pytest.warns(trisolar.AccuracyWarning, match="relative error of the energy") as caught:
        states = list(run)
    assert caught[0].filename == __file__
    first, last = (state.diagnostics()["total"] for state in states)
    assert run.energy_error == pytest.approx((last - first) / abs(first))
    assert run.largest_energy_error == run.energy_error
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(run) == []
        run = trisolar.nbody(n=64, softening=0.01, steps=20, backend="cpu", max_error=1e-3)
        list(run)
        assert run.energy_error is not None and abs(run.energy_error) < 1e-3
        run = trisolar.nbody(**KEPLER, energy="none")
        list(run)
        assert run.energy_error is None


def test_a_limit_of_the_energy_error_ends_a_run_after_its_last_state() -> None:
    states = []
    with pytest.raises(RuntimeError, match="max_error 0.001"):
        for state in trisolar.nbody(**KEPLER, max_error=1e-3, every=250):
            states.append(state.step)
    assert states == [0, 250, 500]
    for bad in (-1, np.nan):
        with pytest.raises(ValueError, match="max_error"):
            trisolar.nbody(**KEPLER, max_error=bad)
    with pytest.raises(ValueError, match="energy none"):
        trisolar.nbody(**KEPLER, max_error=1, energy="none")


def test_nan_coordinates_are_an_error_that_names_the_step() -> None:
    away = {
        "mass": np.ones(3),
        "position": np.array([[0, 0, 0], [3, 0, 0], [0, 5, 0]]),
        "velocity": np.array([[0, 0, 0], [7e306, 0, 0], [0, 0, 0]]),
    }
    with pytest.raises(RuntimeError, match=r"step 26 \(time 26\): .* body 2 "):
        list(trisolar.nbody(bodies=away, dt=1, steps=100, integrator="explicit-euler", energy="none", backend="cpu"))


def test_a_cluster_reports_its_energy_error() -> None:
    wild: dict[str, Any] = {"n": 32, "softening": 1e-4, "eta": 1000, "max_step": 4, "backend": "cpu"}
    run = trisolar.cluster(**wild, end=8, every=8)
    with pytest.warns(trisolar.AccuracyWarning, match="relative error of the energy"):
        *_, last = run
    assert run.energy_error == pytest.approx(last.energy_error)
    assert run.largest_energy_error is not None and abs(run.largest_energy_error) > 0.01
    with pytest.raises(RuntimeError, match="max_error 0.01"):
        list(trisolar.cluster(**wild, end=8, every=8, max_error=0.01))
    with pytest.raises(ValueError, match="max_error"):
        trisolar.cluster(n=16, max_error=-1)


def test_doubtful_values_of_sequences_are_warned_of_before_the_first_map() -> None:
    small: dict[str, Any] = {"size": 4, "steps": 20}
    with pytest.warns(trisolar.TrisolarWarning, match="^frame 0: pixels are not square") as caught:
        trisolar.zoom(preset="none", frames=2, span=(8, 4), **small)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(trisolar.TrisolarWarning, match="^frame 1: the twins start 0.866"):
        trisolar.sweep(vary={"shift": [0.001, 0.5]}, critical_distance=0.1, **small)


def test_a_slow_cpu_is_warned_of_where_it_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trisolar._trisolar.cpu_warning", lambda backend: f"{backend}: this CPU is slow")
    small: dict[str, Any] = {"size": 4, "steps": 20}
    calls: list[Callable[..., object]] = [
        partial(trisolar.divergence, **small),
        partial(trisolar.zoom, frames=1, **small),
        partial(trisolar.sweep, vary={"dt": [0.001]}, **small),
        partial(trisolar.nbody, model="figure-eight", steps=1),
        partial(trisolar.cluster, n=4, end=0.0625),
        partial(trisolar.encounters, n=2),
        partial(trisolar.encounters_zoom, map="phase=225:255,inclination=0:40", size=(2, 2), to=(230, 24), frames=1),
        partial(trisolar.encounters_sweep, vary={"e": [0.5]}, n=2),
    ]
    for call in calls:
        with pytest.warns(trisolar.TrisolarWarning, match="^cpu: this CPU is slow") as caught:
            call(backend="cpu")
        assert [w.filename for w in caught if "slow" in str(w.message)] == [__file__]


def test_characters_that_the_font_lacks_are_warned_of(tmp_path: Path) -> None:
    map = trisolar.divergence(size=4, steps=20)
    with pytest.warns(trisolar.TrisolarWarning, match="the font of pictures has no 三, 体"):
        map.save(tmp_path / "map.png", title="三体")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        map.save(tmp_path / "map.png", title="Three bodies")
        map.save(tmp_path / "map.png", title="三体", bare=True)
        map.save(tmp_path / "map.svg", title="三体")


def test_steps_of_a_cluster_that_were_much_too_long_are_warned_of() -> None:
    position = [[30.0, 0, 0], [0.05, 0.0005, 0], [-0.05, -0.0005, 0]]
    velocity = [[0.0, 0, 0], [-5, 0, 0], [5, 0, 0]]
    pair = {"mass": [1.0, 0.5, 0.5], "position": position, "velocity": velocity}
    run = trisolar.cluster(bodies=pair, softening=0, end=0.0625, eta_start=20)
    with pytest.warns(trisolar.AccuracyWarning) as caught:
        list(run)
    said = [str(warning.message) for warning in caught]
    assert any("at least 8 times too long" in message and "smaller eta" in message for message in said)


def test_a_certified_map_has_a_verdict_on_every_pixel(tmp_path: Path) -> None:
    options: dict[str, Any] = {"size": (9, 7), "dt": 0.01, "steps": 4000, "backend": "cpu"}
    map = trisolar.divergence(certify=True, **options)
    assert map.verdicts is not None and map.certificate is not None and map.step_check is not None
    assert map.verdicts.shape == (7, 9) and map.verdicts.dtype == np.uint8
    counts = [verdict["count"] for verdict in map.certificate["verdicts"]]
    assert counts == np.bincount(map.verdicts.ravel(), minlength=4).tolist()
    assert map.step_check["sample"] == 63
    again = pickle.loads(pickle.dumps(map))
    assert np.array_equal(again.verdicts, map.verdicts) and again.certificate == map.certificate
    map.save(tmp_path / "a.npz")
    assert np.array_equal(np.load(tmp_path / "a.npz")["verdict"], map.verdicts)
    exponents = trisolar.divergence(certify=True, quantity="ftle", **options)
    assert exponents.predicted_error is not None
    expected = np.exp(exponents.values * 40) * 2.0**-53
    assert np.allclose(exponents.predicted_error, expected, rtol=1e-12, equal_nan=True)
    plain = trisolar.divergence(**options)
    assert plain.verdicts is None and plain.certificate is None and plain.predicted_error is None
