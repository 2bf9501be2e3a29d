"""Analyses of maps of outcomes."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._equations import Trajectories
from ._warnings import warn_of_doubts


def atlas(
    array: Union[npt.ArrayLike, Trajectories],
    *,
    limits: Sequence[float] = (),
    boxes: Optional[Sequence[int]] = None,
) -> Dict[str, Any]:
    """Analyses a map of outcomes: the shares of the basins, basin entropy, the uncertainty exponent and the box dimension of the boundary,
    and whether all basins have one boundary.

    >>> found = trisolar.atlas(trisolar.encounters(map=("phase", "inclination"), size=300).records["body"])
    >>> found["uncertainty"]["fit"]

    :param array: the map, of two axes, rows first: whole numbers, of which equal ones are a class (up to 256), or real numbers with
        ``limits``; or :class:`Trajectories` with the column ``outcome``.
    :param limits: numbers in ascending order that divide real numbers into classes; a class has its lower limit [none].
    :param boxes: sides of the boxes whose entropies are computed, in pixels [(5, 20)].
    :returns: what ``trisolar atlas --json`` prints of the analyses: ``size``, ``basins``, ``entropies``, ``uncertainty``, ``boundary``,
        ``wada`` and ``warnings``. Lengths are pixels.
    :raises ValueError: an array that is not a map of outcomes, or has one class only; boxes that do not fit it.
    :raises TypeError: an array that does not consist of numbers.

    Exponents that depend on the scale give a :class:`TrisolarWarning`.
    """
    given = np.asarray(array.records["outcome"] if isinstance(array, Trajectories) else array)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"a map of outcomes must consist of numbers, not of {given.dtype}")
    values = np.ascontiguousarray(given, "<f8")
    if given.dtype.kind in "iu" and not np.array_equal(values.astype(given.dtype), given):
        raise ValueError("the array holds integers that 64-bit real numbers cannot represent")
    sides = None if boxes is None else [int(side) for side in boxes]
    text = _trisolar.atlas_json(given.shape, values.tobytes(), [float(x) for x in limits], sides)
    found: Dict[str, Any] = json.loads(text)
    warn_of_doubts(found["warnings"], stacklevel=2)
    return found
