"""Zooms: a sequence of divergence maps towards a point."""

from __future__ import annotations

from typing import Iterator, List, Optional, Sequence

from . import _trisolar
from ._divergence import DivergenceMap
from ._progress import Progress, watching
from ._spec import Spec, merged, source


def zoom(
    spec: Optional[Spec] = None,
    *,
    preset: str = "document",
    frames: Optional[int] = None,
    set: Sequence[str] = (),
    backend: str = "auto",
    threads: Optional[int] = None,
    progress: Progress = None,
    **options: object,
) -> Iterator[DivergenceMap]:
    """Computes a zoom: an iterator of maps whose range, shift of the twin and number of steps change from frame to frame.

    >>> for frame, map in enumerate(trisolar.zoom(frames=60, size=200)):
    ...     map.save(f"frame-{frame:05}.png")

    Names and defaults are those of the command line ``trisolar zoom``. Every frame is checked before the first is
    computed. Ctrl-C raises ``KeyboardInterrupt`` within a second.

    :param spec: where values come from that are not given below, as for :func:`divergence`.
    :param preset: schedule: "document" (the published zoom, 500 frames), "video" (from 1.28 km to 518 nm, 937 frames) or
        "none" (100 frames).
    :param frames: number of frames, 1 to 99999 [the preset's].
    :param set: formulas for parameters, such as "span=40/2^(frame/30)"; they go before the preset's.
    :param backend: where to compute: "auto" (a GPU if one can be used, otherwise the CPU), "cpu" or "gpu".
    :param threads: of the CPU engine, 1 to 4096 [as many as the process may use].
    :param progress: a function that is called after each frame with the frames done and all frames; an exception of it
        ends the zoom. ``True`` shows a bar (needs tqdm).
    :param options: of every map, as for :func:`divergence`, such as ``size``; a center goes before the preset's.
    :returns: the maps, one after the other.
    :raises ValueError: a value that is not allowed, in any frame, with the message of the command line.
    :raises TypeError: a value of another kind.
    :raises OSError: a specification file that cannot be read.
    """
    given = source(spec)
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError("progress must be True, False, None or a function(done, total)")
    found = _trisolar.zoom_frames(
        merged(given, options), given.toml, given.file, preset, list(set), frames
    )
    return _maps(found, backend, threads, progress)


def _maps(
    frames: List[_trisolar.Specification], backend: str, threads: Optional[int], progress: Progress
) -> Iterator[DivergenceMap]:
    with watching(progress, "zoom") as tell:
        for done, specification in enumerate(frames, 1):
            map = DivergenceMap(specification.run(backend, threads))
            if tell is not None:
                tell(done, len(frames))
            yield map
