"""The warnings that Trisolar issues."""

from __future__ import annotations

import warnings
from typing import Dict, Iterable, Optional, Tuple

from . import _trisolar

class TrisolarWarning(UserWarning):
    """The result may not be what the user intended."""


class AccuracyWarning(TrisolarWarning):
    """The result is inaccurate: the relative energy error of an N-body run exceeds 0.01, steps of a cluster were at least 8 times too
    long, or in more than a tenth of a map's sampled pixels the bodies come too close to each other for the time step."""


def warn_of_doubts(messages: Iterable[Optional[str]], stacklevel: int) -> None:
    """Issues a :class:`TrisolarWarning` for each message."""
    for message in messages:
        if message is not None:
            warnings.warn(_trisolar.in_python(message), TrisolarWarning, stacklevel=stacklevel + 1)


def warn_of_accuracy(message: Optional[str], stacklevel: int) -> None:
    """Issues an :class:`AccuracyWarning` if there is a message."""
    if message is not None:
        warnings.warn(_trisolar.in_python(message), AccuracyWarning, stacklevel=stacklevel + 1)


def check_counts(found: Optional[Tuple[int, int, int]]) -> Optional[Dict[str, float]]:
    """A check of a sample as a dict: its size, the values that were compared, those that changed, and their share."""
    if found is None:
        return None
    sample, compared, changed = found
    return {"sample": sample, "compared": compared, "changed": changed, "share": changed / max(compared, 1)}
