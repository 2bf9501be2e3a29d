"""Zooms: a sequence of divergence maps towards a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Iterator, List, Optional, Protocol, Sequence, TypeVar, Union

from . import _trisolar
from ._dataset import module, stacked
from ._divergence import DivergenceMap
from ._progress import Progress, checked, watching
from ._spec import Gpus, Numbered, Spec, formulas, merged, names, options as run_options, source, wholes
from ._warnings import warn_of_accuracy, warn_of_doubts

if TYPE_CHECKING:
    import xarray


def zoom(
    spec: Optional[Spec] = None,
    *,
    preset: str = "document",
    frames: Optional[int] = None,
    set: Union[str, Sequence[str]] = (),
    cache: str = "none",
    backend: str = "auto",
    gpus: Gpus = None,
    device: Numbered = None,
    threads: Optional[int] = None,
    simd: Optional[str] = None,
    progress: Progress = None,
    **options: object,
) -> Zoom[DivergenceMap]:
    """Computes a zoom: an iterator of maps whose range, shift of the twin and number of steps change from frame to frame.

    >>> for frame, map in enumerate(trisolar.zoom(frames=60, size=200)):
    ...     map.save(f"frame-{frame:05}.png")

    Names and defaults are those of the command line ``trisolar zoom``. Every frame is checked before the first is
    computed. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: the source of values that are not given below, as for :func:`divergence`.
    :param preset: schedule: "document" (the zoom of Badger's study, 500 frames), "video" (from 1.28 km to 518 nm, 937 frames) or
        "none" (100 frames).
    :param frames: number of frames, 1 to 99999 [the preset's]. Fewer frames than the preset's cover the same ranges in longer strides,
        unless ``set`` has a formula of the span; more frames go on beyond them.
    :param set: a formula for a parameter, such as "span=40/2^(frame/30)", or several; they override the preset's.
    :param cache: the pixels of earlier frames that are reused: "none", or "rounded", those whose rounded coordinates were computed before, as
        in Badger's study, so that the maps are not exact. Only for the quantity divergence.
    :param backend: the engine: "auto" (GPUs if any can be used, otherwise the CPU), "cpu", "gpu", or "gpu+cpu".
    :param gpus: how many GPUs, as for :func:`divergence`.
    :param device: which GPUs, as for :func:`divergence`.
    :param threads: number of threads of the CPU engine, 1 to 4096 [as many as the process may use].
    :param simd: instruction set of the CPU engine: "scalar", "avx2", "avx512" or "neon"; the bits are the same [the fastest of this machine].
    :param progress: a function that is called after each frame with the number of frames done and the total number; an
        exception of it ends the zoom. ``True`` shows a bar (needs tqdm).
    :param options: options of every map, as for :func:`divergence`, such as ``size`` or ``max_error``; ``center`` overrides
        the preset's.
    :returns: the maps, one after the other; :meth:`Zoom.to_xarray` puts them together.
    :raises ValueError: a value that is not allowed, in any frame, with the message of the command line.
    :raises TypeError: a value of a wrong type.
    :raises OSError: a specification file that cannot be read.
    :raises MemoryError: too little memory, on the device or the host.
    :raises RuntimeError: no usable GPU (with ``backend="gpu"``), a GPU that failed, or a map whose share of unresolved
        pixels is above ``max_error``.
    """
    given = source(spec)
    checked(progress)
    how = run_options(backend, threads, gpus, device, simd)
    names(preset=preset)
    wholes(frames=frames)
    names(cache=cache)
    found, doubts = _trisolar.zoom_frames(
        merged(given, options), given.toml, given.file, preset, formulas(set), frames, cache
    )
    warn_of_doubts([*doubts, _trisolar.cpu_warning(backend)], stacklevel=2)
    return Zoom(_maps(found, how, progress, _trisolar.ZoomCache(cache)))


class _Frame(Protocol):
    def to_xarray(self) -> xarray.Dataset: ...


Frame = TypeVar("Frame", bound=_Frame)


class Zoom(Iterator[Frame], Generic[Frame]):
    """The frames, one after the other. Made by :func:`zoom` and :func:`encounters_zoom`."""

    def __init__(self, found: Iterator[Frame]) -> None:
        self._found = found
        self._done = 0

    def __next__(self) -> Frame:
        frame = next(self._found)
        self._done += 1
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """Computes the frames that are left, and returns a dataset with the dimension ``frame``.

        The coordinates of rows and columns are those of each frame. ``attrs`` has the specification of the first frame as TOML text,
        and the coordinate ``specification`` has that of each. ``trisolar zoom --zarr`` writes the same dataset of maps.

        :raises ImportError: without xarray.
        :raises ValueError: no frame is left.
        """
        module()
        found = []
        for frame in self:
            found.append(({"frame": self._done - 1}, frame.to_xarray()))
        specifications = [dataset.attrs["specification"] for _, dataset in found]
        whole = stacked(found, next(iter(specifications), ""), {})
        return whole.assign_coords(specification=("frame", specifications))


def _maps(
    frames: List[_trisolar.Specification],
    how: _trisolar.Options,
    progress: Progress,
    cache: _trisolar.ZoomCache,
) -> Iterator[DivergenceMap]:
    with watching(progress, "zoom") as tell:
        for done, specification in enumerate(frames, 1):
            computed = cache.run(specification, how)
            warn_of_accuracy(computed.accuracy_warning, stacklevel=2)
            computed.check(specification.max_error)
            map = DivergenceMap(computed)
            if tell is not None:
                tell(done, len(frames))
            yield map
