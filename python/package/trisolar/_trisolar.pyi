from os import PathLike
from typing import Any, Callable, Dict, List, Optional, Union, final

__all__ = ["Map", "Specification", "__version__", "devices_json"]

__version__: str

def devices_json() -> str: ...
@final
class Specification:
    def __new__(
        cls,
        options: Dict[str, object],
        toml: Optional[str] = None,
        file: Optional[str] = None,
    ) -> Specification: ...
    @property
    def json(self) -> str: ...
    @property
    def toml(self) -> str: ...
    @property
    def warnings(self) -> List[str]: ...
    def run(
        self,
        backend: str = "auto",
        threads: Optional[int] = None,
        progress: Optional[Callable[[int, int], object]] = None,
    ) -> Map: ...

@final
class Map:
    @property
    def __array_interface__(self) -> Dict[str, Any]: ...
    @property
    def spec_json(self) -> str: ...
    @property
    def spec_toml(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def pixel_steps(self) -> int: ...
    @property
    def never_parted(self) -> int: ...
    @property
    def notes(self) -> List[str]: ...
    def save(
        self,
        path: Union[str, PathLike[str]],
        bare: bool = False,
        colormap: str = "inferno",
        title: Optional[str] = None,
    ) -> None: ...
