"""Equations in Rust: a file is compiled to a program, whose results are arrays."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, cast

import numpy as np
import numpy.typing as npt

from . import _trisolar
from ._encounters import _how
from ._equations import Trajectories, _listed
from ._spec import Spec, merged, source
from ._warnings import warn_of_doubts

_HOW = ("backend", "threads", "simd", "gpus")
"""Options of a computation that change no result."""


class System:
    """Equations in Rust that have been compiled. Made by :func:`system`."""

    def __init__(self, file: Path, program: Path) -> None:
        self._file = file
        self._program = program
        self._about: Dict[str, Any] = json.loads(self._said("help", "--json"))

    @property
    def name(self) -> str:
        """The name of the system."""
        return str(self._about["name"])

    @property
    def label(self) -> str:
        """Its title."""
        return str(self._about["label"])

    @property
    def parameters(self) -> Dict[str, float]:
        """The parameters with their defaults."""
        return {name: float(x) for name, x in self._about["parameters"]}

    @property
    def state(self) -> Dict[str, float]:
        """The numbers of the state with their values at the start; NaN for one that follows from the others."""
        return {name: np.nan if x is None else float(x) for name, x in self._about["state"]}

    @property
    def outcomes(self) -> List[str]:
        """The names of the outcomes 1, 2 and so on."""
        return list(self._about["outcomes"])

    @property
    def methods(self) -> List[str]:
        """The integrators, the default first."""
        return list(self._about["methods"])

    @property
    def program(self) -> Path:
        """The program, which has the options of the command line: ``program help`` lists them."""
        return self._program

    def __repr__(self) -> str:
        return f"<System {self.name}: {self.label}, {self._file}>"

    def _said(self, *arguments: str) -> str:
        """What the program prints; its refusals are exceptions."""
        ran = subprocess.run([str(self._program), *arguments], capture_output=True, text=True, check=False)
        for line in ran.stderr.splitlines():
            if line.startswith("note: "):
                warn_of_doubts([line[6:]], stacklevel=3)
        if ran.returncode == 0:
            return ran.stdout
        said = "\n".join(line for line in ran.stderr.splitlines() if not line.startswith(("hint: ", "note: ")))
        message = _trisolar.in_python(said[7:] if said.startswith("error: ") else said)
        if ran.returncode == 2:
            raise ValueError(message)
        raise RuntimeError(message or f"{self._program} ended with the code {ran.returncode}")

    def trajectories(self, spec: Optional[Spec] = None, **options: Any) -> Trajectories:
        """Follows trajectories: a map over parameters and start values, or an ensemble of drawn ones.

        >>> lorenz = trisolar.system("lorenz.rs")
        >>> found = lorenz.trajectories(map={"rho": (20, 120), "sigma": (4, 20)}, size=100, value="lyapunov")

        :param spec: the source of values that are not given, as for :func:`ode`.
        :param options: those of :func:`ode`, but for the equations and ``progress``. Without ``map``, ``draw`` and ``n``, one trajectory is
            followed.
        :returns: the records and their summary, as of :func:`ode`.
        :raises ValueError: a value that is not allowed, with the message of the program.
        :raises TypeError: an option that does not exist, or of a wrong type.
        :raises RuntimeError: a program that failed, such as for want of a GPU.
        """
        folder = TemporaryDirectory(prefix="trisolar-")
        to = Path(folder.name) / "found.npz"
        how, values = self._values(spec, options)
        report: Dict[str, Any] = json.loads(self._said("map", *how, *values, "--out", str(to), "--json"))
        found = _Found(self, folder, to, report)
        text, toml = _trisolar.equations_values(_given(report["specification"]), None, None)
        known = {name: value for name, value in json.loads(text).items() if value is not None and value != []}
        # The compiled results of equations as text have the same attributes.
        return Trajectories(cast(_trisolar.EquationsFound, found), known, toml)

    def orbit(self, spec: Optional[Spec] = None, *, samples: int = 1000, **options: Any) -> npt.NDArray[np.void]:
        """The states of one trajectory at its start and at equal times.

        >>> orbit = trisolar.system("lorenz.rs").orbit(end=30, samples=3000)
        >>> orbit["t"], orbit["x"]

        :param spec: the source of values that are not given, as for :func:`ode`.
        :param samples: the number of times after the start.
        :param options: ``set``, ``end`` and the options of integration of :func:`ode`.
        :returns: a structured array with ``t`` and the numbers of the state, shorter if the trajectory ends with an outcome.
        :raises ValueError: a value that is not allowed, with the message of the program.
        """
        with TemporaryDirectory(prefix="trisolar-") as folder:
            to = Path(folder) / "orbit.npy"
            how, values = self._values(spec, options)
            self._said("orbit", *how, *values, "--samples", str(samples), "--out", str(to))
            rows = np.load(to)
        return np.ascontiguousarray(rows).view([("t", "<f8"), *((name, "<f8") for name in self.state)])[:, 0]

    @staticmethod
    def _values(spec: Optional[Spec], options: Dict[str, Any]) -> Tuple[List[str], List[str]]:
        """Options as arguments of the program: those of the computation, and those of its items."""
        names = [name for name in _trisolar.parameters("equations") if name not in ("ode", "iterate")]
        unknown = [name for name in options if name not in names and name not in _HOW]
        if unknown:
            raise TypeError(f"there is no option {unknown[0]}; the options are {', '.join([*names, *_HOW])}")
        given = dict(options)
        how = _how(given.pop("backend", "auto"), *(given.pop(name, None) for name in _HOW[1:]))
        texts: List[str] = []
        for name, value in zip(_HOW, how):
            if value is not None:
                texts += [f"--{name}", str(value)]
        for name in ("set", "map"):
            given[name] = _listed(given.get(name))
        for name in ("draw", "value"):
            if isinstance(given.get(name), str):
                given[name] = given[name].split(",")
        of = source(spec)
        all_values, _ = _trisolar.equations_values(merged(of, given), of.toml, of.file)
        return texts, _arguments(json.loads(all_values))


def _given(values: Mapping[str, Any]) -> Dict[str, Any]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value is not None and value != []}


def _arguments(values: Mapping[str, Any]) -> List[str]:
    """Values as arguments of the program."""
    arguments: List[str] = []
    for name, value in _given(values).items():
        if name in ("ode", "iterate"):
            raise ValueError(f"spec has the equations {name}, which are those of trisolar.{name}")
        if isinstance(value, list):
            value = ("x" if name == "size" else ",").join(map(str, value))
        arguments += ["--" + name.replace("_", "-"), value if isinstance(value, str) else repr(value)]
    return arguments


class _Found:
    """The result of a program, with what compiled results of equations as text have."""

    def __init__(self, system: System, folder: "TemporaryDirectory[str]", file: Path, report: Dict[str, Any]) -> None:
        self._system = system
        # Kept as long as this is, for other files.
        self._folder = folder
        self._file = file
        self._report = report
        self.outcomes = system.outcomes
        self.summary = json.dumps(report["summary"])
        self.engine: str = report["engine"]
        self.device: str = report["device"]
        self.seconds: float = report["seconds"]
        self.notes: List[str] = report["notes"]

    def records(self) -> Tuple[List[Tuple[str, str]], bytes]:
        with np.load(self._file) as file:
            columns = {name: file[name].ravel() for name in file.files if not name.endswith(".json")}
        names = [(name, "<f8") for name in columns]
        rows = np.empty(len(next(iter(columns.values()))), names)
        for name, column in columns.items():
            rows[name] = column
        return names, rows.tobytes()

    @property
    def axes(self) -> List[Tuple[str, Tuple[float, float], int]]:
        specification = self._report["specification"]
        axes = []
        for text, n in zip(specification["map"], specification["size"] or ()):
            name, ends = text.split("=")
            low, high = map(float, ends.split(":"))
            axes.append((name, (low, high), n))
        return axes

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._system._said("draw", "--from", str(self._file), "--out", os.fspath(path))


def system(
    file: Union[str, "os.PathLike[str]"],
    *,
    checkout: Union[str, "os.PathLike[str]", None] = None,
    verbose: bool = False,
) -> System:
    """Compiles equations in Rust with cargo.

    >>> lorenz = trisolar.system("lorenz.rs")
    >>> lorenz.trajectories(map={"rho": (20, 120), "sigma": (4, 20)}, size=100).plot()
    >>> orbit = lorenz.orbit(end=30)

    docs/own-systems.md describes the file. The first one takes some minutes, because the packages around the equations are compiled; later
    ones, and changes, take seconds. What cargo makes is kept in the folder ``trisolar`` of ``$XDG_CACHE_HOME``, or of ``~/.cache``, but
    for the folders of ``trisolar new``, which have their own.

    :param file: the file of the equations, with a line such as ``export!(flow Lorenz);``, or a folder that ``trisolar new`` has made.
    :param checkout: a clone of Trisolar's repository, from which its packages are taken instead of the registry.
    :param verbose: whether cargo shows what it does.
    :returns: the system, whose trajectories can be followed.
    :raises ValueError: equations that are not right, with the compiler's messages, which name the line; a ``checkout`` that is no clone.
    :raises OSError: a file that cannot be read.
    :raises RuntimeError: no cargo, or one that failed for another reason.
    """
    path = Path(file).absolute()
    cargo = shutil.which("cargo")
    folder = path if path.is_dir() else path.parent.parent
    named = path / "src" / "system.rs" if path.is_dir() else path
    environment = dict(os.environ)
    if (path.is_dir() or path.parent.name == "src") and (folder / "Cargo.toml").is_file():
        if checkout is not None:
            raise ValueError(f"checkout: {folder / 'Cargo.toml'} says where its packages are")
        _trisolar.configuration_text(folder / "src" / "system.rs")
    else:
        text = _trisolar.configuration_text(path)
        folder, target = _project(path, text, checkout)
        environment["CARGO_TARGET_DIR"] = str(target)
    if cargo is None:
        raise RuntimeError(
            "cargo, which compiles equations in Rust, is not found: https://rustup.rs installs it; trisolar.ode takes equations as text "
            "without a compiler"
        )
    command = [cargo, "build", "--release", "--message-format=json"]
    building = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=None if verbose else subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    told = building.stderr or ""
    errors, program = [], None
    for line in building.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        said = message.get("message") or {}
        # The last error counts the others.
        if said.get("level") == "error" and not said["rendered"].startswith("error: aborting"):
            errors.append(said["rendered"].strip())
        program = message.get("executable") or program
    if "see the compiler's messages" in told:
        # The equations are compiled for GPUs first, in a folder where they have this name.
        of_kernels = textwrap.dedent(told.partition("--- stderr\n")[2]).partition("\nerror: could not compile")[0]
        errors.append(of_kernels.replace("--> src/system.rs", f"--> {named}").strip())
    if errors:
        raise ValueError(f"{named} is not compiled:\n\n" + "\n\n".join(errors))
    if building.returncode != 0 or program is None:
        hint = "" if checkout else "\nThe packages are not in the public registry yet: checkout names a clone of Trisolar's repository"
        is_missing = re.search(r"no matching package|failed to select a version", told) is not None
        raise RuntimeError(f"cargo cannot build {folder}:\n{told.strip()}{hint if is_missing else ''}")
    return System(path, Path(program))


def _project(path: Path, text: str, checkout: Union[str, "os.PathLike[str]", None]) -> Tuple[Path, Path]:
    """Writes the folder of a program for a file of equations; returns it and the folder of what is compiled."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trisolar"
    # Two files of one name are two programs.
    key = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    stem = re.sub(r"[^a-z0-9-]", "-", path.stem.lower())
    name = f"own-{stem}-{key}"
    folder = cache / "systems" / name
    files = _trisolar.program_files(name, text, str(path), None if checkout is None else os.fspath(checkout))
    (folder / "src").mkdir(parents=True, exist_ok=True)
    for file, content in files:
        to = folder / file
        # What has not changed is not compiled again; cargo adapts its own lock file.
        if file != "Cargo.lock" or not to.exists():
            if not to.exists() or to.read_text(encoding="utf-8") != content:
                to.write_text(content, encoding="utf-8")
    linked = folder / "src" / "system.rs"
    if not linked.exists() or not linked.samefile(path):
        linked.unlink(missing_ok=True)
        linked.symlink_to(path)
    return folder, cache / "target"
