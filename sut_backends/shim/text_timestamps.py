# SPDX-License-Identifier: Apache-2.0
"""The time stamps of the text layer, judged by the host's clock: a lost or doubled
digit is a factor of ten.
"""

from __future__ import annotations

from rig.errors import RemoteProtocolError

_WRAP_US = 2**32
_US_PER_S = 1_000_000
#: Largest ratio of two clocks. A lost or doubled digit makes a much larger one.
_FACTOR = 2.0
_SLACK_S = 0.05  # of the host's scheduler and the line


class LapClock:
    """Extend 32-bit stamps, and refuse impossible ones: a stamp that goes back, or runs
    at twice or half the host's pace.

    A stamp was made between the command and its answer. The host may read the answer
    late, so both times bound it.
    """

    def __init__(self) -> None:
        self._lap_us: int | None = None
        self._sent_s = 0.0
        self._received_s = 0.0

    def judge(self, lap_us: int, *, sent_s: float, received_s: float) -> int:
        """Return the stamp `lap_us` as a number that only rises; its command was sent
        at `sent_s`, its answer received at `received_s`; raise RemoteProtocolError.
        """
        if self._lap_us is not None:
            least_s = max(sent_s - self._received_s, 0.0)
            most_s = received_s - self._sent_s
            lap_us = self._extend(lap_us, least_s, most_s)
        self._lap_us = lap_us
        self._sent_s = sent_s
        self._received_s = received_s
        return lap_us

    def judge_pair(
        self, start_us: int, stop_us: int, *, sent_s: float, received_s: float
    ) -> tuple[int, int]:
        """Do as `judge` with two stamps in the answer to one command."""
        before_us = self._lap_us
        elapsed_s = received_s - sent_s
        stop_us = self.judge(stop_us, sent_s=sent_s, received_s=received_s)
        start_us += (stop_us - start_us) // _WRAP_US * _WRAP_US
        duration_s = (stop_us - start_us) / _US_PER_S
        if before_us is not None and start_us < before_us:
            raise _impossible(start_us, f"the stamp before was {before_us} us")
        if duration_s > elapsed_s * _FACTOR + _SLACK_S:
            raise _impossible(
                start_us,
                f"{duration_s:.6g} s before the next, in a command of"
                f" {elapsed_s:.3g} s",
            )
        # The last one was made no earlier than this; sharper than the command itself.
        self._sent_s = sent_s + duration_s / _FACTOR
        return start_us, stop_us

    def _extend(self, lap_us: int, least_s: float, most_s: float) -> int:
        assert self._lap_us is not None
        before_us = self._lap_us
        if lap_us < before_us:
            lap_us += -((lap_us - before_us) // _WRAP_US) * _WRAP_US
        elapsed_s = (lap_us - before_us) / _US_PER_S
        shortest_s = least_s / _FACTOR - _SLACK_S
        longest_s = most_s * _FACTOR + _SLACK_S
        if not shortest_s <= elapsed_s <= longest_s:
            raise _impossible(
                lap_us,
                f"{elapsed_s:.6g} s after the one before, {least_s:.3g} to"
                f" {most_s:.3g} s by the host's clock",
            )
        return lap_us


def _impossible(lap_us: int, why: str) -> RemoteProtocolError:
    cause = f"the DUT's time stamp {lap_us} us cannot be true"
    try_next = (
        "a byte was lost on the line, or the DUT restarted, or its timer is wrong"
    )
    return RemoteProtocolError(cause, evidence=why, try_next=try_next)
