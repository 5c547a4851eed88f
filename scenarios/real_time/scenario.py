# SPDX-License-Identifier: Apache-2.0
"""Real-time: a signal whose scene changes, played at its own rate; the device decides
every hop, while it listens on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Ge, Gt, Interval, Unit, doc

from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import SignalTask, Task
from rig.model.declaration import DeclaredMetric, DeclaredMetrics
from rig.model.metric import Metric, Prominence
from rig.model.picture import Picture
from rig.model.steps import Idle, Plan, Step, Stream
from rig.model.trial import Measured
from rig.problems import Problem
from rig.settings.declare import Count, Number, Or, Ratio
from rig.units import quantity
from scenarios.common import declared
from scenarios.common.limits import IDLE_MAX_S, IdleTime, TimeLimit
from scenarios.common.stream_power import energies
from scenarios.common.stream_windows import STREAM_METHOD, how_played, latencies
from scenarios.real_time import decisions, scenes

#: A window that is played, and one that is loaded meanwhile.
SLOTS = 2


class RealTime(Scenario):
    """One stream a trial, between two idle times; its scenes are drawn by the trial's
    seed: onsets lie anywhere in a hop.
    """

    name = "real_time"
    states_lines = True
    method = STREAM_METHOD

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Length of the stream and of its scenes, and when a decision is due."""

        duration_s: Annotated[
            float,
            Interval(gt=0, le=IDLE_MAX_S),
            Unit("s"),
            doc("Duration of the stream."),
        ] = 60.0
        scene_s: Annotated[
            tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]],
            Unit("s"),
            doc("Shortest and longest scene; the longest is at least twice as long."),
        ] = (3.0, 8.0)
        hop_s: Annotated[
            float,
            Or(0, "half a window"),
            Gt(0),
            Unit("s"),
            doc("Time from one decision to the next."),
        ] = 0.0
        deadline_s: Annotated[
            float,
            Or(0, "a hop"),
            Gt(0),
            Unit("s"),
            doc("Longest time from the capture of a window to its decision."),
        ] = 0.0
        share: Annotated[
            Ratio,
            Interval(gt=0, le=1),
            doc(
                "Share of the windows that must meet the deadline for a trial to count."
            ),
        ] = 0.9
        stable: Annotated[
            Count, Ge(1), doc("Right decisions in a row that recognise a scene.")
        ] = 2
        preloaded: Annotated[
            bool, doc("The device holds all windows before the stream begins.")
        ] = False
        stream_seed: Annotated[
            Number,
            Or(0, "the trial's own"),
            Ge(1),
            doc("Seed of the stream; one makes all trials play the same stream."),
        ] = 0
        idle_s: Annotated[IdleTime, doc("Idle time before and after the stream.")] = 0.5
        limit_s: Annotated[
            TimeLimit,
            doc("Longest time from the end of the stream to the answer."),
        ] = 20.0

    def __init__(self, settings: Settings, slots: int = 0) -> None:
        """`slots` is how many windows the device holds, 0 while that is not known."""
        self.settings = settings
        self._slots = slots

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Check what settings say of each other."""
        shortest_s, longest_s = settings.scene_s
        if 2 * shortest_s > longest_s:
            raise ConfigError(
                f"{settings.scene_s}",
                path="scenario.real_time.scene_s",
                try_next="[a, b], b at least twice a: onsets must lie anywhere",
            )
        if longest_s >= settings.duration_s:
            raise ConfigError(
                f"{settings.duration_s}",
                path="scenario.real_time.duration_s",
                try_next=(
                    f"above {longest_s:g} s, the longest of scene_s, as a scene must"
                    " change"
                ),
            )
        return cls(settings)

    def fitted(self, info: SutInfo) -> RealTime:
        """Return the scenario for a device that holds so many windows; raise
        ConfigError where it cannot listen to a stream.
        """
        if not info.streams or (info.slots < SLOTS and not self.settings.preloaded):
            lacks = (
                f"has {info.slots} slot"
                if info.streams
                else "cannot process a stream while it listens"
            )
            raise ConfigError(
                f"{info.name} {lacks}",
                path="scenario.real_time",
                try_next=(
                    "firmware that knows STREAM, in the framed layer, with two slots or"
                    " more (docs/reference/PROTOCOL.md section 4)"
                ),
            )
        return RealTime(self.settings, info.slots)

    def plan(self, task: Task, seed: int) -> Plan:
        """Yield idle time, the stream, and idle time."""
        stream = self._stream(task, self.settings.stream_seed or seed)
        yield Idle(self.settings.idle_s)
        yield stream
        yield Idle(self.settings.idle_s)

    def summarise(self, measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
        """Reduce one trial; the first scene follows no change, so it has no onset that
        counts."""
        right = [sample.correct for sample in measured.samples]
        metrics = {"accuracy": Metric.of_share(right, True, Prominence.HEADLINE)}
        metrics |= decisions.recognition(
            decisions.changes(measured, self.settings.stable)
        )
        metrics |= latencies(measured.samples, phases)
        in_time = self._in_time(measured)
        metrics["within_deadline"] = Metric.of_share(in_time, True, Prominence.HEADLINE)
        return metrics | energies(measured, phases)

    def declared_metrics(
        self, task: Task, steps: Sequence[Step], phases: Sequence[str]
    ) -> DeclaredMetrics:
        """Declare recognition, latencies, and powers of the stream."""
        latencies = [*(f"latency_{phase}" for phase in phases), "latency_response"]
        latencies += ["latency_response_p50", "latency_response_p90"]
        latencies += ["latency_response_p99"]
        energies_of_phases = [f"energy_{phase}" for phase in phases]
        metrics = {
            "accuracy": declared.SHARE,
            "recognised": declared.SHARE,
            **dict.fromkeys(
                (decisions.ONSET, *decisions.ONSET_PERCENTILES), declared.LATENCY
            ),
            **dict.fromkeys(latencies, declared.LATENCY),
            "within_deadline": declared.SHARE,
            "duty_cycle": DeclaredMetric("s/s", higher_is_better=False),
            "power_idle": declared.POWER,
            "power_active": declared.POWER,
            "power_dynamic": declared.DYNAMIC_POWER,
            "power_stream": declared.POWER,
            "power_stream_dynamic": declared.DYNAMIC_POWER,
            **dict.fromkeys(energies_of_phases, declared.ENERGY),
            "energy_total": declared.ENERGY,
            "energy_dynamic": declared.DYNAMIC_ENERGY,
            "energy_stream": declared.ENERGY,
        }
        return DeclaredMetrics(metrics)

    def problems(self, measured: Measured) -> tuple[Problem, ...]:
        """Return which rules a trial does not meet: enough windows within the deadline,
        of any."""
        in_time = self._in_time(measured)
        faults = []
        if sum(in_time) < self.settings.share * len(in_time):
            detail = (
                f"{sum(in_time)} of {len(in_time)} windows were decided within "
                f"{self._deadline(measured)}"
            )
            faults.append(
                Problem("rule", f"{detail}: {self.settings.share:.0%} must be")
            )
        if not in_time:
            faults.append(Problem("rule", "no window was due in any stream"))
        return tuple(faults)

    def absent(self, measured: Measured) -> dict[str, str]:
        """Return why there is no latency from the onset, where no new scene was
        recognised."""
        changes = decisions.changes(measured, self.settings.stable)
        if any(change.latency_s is not None for change in changes):
            return {}
        reason = (
            f"none of {len(changes)} new scenes had {self.settings.stable} right"
            " decisions in a row"
        )
        return dict.fromkeys((decisions.ONSET, *decisions.ONSET_PERCENTILES), reason)

    def lines(self, measured: Measured) -> tuple[str, ...]:
        """Describe how the stream reached the device, its decisions, and their accuracy
        by the age of a scene."""
        metrics = self.summarise(measured, ())
        in_time = self._in_time(measured)
        low, high = metrics["within_deadline"].interval
        deadline = (
            f"Within the deadline of {self._deadline(measured)}: {sum(in_time)} of"
            f" {len(in_time)} windows, {metrics['within_deadline'].value:.1%} (95 %"
            f" interval as if windows were independent: {low:.1%} to {high:.1%});"
            f" {self.settings.share:.0%} are needed."
        )
        played = map(how_played, measured.streams)
        recognised = decisions.recognised_line(measured, self.settings.stable)
        return (*played, recognised, deadline, decisions.by_age_line(measured))

    def pictures(self, folder: Path) -> Sequence[Picture]:
        """Draw decisions beside the scenes that were played."""
        # Here, because it brings matplotlib, which only the report needs.
        from scenarios.real_time import plots

        return plots.pictures(folder, self.settings.deadline_s)

    def _stream(self, task: Task, seed: int) -> Stream:
        if not isinstance(task, SignalTask):
            raise ConfigError(
                f"the samples of {task.name} are no stretches of a signal, and cannot"
                " be played",
                path=f"task.{task.name}",
                try_next="a task whose samples follow each other in time: [task.asc]",
            )
        settings = self.settings
        rate_hz = task.sample_hz
        hop = round(settings.hop_s * rate_hz) if settings.hop_s else task.window // 2
        self._refuse(task, hop)
        limits = (
            round(length_s * rate_hz)
            for length_s in (settings.duration_s, *settings.scene_s)
        )
        drawn = scenes.draw(task, seed, *limits)
        stream = Stream(
            scenes=drawn,
            hop=hop,
            window=task.window,
            sample_hz=rate_hz,
            preloaded=settings.preloaded,
            limit_s=settings.limit_s,
        )
        if settings.preloaded and 0 < self._slots < stream.windows:
            raise ConfigError(
                f"{stream.windows} windows, the device holds {self._slots}",
                path="scenario.real_time.preloaded",
                try_next=(
                    "false; or a stream of "
                    f"{((self._slots - 1) * hop + task.window) / rate_hz:.9g} s or less"
                ),
            )
        return stream

    def _refuse(self, task: SignalTask, hop: int) -> None:
        """Raise ConfigError where hop, window and scenes do not go together."""
        settings = self.settings
        hop_s = hop / task.sample_hz
        window_s = task.window / task.sample_hz
        if not 1 <= hop <= task.window:
            allowed = (
                f"{1 / task.sample_hz:g} to {window_s:g} s: longer hops would"
                " leave out a part of the signal"
            )
            raise ConfigError(
                f"a hop of {hop_s:g} s, a window of {window_s:g} s",
                path="scenario.real_time.hop_s",
                try_next=allowed,
            )
        if settings.scene_s[0] < settings.stable * hop_s:
            short = (
                "shorter than a hop"
                if settings.scene_s[0] < hop_s
                else f"too short for {settings.stable} decisions in a row"
            )
            raise ConfigError(
                f"scenes of {settings.scene_s[0]:g} s are {short}: a hop is"
                f" {hop_s:g} s",
                path="scenario.real_time.scene_s",
                try_next=(
                    f"{settings.stable * hop_s:.9g} s or more (stable ="
                    f" {settings.stable} hops), or a shorter hop_s"
                ),
            )
        if settings.duration_s < window_s + hop_s:
            allowed = (
                f"{window_s + hop_s:.9g} s or more: a window of {window_s:g} s, and"
                " a hop"
            )
            raise ConfigError(
                f"{settings.duration_s:g} s",
                path="scenario.real_time.duration_s",
                try_next=allowed,
            )

    def _in_time(self, measured: Measured) -> list[bool]:
        """Return of each window that was due whether it was decided within the
        deadline; one that has no answer was not.
        """
        in_time: list[bool] = []
        for stream in measured.streams:
            limit_s = self.settings.deadline_s or stream.hop_s
            answered = []
            for sample in measured.samples:
                if sample.hop and sample.step == stream.step:
                    answered.append(sample.hop.response.latency_s <= limit_s)
            in_time += answered + [False] * (stream.due - len(answered))
        return in_time

    def _deadline(self, measured: Measured) -> str:
        limits_s = {
            self.settings.deadline_s or stream.hop_s for stream in measured.streams
        }
        return " or ".join(quantity(limit_s, "s") for limit_s in sorted(limits_s))
