# SPDX-License-Identifier: Apache-2.0
"""Events: a stream is played once at its own rate, and the device answers for each of
its windows whether it detects an event.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, Self

from annotated_types import Interval as Within
from annotated_types import Unit, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import EVENT, NO_EVENT, EventTask, Task
from rig.model.declaration import DeclaredMetric, DeclaredMetrics
from rig.model.metric import Metric, Prominence
from rig.model.steps import Idle, Load, Plan, Query, Scene, Step, Stream
from rig.model.trial import Measured, Sample, Streamed
from rig.problems import Problem
from rig.settings.declare import Or
from rig.stats.summary import mean
from scenarios.common import declared
from scenarios.common.event_scoring import (
    HOP_MS,
    HOP_S,
    Detected,
    Interval,
    accuracy_line,
    limits_line,
    power_line,
    result_lines,
    scored,
)
from scenarios.common.limits import IDLE_MAX_S, IdleTime, TimeLimit
from scenarios.common.metrics import headline, of_mean, of_ratio
from scenarios.common.stream_power import energies
from scenarios.common.stream_windows import STREAM_METHOD, how_played, latencies

#: A window that is played, and one that is loaded meanwhile.
SLOTS = 2
RECALL = "recall"
FALSE_SHARE = "false_positive_share"


class EventDetection(Scenario):
    """One stream a trial, between two idle times: all of the task's signal, or its
    beginning.
    """

    name = "events"
    states_lines = True
    method = STREAM_METHOD

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Length of the stream, and how the device takes it."""

        mode: Annotated[
            Literal["stream", "accuracy"],
            doc(
                "stream: played at its own rate; accuracy: window by window over the"
                " text layer, without times."
            ),
        ] = "stream"
        duration_s: Annotated[
            float,
            Or(0, "all of the task's signal"),
            Within(gt=0, le=IDLE_MAX_S),
            Unit("s"),
            doc("Duration of the stream, from the beginning of the signal on."),
        ] = 0.0
        preloaded: Annotated[
            bool, doc("The device holds all windows before the stream begins.")
        ] = False
        idle_s: Annotated[IdleTime, doc("Idle time before and after the stream.")] = 0.5
        limit_s: Annotated[
            TimeLimit,
            doc("Longest time from the end of the stream to the answer."),
        ] = 20.0

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Return the scenario."""
        return cls(settings)

    def fitted(self, info: SutInfo) -> Self:
        """Return the scenario; raise ConfigError for a device that cannot listen to a
        stream.
        """
        if self.settings.mode == "accuracy":
            self._refuse_frames(info)
            return self
        if not info.streams or (info.slots < SLOTS and not self.settings.preloaded):
            lacks = (
                f"has {info.slots} slot"
                if info.streams
                else "cannot process a stream while it listens"
            )
            raise ConfigError(
                f"{info.name} {lacks}",
                path="scenario.events",
                try_next=(
                    "firmware that knows STREAM, in the framed layer, with two slots or"
                    " more (docs/reference/PROTOCOL.md section 4)"
                ),
            )
        return self

    @staticmethod
    def _refuse_frames(info: SutInfo) -> None:
        if info.details.get("layer") != "text":
            raise ConfigError(
                f"{info.name} takes windows one by one in the text layer alone",
                path="scenario.events.mode",
                try_next='layer = "text" in its [sut.*]; or mode = "stream"',
            )

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle time, the stream, and idle time."""
        stream = self._stream(task)
        yield Idle(self.settings.idle_s)
        if self.settings.mode == "accuracy":
            yield from self._one_by_one(stream)
        else:
            yield stream
        yield Idle(self.settings.idle_s)

    def _one_by_one(self, stream: Stream) -> Plan:
        if stream.hop / stream.sample_hz != HOP_S:
            raise ConfigError(
                f"windows of {stream.hop / stream.sample_hz:g} s",
                path="scenario.events.mode",
                try_next=f"stream: one by one they are of {HOP_S:g} s",
            )
        for window in range(stream.windows):
            yield Load(window)
            yield Query((window,), self.settings.limit_s, timed=False, window=window)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial to the shares of events, the times of the windows, and the
        energies of the stream.
        """
        metrics: dict[str, Metric] = {}
        detected = self._detected(measured)
        if detected.found_s or detected.missed_s:
            outcomes = [True] * len(detected.found_s)
            outcomes += [False] * len(detected.missed_s)
            metrics[RECALL] = Metric.of_share(outcomes, True, Prominence.HEADLINE)
        if self.settings.mode == "accuracy":
            return metrics | {FALSE_SHARE: _false_share(measured, detected)}
        throughput = headline(_throughput(measured.samples))
        metrics |= {
            FALSE_SHARE: _false_share(measured, detected),
            "throughput": throughput,
            "period": of_mean(_periods_s(measured), "s"),
        }
        metrics |= latencies(measured.samples, phases)
        return metrics | energies(measured, phases)

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics:
        """Declare detections, times, and powers of the stream."""
        declared_all = {
            RECALL: declared.SHARE,
            FALSE_SHARE: DeclaredMetric("1", higher_is_better=False, bounded=True),
        }
        if self.settings.mode == "accuracy":
            return DeclaredMetrics(declared_all)
        latency = [*(f"latency_{phase}" for phase in phases), "latency_response"]
        latency += [f"latency_response_p{percent}" for percent in (50, 90, 99)]
        energy = [*(f"energy_{phase}" for phase in phases), "energy_total"]
        metrics = {
            **declared_all,
            "throughput": declared.THROUGHPUT,
            "period": declared.LATENCY,
            **dict.fromkeys(latency, declared.LATENCY),
            "duty_cycle": DeclaredMetric("s/s", higher_is_better=False),
            "power_idle": declared.POWER,
            "power_active": declared.POWER,
            "power_dynamic": declared.DYNAMIC_POWER,
            "power_stream": declared.POWER,
            "power_stream_dynamic": declared.DYNAMIC_POWER,
            **dict.fromkeys(energy, declared.ENERGY),
            "energy_dynamic": declared.DYNAMIC_ENERGY,
            "energy_stream": declared.ENERGY,
        }
        return DeclaredMetrics(metrics)

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return whether there is anything to score."""
        if measured.samples:
            return ()
        return (Problem("rule", "no window of the stream was answered"),)

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return why there is no share of events."""
        detected = self._detected(measured)
        if detected.found_s or detected.missed_s:
            return {}
        return {RECALL: "the stream has no event"}

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """State the result in the words of MLPerf Tiny's runner, and its windows."""
        detected = self._detected(measured)
        limits = limits_line(detected)
        if self.settings.mode == "accuracy":
            about = (
                f"{len(measured.samples)} windows, one by one over the link: their"
                " times are those of the signal, and there is no duty cycle."
            )
            return (about, accuracy_line(detected), limits)
        took_s = mean(_processing_s(measured.samples))
        periods_s = _periods_s(measured)
        period_s = mean(periods_s) if periods_s else math.nan
        results = result_lines(detected, took_s / period_s, period_s, took_s)
        about_windows = (
            f"{limits} Duty cycle, period and throughput are of all"
            f" {len(measured.samples)} windows (the benchmark's interface board keeps"
            " the first 100)."
        )
        return (
            *map(how_played, measured.streams),
            *results,
            *_power_lines(measured),
            _in_time_line(measured),
            about_windows,
        )

    def _detected(self, measured: Measured) -> Detected:
        if self.settings.mode == "accuracy":
            return _detected_one_by_one(measured.samples)
        return _detected(measured)

    def _stream(self, task: Task) -> Stream:
        if not isinstance(task, EventTask):
            raise ConfigError(
                f"{task.name} has no signal with events in it",
                path=f"task.{task.name}",
                try_next="[task.sww]",
            )
        samples = len(task) * task.window
        if self.settings.duration_s:
            length = round(self.settings.duration_s * task.sample_hz)
            if length > samples:
                raise ConfigError(
                    f"{self.settings.duration_s:g} s, the signal has"
                    f" {samples / task.sample_hz:g} s",
                    path="scenario.events.duration_s",
                    try_next="0, for all of it",
                )
            samples = length
        return Stream(
            scenes=tuple(_scenes(task, samples)),
            hop=task.window,
            window=task.window,
            sample_hz=task.sample_hz,
            preloaded=self.settings.preloaded,
            limit_s=self.settings.limit_s,
        )


def _false_share(measured: Measured, detected: Detected) -> Metric:
    """Return the part of the windows with a false positive."""
    false = len(detected.false_s)
    outcomes = [True] * false
    outcomes += [False] * (len(measured.samples) - false)
    return Metric.of_share(outcomes, False, Prominence.HEADLINE)


def _throughput(samples: Sequence[Sample]) -> Metric:
    """Return windows in the time of their processing."""
    return of_ratio(
        [1.0] * len(samples), _processing_s(samples), "1/s", higher_is_better=True
    )


def _power_lines(measured: Measured) -> list[str]:
    """Return the average power of each stream, as the runner words it; none without an
    energy monitor.
    """
    lines = []
    for stream in measured.streams:
        whole = stream.whole
        if whole.energy_j is not None:
            lines.append(power_line(whole.energy_j / whole.latency_s))
    return lines


def _in_time_line(measured: Measured) -> str:
    """Return how many windows were decided before the next one was there."""
    in_time = 0
    for stream in measured.streams:
        for sample in measured.samples:
            if sample.hop is not None and sample.step == stream.step:
                in_time += sample.hop.response.latency_s <= stream.hop_s
    due = sum(stream.due for stream in measured.streams)
    return f"Decided before the next window was there: {in_time} of {due} windows."


def _scenes(task: EventTask, samples: int) -> list[Scene]:
    """Return the events and what lies between them, as scenes of the signal's first
    samples.
    """
    bounds = [(0, NO_EVENT)]
    for begin, end in task.events():
        if end > samples:  # cut by the end of the stream
            break
        bounds += [(begin, EVENT), (end, NO_EVENT)]
    bounds.append((samples, ""))
    scenes = []
    for (begin, label), (end, _) in pairwise(bounds):
        last = min(end, samples)
        if begin < last:
            first, skip = divmod(begin, task.window)
            indices = tuple(range(first, -(-last // task.window)))
            scenes.append(Scene(label, indices, last - begin, skip))
    return scenes


def _detected(measured: Measured) -> Detected:
    """Score the detections of a trial's streams, one after the other.

    Time zero is the first window's decision, as the reference firmware gives a pulse
    after its first frame, from which the runner counts.
    """
    detected: list[float] = []
    missed: list[float] = []
    wrong: list[float] = []
    for stream in measured.streams:
        of_stream = [
            sample for sample in measured.samples if sample.step == stream.step
        ]
        one = scored(_detections_ms(stream, of_stream), _events_s(stream))
        detected += one.found_s
        missed += one.missed_s
        wrong += one.false_s
    return Detected(tuple(detected), tuple(missed), tuple(wrong))


def _detected_one_by_one(samples: Sequence[Sample]) -> Detected:
    """Score the detections of windows that had no time of their own."""
    times_ms = []
    for sample in samples:
        window = sample.indices[0]
        if sample.answer == EVENT and window > 0:
            times_ms.append(window * HOP_MS)
    events: dict[str, Interval] = {}
    for sample in samples:
        for word in filter(None, sample.case.split(" ")):
            begin_s, end_s = word.split("-")
            events[word] = (float(begin_s), float(end_s))
    return scored(times_ms, list(events.values()))


def _detections_ms(stream: Streamed, samples: Sequence[Sample]) -> list[int]:
    """Return the times of detections in whole milliseconds, as the interface board's
    clock counts them, less that of the first window.
    """
    times_ms = []
    for sample in samples:
        if sample.hop is not None:
            decided_s = sample.hop.response.stop_s - stream.whole.start_s
            times_ms.append(math.floor(1000 * decided_s))
    detections_ms = []
    for time_ms, sample in zip(times_ms, samples, strict=True):
        if sample.answer == EVENT and sample is not samples[0]:
            detections_ms.append(time_ms - times_ms[0])
    return detections_ms


def _events_s(stream: Streamed) -> list[tuple[float, float]]:
    """Return beginning and end of each event of a stream, from its start on."""
    ends_s = [*stream.onsets_s[1:], stream.whole.start_s + stream.due * stream.hop_s]
    start_s = stream.whole.start_s
    events_s = []
    parts = zip(stream.labels, stream.onsets_s, ends_s, strict=True)
    for label, begin_s, end_s in parts:
        if label == EVENT:
            events_s.append((begin_s - start_s, end_s - start_s))
    return events_s


def _processing_s(samples: Sequence[Sample]) -> list[float]:
    """Return how long each window's phases took."""
    took_s = []
    for sample in samples:
        took_s.append(math.fsum(window.latency_s for window in sample.windows))
    return took_s


def _periods_s(measured: Measured) -> list[float]:
    """Return the times from the beginning of one window's processing to the next's."""
    periods_s: list[float] = []
    for stream in measured.streams:
        starts = []
        for sample in measured.samples:
            if sample.hop is not None and sample.step == stream.step:
                starts.append((sample.hop.window, sample.windows[0].start_s))
        for (window, start_s), (later, later_s) in pairwise(starts):
            periods_s.append((later_s - start_s) / (later - window))
    return periods_s
