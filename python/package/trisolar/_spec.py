"""The sources of values that are not given as options."""

from __future__ import annotations

import json as _json
import operator
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._run import Data

Numbers = Union[Sequence[float], npt.NDArray[Any]]
Vectors = Union[Sequence[Numbers], npt.NDArray[Any]]
Gpus = Union[str, int, None]
"""``"all"``, or how many GPUs."""
Numbered = Union[str, int, Sequence[int], npt.NDArray[Any], None]
"""The number of a GPU, or numbers of several."""
Spec = Union[Mapping[str, object], str, "os.PathLike[str]"]

Path = Union[str, "os.PathLike[str]"]
"""The path of a file."""

Vary = Union[str, Sequence[str], Mapping[str, Union[str, Numbers]]]
"""Parameters of a sweep with their values."""


class Source(NamedTuple):
    """A mapping, or TOML text with the name of its file."""

    mapping: Optional[Mapping[str, object]] = None
    toml: Optional[str] = None
    file: Optional[str] = None


def source(spec: Optional[Spec]) -> Source:
    """The kind of ``spec``: a mapping, TOML text, or the path of a TOML file."""
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
    return Source(toml=_trisolar.configuration_text(path), file=str(path))


def merged(spec: Source, options: Dict[str, object]) -> Dict[str, object]:
    """The given options, which override those of the source's mapping."""
    given = {name: value for name, value in options.items() if value is not None}
    return {**(spec.mapping or {}), **given}


def parameters(system: str, arguments: Mapping[str, object]) -> Dict[str, object]:
    """The parameters of a system among the arguments of its function; paths are text."""
    given = {name: arguments[name] for name in _trisolar.parameters(system)}
    return {name: str(value) if isinstance(value, os.PathLike) else value for name, value in given.items()}


def _in_arrays(bodies: Any) -> Any:
    """The columns of a data frame, or the particles of a ``rebound.Simulation``, as a mapping of arrays; others as they are."""
    if isinstance(bodies, (str, os.PathLike)):
        raise TypeError(f"bodies must be arrays, a data frame or a state; the file {bodies} is input={str(bodies)!r}")
    if hasattr(bodies, "particles"):
        among = list(bodies.particles)
        of: Dict[str, Any] = {name: [getattr(p, name) for p in among] for name in ("m", *_COLUMNS[1:])}
    elif hasattr(bodies, "columns"):
        of = {str(name).strip().lower(): bodies[name] for name in bodies.columns}
    else:
        return bodies
    mass = of.get("mass", of.get("m"))
    missing = [name for name in _COLUMNS if name not in of and name not in ("mass", "z", "vz")]
    if mass is None or missing:
        raise ValueError(f"bodies need the columns mass (or m), x, y, z, vx, vy and vz, not {', '.join(of)}")
    places = ("x", "y", "z") if "z" in of else ("x", "y")
    if ("z" in of) != ("vz" in of):
        raise ValueError("bodies need both of the columns z and vz, or none of them")
    position = np.column_stack([np.asarray(of[x], np.float64) for x in places])
    velocity = np.column_stack([np.asarray(of["v" + x], np.float64) for x in places])
    return {"mass": np.asarray(mass, np.float64), "position": position, "velocity": velocity}


_COLUMNS = ("mass", "x", "y", "z", "vx", "vy", "vz")
"""The columns of bodies in a file, and in a data frame."""


def bodies_of(bodies: Any) -> Tuple[npt.NDArray[np.float64], ...]:
    """``mass`` (n), ``position`` and ``velocity`` (n, 3) or (n, 2) from a mapping or from an object with these names, from a data
    frame with the columns of a file, or from a ``rebound.Simulation``."""
    bodies = _in_arrays(bodies)
    arrays: List[npt.NDArray[np.float64]] = []
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


Told = Tuple[Optional[str], Optional[float]]


def told_of(bodies: Any) -> Told:
    """The other values of bodies: the specification of their run, as JSON, and their time. States of other runs have them, and so
    does the result of ``numpy.load`` for an npz."""
    if isinstance(bodies, Data):
        told: Told = getattr(bodies, "_told")
        return told
    if hasattr(bodies, "particles"):
        return _json.dumps({"g": float(bodies.G)}), float(bodies.t)
    if not isinstance(bodies, Mapping):
        return None, None
    json = bodies.get("specification.json", bodies.get("spec.json"))
    time = bodies.get("time")
    if isinstance(json, (bytes, bytearray)):
        json = json.decode("utf-8")
    if time is not None:
        found = numbers("time", time)
        if found.size != 1:
            raise ValueError(f"time must be one number, not of shape {found.shape}")
        time = float(found.reshape(()))
    return json, time


def files_of(
    resume: Optional[Path], spec: Optional[Spec], bodies: Any, **files: Optional[Path]
) -> Dict[str, object]:
    """The files of a run. A resumed run has those with which it began, and its own start."""
    given = {name: os.fspath(path) for name, path in files.items() if path is not None}
    others = [*given, *(["spec"] if spec is not None else []), *(["bodies"] if bodies is not None else [])]
    if resume is not None and others:
        raise ValueError(f"resume: the run has the start and the files with which it began; leave out {others[0]}")
    return dict(given)


def arrays_of(bodies: Any) -> Tuple[Optional[Tuple[bytes, bytes, bytes, int]], Told]:
    """The bytes of bodies and the number of coordinates of a position, and their other values."""
    if bodies is None:
        return None, (None, None)
    mass, position, velocity = bodies_of(bodies)
    return (mass.tobytes(), position.tobytes(), velocity.tobytes(), position.shape[1]), told_of(bodies)


def options(
    backend: str,
    threads: Optional[int],
    gpus: Gpus,
    device: Numbered,
    simd: Optional[str] = None,
) -> _trisolar.Options:
    """Checks the options of computations."""
    names(backend=backend)
    names_or_none(simd=simd)
    wholes(threads=threads)
    return _trisolar.Options(backend, threads, simd, _gpus("gpus", gpus), _gpus("device", device))


def names(**given: object) -> None:
    """Raises a TypeError that names the first argument that is not a string."""
    for name, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a string, not {value!r}")


def names_or_none(**given: object) -> None:
    """Raises a TypeError that names the first argument that is neither a string nor None."""
    names(**{name: value for name, value in given.items() if value is not None})


def wholes(**given: object) -> None:
    """Raises a TypeError that names the first argument that is neither a whole number nor None."""
    for name, value in given.items():
        if value is not None and not _is_whole(value):
            raise TypeError(f"{name} must be a whole number, not {value!r}")


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def axes(name: str, value: Any) -> int:
    """The depth of a sequence."""
    try:
        return np.ndim(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def numbers(name: str, value: Any) -> npt.NDArray[np.float64]:
    """An array of f64, or an exception that names the value that cannot be converted."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if array.size and array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    return array.astype(np.float64, copy=False)


def _gpus(name: str, value: Numbered) -> Optional[str]:
    """The text of the command line. A sequence for ``gpus`` is refused there, with the remedy."""
    if value is None or isinstance(value, str):
        return value
    given: Any = [value] if np.ndim(value) == 0 else value
    if not all(map(_is_whole, given)):
        allowed = '"all" or a whole number' if name == "gpus" else "a whole number or a sequence of them"
        raise TypeError(f"{name} must be {allowed}, not {value!r}")
    return ",".join(str(operator.index(number)) for number in given)


def formulas(set: Union[str, Sequence[str]]) -> List[str]:
    """Formulas for the parameters of a zoom, as on the command line."""
    texts = [set] if isinstance(set, str) else list(set)
    names(**{f"set[{k}]": formula for k, formula in enumerate(texts)})
    return texts


def vary_texts(vary: Vary) -> List[str]:
    """The parameters with their values, as on the command line."""
    if isinstance(vary, str):
        return [vary]
    if not isinstance(vary, Mapping):
        texts = list(vary)
        names(**{f"vary[{k}]": text for k, text in enumerate(texts)})
        return texts
    found = []
    for name, values in vary.items():
        names(vary=name)
        if not isinstance(values, str):
            values = ",".join(repr(float(x)) for x in numbers(name, values).ravel())
        found.append(f"{name}={values}")
    return found
