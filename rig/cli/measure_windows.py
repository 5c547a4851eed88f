# SPDX-License-Identifier: Apache-2.0
"""Options of `rig measure` that choose windows, and the windows that they choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from rig.cli.options import FiniteNumber
from rig.errors import ConfigError, DataError
from rig.importers import markers
from rig.importers.opened import LONGEST_S, Opened
from rig.measure import threshold, trace_windows
from rig.measure.stamps import by_stamps
from rig.measure.trace_windows import TraceSpan
from rig.trace.foreseen import WHOLE_S, Foreseen
from rig.uncertainty.accuracy import Accuracy
from rig.uncertainty.window_effects import ranges_a
from rig.units import plural

_F = TypeVar("_F", bound=Callable[..., Any])
_OPTIONS = (
    click.option(
        "--edges",
        type=click.Choice(trace_windows.PATTERNS),
        help="Windows between edges of SYNC [default: fall-fall].",
    ),
    click.option(
        "--markers",
        "by_markers",
        is_flag=True,
        help="Windows between markers: 1a to 1b, or each to the next.",
    ),
    click.option(
        "--times",
        multiple=True,
        metavar="START-STOP|FILE",
        help=(
            "A window in seconds from the first sample; may be repeated. Or a file of"
            " time stamps, JSON or text."
        ),
    ),
    click.option(
        "--threshold",
        "threshold_a",
        type=FiniteNumber(),
        metavar="A",
        help="Windows in which the current exceeds A amperes.",
    ),
    click.option("--whole", is_flag=True, help="The whole trace as one window."),
    click.option(
        "--windows",
        "which",
        default="",
        metavar="LIST",
        help="Only some of these windows: even, odd, or numbers such as 2,4,6-10.",
    ),
    click.option(
        "--per",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Inferences in each window; mean, median and spread are then of one.",
    ),
)
#: Names of the options, as click hands them over.
CHOICES = ("edges", "by_markers", "times", "threshold_a", "whole", "which", "per")


def window_options(command: _F) -> _F:
    """Add the options that choose windows."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class WindowChoice:
    """The values of the options that choose windows."""

    edges: str | None
    by_markers: bool
    times: tuple[str, ...]
    threshold_a: float | None
    whole: bool
    which: str
    per: int

    def check(self) -> None:
        """Raise ConfigError for two ways at once."""
        by_threshold = self.threshold_a is not None
        ways = (
            bool(self.edges),
            self.by_markers,
            bool(self.times),
            by_threshold,
            self.whole,
        )
        if sum(ways) > 1:
            raise ConfigError(
                "windows can be chosen in one way at a time",
                try_next="one of --edges, --markers, --times, --threshold, --whole",
            )

    @property
    def are_edges(self) -> bool:
        """Whether windows begin and end at edges, where SYNC has any."""
        return not (
            self.by_markers or self.times or self.whole or self.threshold_a is not None
        )

    def foreseen(self, promised: Accuracy | None) -> Foreseen:
        """Return the windows that are known before the trace is read, and the ranges of
        the current that its instrument promises.
        """
        windows_s = [WHOLE_S] if self.whole else []
        # Wrong times are reported once the trace is open.
        with suppress(ConfigError):
            spans = trace_windows.by_times(self.times)
            windows_s += [(span.start_s, span.stop_s) for span in spans]
        ranges = tuple(ranges_a(promised)) if promised else ()
        is_default = self.are_edges and not self.edges
        return Foreseen(tuple(windows_s), ranges, whole_without_sync=is_default)

    def spans(self, opened: Opened, notes: list[str]) -> list[TraceSpan]:
        """Return the windows; raises DataError and ConfigError where there are none."""
        return _selected(self._all(opened, notes), self.which)

    def _all(self, opened: Opened, notes: list[str]) -> list[TraceSpan]:
        trace = opened.trace
        if self.times:
            return _by_times(self.times, trace.duration_s)
        if self.threshold_a is not None:
            if not opened.has_current:
                raise ConfigError(
                    "the trace has power and no current",
                    path="--threshold",
                    try_next="--times or --edges",
                )
            return threshold.by_threshold(trace, self.threshold_a)
        if self.by_markers:
            if opened.marked is None:
                raise DataError(
                    f"a file of this kind ({opened.origin}) has no markers",
                    try_next="--times or --edges",
                )
            return _apart(
                trace_windows.by_markers(markers.read(opened.marked, trace)), notes
            )
        if self.edges or (
            not self.whole and (len(trace.falls_s) or len(trace.rises_s))
        ):
            return trace_windows.by_edges(
                trace, self.edges or trace_windows.PATTERNS[0]
            )
        if not self.whole:
            notes.append("no edges of SYNC: the whole trace is one window")
        return trace_windows.whole(trace)


def _by_times(times: Sequence[str], duration_s: float) -> list[TraceSpan]:
    files = [text for text in times if _is_file(text)]
    if files and len(times) > 1:
        raise ConfigError(
            "a file of time stamps has all windows", path="--times", try_next="it alone"
        )
    if files:
        return by_stamps(Path(files[0]))
    spans = trace_windows.by_times(times)
    for span, text in zip(spans, times, strict=True):
        if span.stop_s > LONGEST_S:
            raise ConfigError(
                f"--times {text}",
                evidence=f"the trace is {duration_s:.6g} s long",
                try_next="seconds from the first sample, as --times 0.1-0.35",
            )
    return spans


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _selected(spans: list[TraceSpan], which: str) -> list[TraceSpan]:
    """Return those of the windows that were asked for, by their place from 1 on."""
    if not which:
        return spans
    count = len(spans)
    if which in ("even", "odd"):
        numbers = set(range(2 if which == "even" else 1, count + 1, 2))
    else:
        numbers = set()
        for part in which.split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdecimal() or not (last if dash else first).isdecimal():
                raise ConfigError(
                    f"--windows {which}", try_next="even, odd, or numbers as 2,4,6-10"
                )
            numbers |= set(range(int(first), min(int(last or first), count) + 1))
    chosen = [span for number, span in enumerate(spans, start=1) if number in numbers]
    if not chosen or max(numbers, default=0) > count:
        raise ConfigError(
            f"--windows {which}",
            evidence=f"the trace has {plural(count, 'window')}",
            try_next="numbers from 1 on",
        )
    return chosen


def _apart(spans: Sequence[TraceSpan], notes: list[str]) -> list[TraceSpan]:
    """Remove windows of length zero; raise DataError if none is left."""
    empty = [span.name for span in spans if span.stop_s <= span.start_s]
    remark = f"markers at the same place make no window: {', '.join(empty)}"
    if len(empty) == len(spans):
        raise DataError(remark, try_next="markers that stand apart, or --times")
    if empty:
        notes.append(remark)
    return [span for span in spans if span.stop_s > span.start_s]
