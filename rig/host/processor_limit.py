# SPDX-License-Identifier: Apache-2.0
"""Limits of a process that reads what may be damaged: so much time of a processor, and
a multiple of it by the clock.

A reader that loops for ever uses up its processor time. One that waits, as other
programs keep the computer busy or a disk is slow, does not: its end by the clock says
nothing of what it reads.
"""

from __future__ import annotations

import math
import signal
import sys

#: By the clock a reader may take so many times its processor time.
_WALLS = 3.0
#: Beyond its limit a process that ignores the signal is killed after so many seconds.
_KILLED_S = 5


def wall_s(limit_s: float) -> float:
    """Return how long a process with a limit of processor time may take by the
    clock."""
    return _WALLS * limit_s


def apply(limit_s: float) -> None:
    """Let the kernel end this process once it has used so much processor time, in whole
    seconds, where it knows how to.
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
    """Return whether a process ended as it had used up its processor time."""
    return sys.platform != "win32" and returncode == -signal.SIGXCPU


def used_up(limit_s: float) -> str:
    """Return in words what was seen of a process that used up its processor time."""
    return f"was not done after {_seconds(limit_s)} s of processor time"


def late(limit_s: float) -> str:
    """Return in words what was seen of a process that was not done in time by the
    clock."""
    return (
        f"was not done after {_seconds(wall_s(limit_s))} s, and had not used the"
        f" {_seconds(limit_s)} s of processor time that it may take: other programs"
        " keep this computer busy, or its disk is slow"
    )


def _seconds(limit_s: float) -> str:
    return f"{math.floor(limit_s)}" if limit_s >= 1 else f"{limit_s:.1g}"
