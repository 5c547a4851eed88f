# SPDX-License-Identifier: Apache-2.0
"""The score of detections against events, as the runner of MLPerf Tiny's streaming wake
word computes it (benchmark/runner/streaming_ww_utils.py, calc_detection_stats), and its
result lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: "false_pos_suppresion_delay_sec=1.0": the runner adds it to the end of an event and
#: again where it compares, so that an event counts until 2.0 s after its end.
GRACE_S = 2 * 1.0
#: "debounce_time_sec=1.0": so long a false detection hides those after it.
DEAD_MS = 1000
#: submission_checker.py: at most 8 false positives and 8 false negatives.
FALSE_MOST = 8
#: The same: found and missed words of a result are these.
WORDS = 50

#: "g_i2s_chunk_size_bytes": a window is 32 ms.
HOP_MS = 32
HOP_S = HOP_MS / 1000

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Detected:
    """Events by their beginnings in seconds, those that were detected and those that
    were missed, and the times of false detections.
    """

    found_s: tuple[float, ...]
    missed_s: tuple[float, ...]
    false_s: tuple[float, ...]

    @property
    def within_limits(self) -> bool:
        """Check the limits of the rules."""
        return max(len(self.missed_s), len(self.false_s)) <= FALSE_MOST


def scored(times_ms: Sequence[int], events_s: Sequence[Interval]) -> Detected:
    """Score times in whole milliseconds, in ascending order, against events (beginning,
    end): all detections within an event, both ends included, are one, and no other
    event's.
    """
    left = list(times_ms)
    matches: list[float] = []
    missed: list[float] = []
    for begin_s, end_s in events_s:
        until_s = end_s + GRACE_S / 2 + GRACE_S / 2
        in_event = [time_ms for time_ms in left if begin_s <= time_ms / 1000 <= until_s]
        (matches if in_event else missed).append(begin_s)
        left = [time_ms for time_ms in left if time_ms not in in_event]
    return Detected(tuple(matches), tuple(missed), tuple(_after_dead_time(left)))


def _after_dead_time(times_ms: Sequence[int]) -> list[float]:
    """Return the times in seconds of those that no other one hides."""
    shown: list[int] = []
    for time_ms in times_ms:
        if not shown or time_ms > shown[-1] + DEAD_MS or time_ms == shown[-1]:
            shown.append(time_ms)
    return [time_ms / 1000 for time_ms in shown]


def result_lines(
    detected: Detected, duty_cycle: float, period_s: float, processing_s: float
) -> tuple[str, ...]:
    """Return the result in the runner's words, which its submission checker looks
    for.
    """
    return (
        accuracy_line(detected),
        f"Average duty cycle: {duty_cycle:1.5}",
        f"Average period: {period_s:1.5} s",
        f"Estimated throughput: {1 / processing_s:1.5} inf./sec.",
    )


def accuracy_line(detected: Detected) -> str:
    """Return the first line of the result."""
    return (
        f"Accuracy: {len(detected.found_s)} True positives,"
        f" {len(detected.missed_s)} False negatives,"
        f" {len(detected.false_s)} False positives"
    )


def limits_line(detected: Detected) -> str:
    """Return whether the limits of the rules are kept; they are limits of a signal of
    50 words, and no verdict on another one.
    """
    limits = (
        f"The limits of the rules, {FALSE_MOST} false negatives and {FALSE_MOST} false"
        " positives,"
    )
    words = len(detected.found_s) + len(detected.missed_s)
    if words != WORDS:
        return f"{limits} are those of {WORDS} words; this signal has {words}."
    return f"{limits} are {'kept' if detected.within_limits else 'not kept'}."


def power_line(power_w: float) -> str:
    """Return the line of the power, which the runner has in energy mode (main.py)."""
    return f"Power         : {1e3 * power_w:5.4f} mW."
