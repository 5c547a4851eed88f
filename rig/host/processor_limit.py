# SPDX-License-Identifier: Apache-2.0
"""Limits of a process that reads a possibly damaged file: a processor time, and a
multiple of it by the clock.

A reader that loops for ever uses up its processor time. One that waits, as other
programs keep the computer busy or a disk is slow, does not: its end by the clock is no
evidence against the file.
"""

from __future__ import annotations

import math
import signal
import sys

#: Limit by the clock, in multiples of the processor time.
_WALLS = 3.0
#: Seconds beyond its limit after which a process that ignores the signal is killed.
_KILLED_S = 5


def wall_s(limit_s: float) -> float:
    """Return how long a process with a limit of processor time may take by the
    clock."""
    return _WALLS * limit_s


def apply(limit_s: float) -> None:
    """Let the kernel end this process once it has used `limit_s` of processor time, in
    whole seconds; no limit on Windows.
    """
    if sys.platform != "win32":
        import resource

        soft_s = max(math.floor(limit_s), 1)
        _, most_s = resource.getrlimit(resource.RLIMIT_CPU)
        hard_s = soft_s + _KILLED_S
        if most_s != resource.RLIM_INFINITY:
            soft_s, hard_s = min(soft_s, most_s), min(hard_s, most_s)
        resource.setrlimit(resource.RLIMIT_CPU, (soft_s, hard_s))


def is_used_up(returncode: int) -> bool:
    """Check whether a process was ended because its processor time was used up."""
    return sys.platform != "win32" and returncode == -signal.SIGXCPU


def used_up(limit_s: float) -> str:
    """Describe a process that used up its processor time, for an error message."""
    return f"was not done after {_seconds(limit_s)} s of processor time"


def late(limit_s: float) -> str:
    """Describe a process that was not done in time by the clock, for an error
    message.
    """
    return (
        f"was not done after {_seconds(wall_s(limit_s))} s, and had not used the"
        f" {_seconds(limit_s)} s of processor time that it may take: other programs"
        " keep this computer busy, or its disk is slow"
    )


def _seconds(limit_s: float) -> str:
    return f"{math.floor(limit_s)}" if limit_s >= 1 else f"{limit_s:.1g}"
