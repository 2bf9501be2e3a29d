from os import PathLike
from typing import Any, Callable, Dict, Generic, List, Optional, Tuple, TypeVar, Union, final

_State = TypeVar("_State")

__all__ = [
    "Array",
    "ClusterProblem",
    "ClusterState",
    "EncountersFound",
    "EncountersProblem",
    "EquationsFound",
    "EquationsProblem",
    "Map",
    "NbodyProblem",
    "NbodyState",
    "Options",
    "PlanetsFound",
    "PlanetsProblem",
    "Specification",
    "TimeRun",
    "ZoomCache",
    "__version__",
    "atlas_json",
    "configuration_text",
    "cpu_warning",
    "devices_json",
    "encounter_outcomes",
    "encounters_sweep_frames",
    "encounters_zoom_frames",
    "energy_error",
    "equations_values",
    "in_python",
    "lagrange_fractions",
    "nbody_diagnostics",
    "parameters",
    "planet_outcomes",
    "program_files",
    "sweep_frames",
    "zoom_frames",
]

__version__: str

def atlas_json(
    shape: Tuple[int, ...], values: bytes, limits: List[float], boxes: Optional[List[int]]
) -> str: ...
def configuration_text(path: Union[str, "PathLike[str]"]) -> str: ...
def cpu_warning(backend: str) -> Optional[str]: ...
def devices_json() -> str: ...
def energy_error(start: Tuple[float, float, float], internal: float) -> float: ...
def encounter_outcomes() -> List[Tuple[int, str]]: ...
def encounters_sweep_frames(
    options: Dict[str, object], toml: Optional[str], file: Optional[str], vary: List[str]
) -> Tuple[List[Tuple[EncountersProblem, List[Tuple[str, float]]]], List[Tuple[str, str]]]: ...
def encounters_zoom_frames(
    options: Dict[str, object],
    toml: Optional[str],
    file: Optional[str],
    to: List[float],
    set: List[str],
    frames: int,
) -> List[EncountersProblem]: ...
def lagrange_fractions() -> List[float]: ...
def nbody_diagnostics(
    bodies: Tuple[bytes, bytes, bytes, int], g: float, softening: float
) -> str: ...
def in_python(message: str) -> str: ...
def parameters(system: str) -> List[str]: ...
def planet_outcomes() -> List[Tuple[int, str]]: ...
def sweep_frames(
    options: Dict[str, object], toml: Optional[str], file: Optional[str], vary: List[str]
) -> Tuple[List[Tuple[Specification, List[Tuple[str, float]]]], List[Tuple[str, str]], List[str]]: ...
def zoom_frames(
    options: Dict[str, object],
    toml: Optional[str],
    file: Optional[str],
    preset: str,
    set: List[str],
    frames: Optional[int],
    cache: str,
) -> Tuple[List[Specification], List[str]]: ...
@final
class ZoomCache:
    def __new__(cls, cache: str) -> ZoomCache: ...
    def run(self, specification: Specification, options: Options) -> Map: ...

@final
class Array:
    @property
    def __array_interface__(self) -> Dict[str, Any]: ...

@final
class EncountersProblem:
    def __new__(
        cls,
        options: Dict[str, object],
        toml: Optional[str] = None,
        file: Optional[str] = None,
        points: Optional[Tuple[List[int], bytes]] = None,
    ) -> EncountersProblem: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    def run(
        self,
        backend: str,
        threads: Optional[int],
        simd: Optional[str],
        gpus: Optional[int],
        progress: Optional[Callable[[int, int], object]],
        certify: bool = False,
    ) -> EncountersFound: ...

@final
class EncountersFound:
    def records(self) -> Tuple[List[Tuple[str, str]], bytes]: ...
    @property
    def map(self) -> Optional[Tuple[Tuple[int, int], List[Tuple[str, str]]]]: ...
    @property
    def verdicts(self) -> Optional[bytes]: ...
    @property
    def summary(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def accuracy_warning(self) -> Optional[str]: ...
    @property
    def notes(self) -> List[str]: ...
    def check(self) -> None: ...
    def save(
        self, path: Union[str, "PathLike[str]"], theme: str, y_axis: Optional[str]
    ) -> None: ...

@final
class PlanetsProblem:
    def __new__(
        cls, options: Dict[str, object], toml: Optional[str] = None, file: Optional[str] = None
    ) -> PlanetsProblem: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    def run(
        self,
        backend: str,
        threads: Optional[int],
        simd: Optional[str],
        gpus: Optional[int],
        progress: Optional[Callable[[int, int], object]],
    ) -> PlanetsFound: ...

@final
class PlanetsFound:
    def records(self) -> Tuple[List[Tuple[str, str]], bytes]: ...
    @property
    def axes(self) -> List[Tuple[str, str, Tuple[float, float], int]]: ...
    @property
    def units(self) -> List[Tuple[str, str]]: ...
    @property
    def summary(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def notes(self) -> List[str]: ...
    def check(self) -> None: ...
    def save(
        self, path: Union[str, "PathLike[str]"], theme: str, y_axis: Optional[str]
    ) -> None: ...

def equations_values(
    options: Dict[str, object], toml: Optional[str], file: Optional[str]
) -> Tuple[str, str]: ...
def program_files(
    name: str, equations: str, file: str, checkout: Optional[str]
) -> List[Tuple[str, str]]: ...
@final
class EquationsProblem:
    def __new__(
        cls, options: Dict[str, object], toml: Optional[str] = None, file: Optional[str] = None
    ) -> EquationsProblem: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    def run(
        self,
        backend: str,
        threads: Optional[int],
        simd: Optional[str],
        gpus: Optional[int],
        progress: Optional[Callable[[int, int], object]],
    ) -> EquationsFound: ...

@final
class EquationsFound:
    def records(self) -> Tuple[List[Tuple[str, str]], bytes]: ...
    @property
    def axes(self) -> List[Tuple[str, Tuple[float, float], int]]: ...
    @property
    def outcomes(self) -> List[str]: ...
    @property
    def summary(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def notes(self) -> List[str]: ...
    def save(self, path: Union[str, "PathLike[str]"]) -> None: ...

@final
class NbodyProblem:
    def __new__(
        cls,
        options: Dict[str, object],
        toml: Optional[str] = None,
        file: Optional[str] = None,
        bodies: Optional[Tuple[bytes, bytes, bytes, int]] = None,
        told: Optional[Tuple[Optional[str], Optional[float]]] = None,
        resume: Union[str, "PathLike[str]", None] = None,
    ) -> NbodyProblem: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    @property
    def warnings(self) -> List[str]: ...
    def run(
        self,
        files: Dict[str, object],
        every: Optional[int],
        backend: str,
        threads: Optional[int],
        simd: Optional[str],
        schedule: str,
        partials: str,
        device: Optional[int],
        gpus: Optional[int],
    ) -> TimeRun[NbodyState]: ...

@final
class NbodyState:
    @property
    def told(self) -> Tuple[Optional[str], Optional[float]]: ...
    @property
    def step(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def mass(self) -> Array: ...
    @property
    def position(self) -> Array: ...
    @property
    def velocity(self) -> Array: ...

@final
class ClusterProblem:
    def __new__(
        cls,
        options: Dict[str, object],
        toml: Optional[str] = None,
        file: Optional[str] = None,
        bodies: Optional[Tuple[bytes, bytes, bytes, int]] = None,
        told: Optional[Tuple[Optional[str], Optional[float]]] = None,
        resume: Union[str, "PathLike[str]", None] = None,
    ) -> ClusterProblem: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    def run(
        self,
        files: Dict[str, object],
        backend: str = "auto",
        threads: Optional[int] = None,
        simd: Optional[str] = None,
        gpus: Optional[int] = None,
        block_step: str = "auto",
    ) -> TimeRun[ClusterState]: ...

@final
class TimeRun(Generic[_State]):
    def next(self, progress: Optional[Callable[[int, int], object]] = None) -> Optional[_State]: ...
    def close(self) -> None: ...
    @property
    def energy_errors(self) -> Optional[List[float]]: ...
    @property
    def accuracy_warnings(self) -> List[str]: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def block_steps(self) -> Optional[str]: ...
    @property
    def notes(self) -> List[str]: ...

@final
class ClusterState:
    @property
    def told(self) -> Tuple[Optional[str], Optional[float]]: ...
    @property
    def time(self) -> float: ...
    @property
    def mass(self) -> Array: ...
    @property
    def position(self) -> Array: ...
    @property
    def velocity(self) -> Array: ...
    @property
    def kinetic(self) -> float: ...
    @property
    def potential(self) -> float: ...
    @property
    def internal(self) -> float: ...
    @property
    def blocks(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def centre(self) -> Array: ...
    @property
    def core_radius(self) -> float: ...
    @property
    def lagrange_radii(self) -> Array: ...
    @property
    def binaries(self) -> Optional[Tuple[int, Optional[Tuple[float, float]]]]: ...

@final
class Specification:
    def __new__(
        cls,
        options: Dict[str, object],
        toml: Optional[str] = None,
        file: Optional[str] = None,
        points: Optional[Tuple[List[int], bytes]] = None,
        under: Optional[Dict[str, object]] = None,
        preset: Optional[str] = None,
    ) -> Specification: ...
    @property
    def max_error(self) -> Optional[float]: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    @property
    def warnings(self) -> List[str]: ...
    def run(
        self,
        options: Options,
        progress: Optional[Callable[[int, int], object]] = None,
        certify: bool = False,
    ) -> Map: ...
    def restored(
        self,
        values: bytes,
        engine: str,
        device: str,
        seconds: float,
        notes: List[str],
        resolution: Optional[Tuple[int, int]] = None,
        checks: List[Optional[Tuple[int, int, int]]] = ...,
        verdicts: Optional[bytes] = None,
    ) -> Map: ...

@final
class Options:
    def __new__(
        cls,
        backend: str,
        threads: Optional[int],
        simd: Optional[str],
        gpus: Optional[str],
        device: Optional[str],
    ) -> Options: ...

@final
class Map:
    @property
    def unresolved(self) -> Optional[float]: ...
    @property
    def resolution(self) -> Optional[Tuple[int, int]]: ...
    @property
    def checks(self) -> List[Optional[Tuple[int, int, int]]]: ...
    @property
    def verdicts(self) -> Optional[bytes]: ...
    @property
    def predicted_error(self) -> Optional[bytes]: ...
    @property
    def certificate(self) -> Optional[str]: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def accuracy_warning(self) -> Optional[str]: ...
    def check(self, most: Optional[float]) -> None: ...
    @property
    def __array_interface__(self) -> Dict[str, Any]: ...
    @property
    def spec_json(self) -> str: ...
    @property
    def spec_toml(self) -> str: ...
    @property
    def points(self) -> Optional[Tuple[List[int], bytes]]: ...
    @property
    def points_shape(self) -> Optional[List[int]]: ...
    @property
    def axes(self) -> Optional[List[Optional[Tuple[str, str, str, List[float], List[float]]]]]: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def pixel_steps(self) -> int: ...
    @property
    def never_parted(self) -> Optional[int]: ...
    @property
    def quantity(self) -> Tuple[str, str, str, bool]: ...
    @property
    def method(self) -> str: ...
    @property
    def time_label(self) -> Optional[List[str]]: ...
    @property
    def colour_range(self) -> Optional[Tuple[float, float]]: ...
    @property
    def array_label(self) -> str: ...
    @property
    def notes(self) -> List[str]: ...
    @staticmethod
    def glyph_warning(path: Union[str, PathLike[str]], title: str) -> Optional[str]: ...
    def save(
        self,
        path: Union[str, PathLike[str]],
        bare: bool,
        name: str,
        title: Optional[str],
        shrink: int,
        theme: str,
        y_axis: Optional[str],
        look: str,
    ) -> None: ...
