"""The warnings that Trisolar issues."""

from __future__ import annotations

import warnings
from typing import Optional


class TrisolarWarning(UserWarning):
    """The result may not be what the user intended."""


class AccuracyWarning(TrisolarWarning):
    """The result is inaccurate: the relative energy error of an N-body run exceeds 0.01, or in more than a tenth of a map's
    sampled pixels the bodies come too close to each other for the time step."""


def warn_of_accuracy(message: Optional[str], stacklevel: int) -> None:
    """Issues an :class:`AccuracyWarning` if there is a message."""
    if message is not None:
        warnings.warn(message, AccuracyWarning, stacklevel=stacklevel + 1)
