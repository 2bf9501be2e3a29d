"""Sweeps over one parameter or two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import trisolar

SMALL: dict[str, Any] = {"size": 8, "steps": 200, "critical_distance": 0.01, "backend": "cpu"}


def test_two_parameters_give_all_pairs_of_their_values() -> None:
    vary: dict[str, Any] = {"mass2": np.array([10, 25]), "dt": "0.0078125:0.0234375:3"}
    found = list(trisolar.sweep(vary=vary, **SMALL))
    assert [list(values.items()) for values, _ in found] == [
        [("mass2", mass), ("dt", dt)] for mass in (10.0, 25.0) for dt in (0.0078125, 0.015625, 0.0234375)
    ]
    for values, map in found:
        one = trisolar.divergence(masses=(10, values["mass2"], 30), dt=values["dt"], **SMALL)
        assert np.array_equal(map.steps_together, one.steps_together)
        assert map.spec == one.spec


def test_text_is_parsed_as_on_the_command_line() -> None:
    for vary in ("g=8,9.5", ["g=8,9.5"], {"g": [8, 9.5]}, {"g": "8,9.5"}):
        assert [values for values, _ in trisolar.sweep(vary=vary, **SMALL)] == [{"g": 8.0}, {"g": 9.5}]


@pytest.mark.parametrize(
    ("vary", "exception", "said"),
    [
        (["dt=1,2", "dt=3"], ValueError, "'dt' for 'vary': dt is varied twice"),
        ({"dt": [1], "g": [1], "span": [2]}, ValueError, "'span' for 'vary': .* rows and columns"),
        ({"mass9": [1]}, ValueError, "mass1 to mass3"),
        ({"dt": []}, ValueError, "is not a number"),
        ({"dt": ["x"]}, TypeError, "dt must be numbers"),
        ({"dt": [-1]}, ValueError, "dt -1"),
        ([], ValueError, "there must be a parameter"),
        ([5], TypeError, "must be a string"),
    ],
)
def test_invalid_sweeps_are_rejected(vary: Any, exception: type[Exception], said: str) -> None:
    with pytest.raises(exception, match=said):
        trisolar.sweep(vary=vary, **SMALL)
