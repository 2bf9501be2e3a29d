"""Where values come from that are not given as options."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

Numbers = Union[Sequence[float], npt.NDArray[Any]]
Vectors = Union[Sequence[Numbers], npt.NDArray[Any]]
Spec = Union[Mapping[str, object], str, "os.PathLike[str]"]


class Source(NamedTuple):
    """A mapping, or TOML text and the file it is from."""

    mapping: Optional[Mapping[str, object]] = None
    toml: Optional[str] = None
    file: Optional[str] = None


def source(spec: Optional[Spec]) -> Source:
    """What ``spec`` is: a mapping, TOML text, or the path of a TOML file."""
    if spec is None:
        return Source()
    if isinstance(spec, Mapping):
        return Source(mapping=spec)
    if isinstance(spec, str) and ("\n" in spec or not spec.lower().endswith(".toml")):
        return Source(toml=spec)
    try:
        path = os.fspath(spec)
    except TypeError:
        kind = type(spec).__name__
        raise TypeError(
            f"spec must be a mapping, TOML text or the path of a TOML file, not {kind}"
        ) from None
    with open(path, encoding="utf-8") as file:
        return Source(toml=file.read(), file=str(path))


def merged(spec: Source, options: Dict[str, object]) -> Dict[str, object]:
    """The options that are given, over those of the source's mapping."""
    given = {name: value for name, value in options.items() if value is not None}
    return {**(spec.mapping or {}), **given}


def bodies_of(bodies: Any) -> Tuple[npt.NDArray[np.float64], ...]:
    """``mass`` (n), ``position`` and ``velocity`` (n, 3) or (n, 2): of a mapping, or of an object with these names."""
    arrays = []
    for name in ("mass", "position", "velocity"):
        try:
            value = bodies[name] if hasattr(bodies, "__getitem__") else getattr(bodies, name)
        except (KeyError, AttributeError):
            kind = type(bodies).__name__
            raise ValueError(f"bodies need mass, position and velocity; {kind} has no {name}") from None
        arrays.append(np.ascontiguousarray(value, np.float64))
    mass, position, velocity = arrays
    if mass.ndim != 1:
        raise ValueError(f"mass must be of shape (n,), not {mass.shape}")
    n = len(mass)
    for name, array in (("position", position), ("velocity", velocity)):
        if array.shape not in ((n, 3), (n, 2)) or array.shape != position.shape:
            raise ValueError(
                f"position and velocity must be of shape ({n}, 3) or ({n}, 2), as mass has {n}: "
                f"{name} is {array.shape}"
            )
    return mass, position, velocity
