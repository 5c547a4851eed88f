# SPDX-License-Identifier: Apache-2.0
"""A clock of the host without corrections."""

from __future__ import annotations

import sys
import time


def raw_monotonic_ns() -> int:
    """Return nanoseconds from some instant, as the host's crystal counts them.

    NTP slews CLOCK_MONOTONIC, chrony by up to 8 % by default: that looks like samples
    which do not come.
    """
    if sys.platform == "win32":
        return time.monotonic_ns()
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
