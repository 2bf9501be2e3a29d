"""The progress of a run, reported to a function of the user or shown as a bar."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator, Optional, Union

Progress = Union[bool, Callable[[int, int], object], None]
"""``True`` for a bar (needs tqdm), or a function that is called with the number of steps done and the total number."""

Tell = Callable[[int, int], object]
"""Called with the number of steps done and the total."""


def checked(progress: Progress) -> Progress:
    """Returns ``progress`` if it is valid.

    :raises TypeError: if it is not.
    """
    if progress is None or isinstance(progress, bool) or callable(progress):
        return progress
    raise TypeError("progress must be True, False, None or a function(done, total)")


@contextmanager
def watching(progress: Progress, name: str) -> Iterator[Optional[Tell]]:
    """The function that is called with the number of steps done and the total number, if there is one."""
    progress = checked(progress)
    if progress is None or progress is False:
        yield None
    elif progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True needs tqdm: pip install tqdm, or give a function(done, total)"
            ) from error
        with tqdm(desc=name, unit="step", unit_scale=True) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield show
    else:
        yield progress
