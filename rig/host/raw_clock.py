# SPDX-License-Identifier: Apache-2.0
"""A clock of the host without corrections."""

from __future__ import annotations

import time


def raw_monotonic_ns() -> int:
    """Return nanoseconds from some instant, as the host's crystal counts them.

    NTP slews CLOCK_MONOTONIC, chrony by up to 8 % by default: that looks like samples
    which do not come.
    """
    raw = getattr(time, "CLOCK_MONOTONIC_RAW", None)
    return time.monotonic_ns() if raw is None else time.clock_gettime_ns(raw)
