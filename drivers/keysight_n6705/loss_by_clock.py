# SPDX-License-Identifier: Apache-2.0
"""The lag of an N6705's records against the host's clock: unreported losses of records
make it grow permanently.

Needed where SYNC is not logged as a voltage: with edges among the records every loss is
visible.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from rig.timebase.pairing_seeds import CLOCK_LIMIT

#: In virtual time no record is held back; numbers are rounded.
_EXACT_LIMIT_S = 1e-6
#: An instrument that is busy may hold back more for once: the promptest of so many
#: fetches counts. In virtual time each does.
_LAST = 5
_EXACT_LAST = 1
#: So many fetches before those must have been seen while the log goes on: they tell a
#: clock that is stretched from records lost.
_BASE = 10
_MEMORY = 40
#: Two clocks drift apart by at most so much, or are a problem
#: (rig/timebase/pairing.py).
_DRIFT = CLOCK_LIMIT


@dataclass(frozen=True, slots=True)
class Missing:
    """At least `missing_s` of records are missing, somewhere after record `after`.

    `stretch`: seconds that pass for each second of records, if the loss is continuous;
    0 for a single loss.
    """

    missing_s: float
    after: int
    stretch: float


@dataclass(frozen=True, slots=True)
class _Fetch:
    """State after a fetch that emptied the buffer: `records` in all; the log had run
    for `least_s` to `most_s`."""

    records: int
    before_s: float
    after_s: float
    least_s: float
    most_s: float


class RecordLag:
    """Compares the number of records with the host's clock, at each fetch that emptied
    the buffer.

    The least lag of the last five fetches is compared with that of those before: more
    than `held_back_s` is lost records. Late hosts and networks have no effect: a fetch
    is answered between its query and its answer. A loss is always detected if it
    exceeds `held_back_s`, two records, the duration of the fastest answer before it or
    of the slowest of five after it, and 500 ppm of five times the time between two
    fetches; in virtual time (None) of more than two records and 500 ppm of one such
    time. Smaller losses are detected in part, losses before the first fetch never.
    """

    def __init__(self, period_s: float, held_back_s: float | None) -> None:
        self._period_s = period_s
        self._limit_s, self._last = (
            (_EXACT_LIMIT_S, _EXACT_LAST)
            if held_back_s is None
            else (held_back_s, _LAST)
        )
        self._fetches: deque[_Fetch] = deque(maxlen=_MEMORY)

    def emptied(self, records: int, before_s: float, after_s: float) -> None:
        """Take the number of all records at a fetch that emptied the buffer, and the
        times of its query and answer."""
        least_s = before_s - (records + 1) * self._period_s
        most_s = after_s - records * self._period_s
        self._fetches.append(_Fetch(records, before_s, after_s, least_s, most_s))

    def missing(self, ended: bool) -> Missing | None:
        """Return the missing records; until the log has `ended` only once the evidence
        suffices for the cause."""
        fetches = list(self._fetches)
        base = fetches[: -self._last]
        last = fetches[-self._last :]
        if len(base) < (1 if ended else _BASE):
            return None
        missing_s = min(self._behind_s(base, fetch) for fetch in last)
        if missing_s <= self._limit_s:
            return None
        prompt = fetches[0]
        for at, fetch in enumerate(fetches[1:], start=1):
            if self._behind_s(fetches[:at], fetch) <= self._limit_s:
                prompt = fetch
        return Missing(missing_s, prompt.records, self._stretch(fetches))

    @property
    def doubtful(self) -> bool:
        """Whether the last fetch lagged more than those before: a few more show
        whether permanently."""
        fetches = list(self._fetches)
        if len(fetches) <= 1:
            return False
        return self._behind_s(fetches[:-1], fetches[-1]) > self._limit_s

    def _behind_s(self, base: list[_Fetch], fetch: _Fetch) -> float:
        """Return the least lag of one fetch after the promptest of others."""
        return fetch.least_s - min(
            other.most_s + _DRIFT * (fetch.before_s - other.after_s) for other in base
        )

    def _stretch(self, fetches: list[_Fetch]) -> float:
        first = fetches[0]
        middle = fetches[len(fetches) // 2]
        last = fetches[-1]
        early_s = self._behind_s([first], middle)
        if min(early_s, self._behind_s([middle], last)) <= self._limit_s:
            return 0.0
        return (last.before_s - first.before_s) / (
            max(last.records - first.records, 1) * self._period_s
        )
