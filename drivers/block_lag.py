# SPDX-License-Identifier: Apache-2.0
"""The lag of a stream's blocks against the host's clock: unreported losses of samples
make it grow permanently."""

from __future__ import annotations

from dataclasses import dataclass

from rig.simulation.world import NS_PER_S

#: A window holds 15 blocks of a JS110 (33 ms each): one of them comes promptly also on
#: a busy host.
_WINDOW_NS = NS_PER_S // 2
_WINDOW_BLOCKS = 10
#: The promptest of 15 blocks is rarely late by more than a slice of the host's
#: scheduler, some milliseconds: less is no evidence. Packets that get lost in smaller
#: numbers are reported in the log. Two crystals drift apart by at most `_DRIFT` of the
#: window.
_LIMIT_NS = 20_000_000
_DRIFT = 200e-6
_LAST_BLOCKS = 5


@dataclass(frozen=True, slots=True)
class Loss:
    """About `lost_ns` of samples are missing somewhere between two ticks."""

    first_tick: int
    stop_tick: int
    lost_ns: int


class BlockLag:
    """Compares the ids of blocks, in ticks of a rate, with the host time at which they
    came.

    The least lag of a window is compared with that of the window before: less than 20
    ms is what scheduling may do, more that stays is lost samples. A loss of less is not
    seen here.
    """

    def __init__(self, tick_hz: int) -> None:
        self._ns_per_tick = NS_PER_S // tick_hz
        self._least_ns: int | None = None
        self._base_ns: int | None = None
        self._began_ns: int | None = None
        self._blocks = 0
        self._window_least_ns = 0
        self._prompt_tick = 0
        self._last_tick = 0

    def arrived(self, stop_tick: int, at_ns: int) -> Loss | None:
        """Take the end of a block and when it came; return a loss that has become
        certain."""
        loss = None
        if (
            self._began_ns is not None
            and at_ns - self._began_ns >= _WINDOW_NS
            and self._blocks >= _WINDOW_BLOCKS
        ):
            loss = self._judge()
            self._began_ns = None
        lag_ns = at_ns - stop_tick * self._ns_per_tick
        self._least_ns = (
            lag_ns if self._least_ns is None else min(self._least_ns, lag_ns)
        )
        if self._began_ns is None:
            self._began_ns = at_ns
            self._blocks = 0
            self._window_least_ns = lag_ns
        self._window_least_ns = min(self._window_least_ns, lag_ns)
        self._blocks += 1
        self._last_tick = stop_tick
        if self._base_ns is None or lag_ns < self._base_ns + _LIMIT_NS:
            self._prompt_tick = stop_tick
        return loss

    def last(self) -> Loss | None:
        """Return a loss in the window that has not ended, if it holds enough blocks to
        tell."""
        return self._judge() if self._blocks >= _LAST_BLOCKS else None

    def tick_at(self, at_ns: int) -> int | None:
        """Return which tick was taken at a host time, or one a little before it; None
        before any block.
        """
        return (
            None
            if self._least_ns is None
            else (at_ns - self._least_ns) // self._ns_per_tick
        )

    def _judge(self) -> Loss | None:
        base_ns = self._base_ns
        self._base_ns = self._window_least_ns
        grown_ns = 0 if base_ns is None else self._window_least_ns - base_ns
        if grown_ns <= _LIMIT_NS + _DRIFT * _WINDOW_NS:
            return None
        loss = Loss(self._prompt_tick, self._last_tick, grown_ns)
        self._prompt_tick = self._last_tick
        return loss
