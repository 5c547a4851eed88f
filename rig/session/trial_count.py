# SPDX-License-Identifier: Apache-2.0
"""The number of trials that a caller asks for."""

from __future__ import annotations

import operator
from typing import Any

from rig.errors import ConfigError

_TRY = "a whole number, 1 or more; left out, it is that of the bench file"


def trial_count(given: Any) -> int:
    """Return a number of trials; an integer of NumPy is one. Raises ConfigError for
    anything but a whole number of 1 or more.
    """
    try:
        count = operator.index(given)
    except TypeError:
        count = 0
    if isinstance(given, bool) or count < 1:
        raise ConfigError(
            f"{given!r} is no number of trials", path="trials", try_next=_TRY
        )
    return count
