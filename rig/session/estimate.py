# SPDX-License-Identifier: Apache-2.0
"""An estimate of a plan before anything is opened: its steps, its time, and its room on
the disk.

Times are estimates where the settings determine them, and limits where only the device
knows; a `Duration` says which. A virtual device's times pass faster than real ones. No
device is touched: rates and paces come from the settings of the parts (`sampling`,
`pace`), or, of an open bench, from the infos of its monitors.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rig.bench import plugins
from rig.bench.config import REDUCED_RATE, Config
from rig.bench.examples import refuse_missing
from rig.errors import ConfigError, StorageFull
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.kinds.kind import FORESEEN_HZ
from rig.model.completion import Completion
from rig.model.pace import Duration, Pace
from rig.model.steps import Load, Query, Step, Sync
from rig.session import planning
from rig.trace.reduced import MARGIN_S, MEAN_HZ, may_be_thinned
from rig.trace.write_room import RESERVE_B
from rig.units import bytes_text, duration

#: Bytes of a sample of current or voltage, of eight samples of a digital line, and
#: the index of a trace (measured: 1.009 to 1.053).
_FLOAT_B = 4
_LEVELS_B = 1 / 8
_INDEX = 1.04
#: Names of metrics of times begin so, followed by a phase or "total".
_LATENCY = "latency_"
#: Bytes of the lines that a step leaves in completions.jsonl and samples.jsonl, and of
#: those in uart.log.
_STEP_B = 600
_WIRE_B = 400
#: results.json, report.html and the small files of a session.
_SESSION_B = 400_000
#: Number of payloads that are made to learn their mean length.
_PAYLOADS = 8
#: Slots of a device that does not state them in its settings.
_SLOTS = 64
#: A slow and a fast query (s). A scenario that makes its windows as long as they must
#: be takes as long with both, within this share, and then with any device.
_SLOW_S = 10e-3
_FAST_S = 1e-3
_EQUAL = 0.25


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Steps of one group in a trial: how many, and how long they take in all. `once`:
    interleaved trials have them together.
    """

    group: str
    kind: str
    count: int
    total: Duration
    once: bool = False

    @property
    def each(self) -> Duration:
        """Mean time of one of them."""
        return self.total.times(1 / self.count)


@dataclass(frozen=True, slots=True)
class RailRate:
    """The data rate of one rail: its sampling, None where only the instrument knows it,
    and bytes in each second; `spared_hz` of them are not written while a sample is
    loaded.
    """

    name: str
    sampling: Sampling | None
    byte_hz: float
    spared_hz: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The rows of a trial, how many trials, the rails, and the disk.

    The trials will be compared with `claim`. `interleaved`: whether the trials
    take turns, None where the scenario knows no such order. `virtual`: the times are
    those of a virtual clock. `step_b` are the bytes of a step in the text files of a
    trial. `free_b` is None where the disk is not known.
    """

    name: str
    task: str
    scenario: str
    trials: int
    rows: tuple[StepGroup, ...]
    rails: tuple[RailRate, ...]
    virtual: bool
    step_b: int
    free_b: int | None
    claim: Mapping[str, float] = field(default_factory=dict)
    interleaved: bool | None = None

    @property
    def steps(self) -> int:
        """Steps of a trial, with its two SYNC bursts."""
        return sum(row.count for row in self.rows)

    @property
    def trial(self) -> Duration:
        """Time of one trial."""
        return _total(row.total for row in self.rows)

    @property
    def session(self) -> Duration:
        """Time of all trials, without opening and evaluation."""
        return self.in_order(interleaved=bool(self.interleaved))

    def in_order(self, *, interleaved: bool) -> Duration:
        """Add up the time of all trials, one after the other or interleaved."""
        return _total(
            row.total.times(self._times(row, interleaved)) for row in self.rows
        )

    def _times(self, row: StepGroup, interleaved: bool) -> int:
        return 1 if interleaved and row.once else self.trials

    @property
    def unknown(self) -> tuple[StepGroup, ...]:
        """The rows with a limit only."""
        return tuple(row for row in self.rows if not row.each.expected)

    @property
    def certainty(self) -> str:
        """The word before a time: whether it is an estimate, or the least."""
        return "about" if self.trial.expected else "at least"

    @property
    def other_order(self) -> str:
        """The time of the trials in the other order, in words; empty where there is
        none.
        """
        if self.interleaved is None or self.trials == 1:
            return ""
        other_s = self.in_order(interleaved=not self.interleaved).known_s
        order = (
            "trial by trial"
            if self.interleaved
            else "interleaved, each sample loaded once"
        )
        return f"{order}: {self.certainty} {duration(other_s)}"

    @property
    def known_b(self) -> int:
        """Bytes of all trials where steps take the time that is known."""
        return self._bytes(at_most=False)

    @property
    def most_b(self) -> int:
        """Bytes of all trials where every step takes as long as it may."""
        return self._bytes(at_most=True)

    @property
    def room(self) -> bool:
        """Whether the disk has room for `known_b`, and for closing the session."""
        return self.free_b is None or self.known_b + RESERVE_B <= self.free_b

    @property
    def room_at_most(self) -> bool:
        """Whether the disk has room for `most_b`, and for closing the session."""
        return self.free_b is None or self.most_b + RESERVE_B <= self.free_b

    def _bytes(self, *, at_most: bool) -> int:
        byte_hz = sum(rail.byte_hz for rail in self.rails)
        spared_hz = sum(rail.spared_hz for rail in self.rails)
        session_b: float = self.trials * self.steps * self.step_b + _SESSION_B
        for row in self.rows:
            row_s = row.total.most_s if at_most else row.total.known_s
            row_b = byte_hz * row_s
            if row.kind == Load.kind:
                # Traces are thinned in loads only, and not near a mark.
                row_b -= spared_hz * max(row_s - 2 * MARGIN_S * row.count, 0.0)
            session_b += self._times(row, bool(self.interleaved)) * row_b
        return round(session_b)


def of_bench(
    path: Path | str,
    overrides: Sequence[str] = (),
    trials: int | None = None,
    root: Path | str = "sessions",
) -> Estimate:
    """Estimate a run of a bench file; no device is touched. Raises what open_plan does,
    and ConfigError where the program of the device is not there.
    """
    scenario, task, resolved = planning.open_plan(path, overrides)
    refuse_missing(resolved)
    return of_plan(
        scenario, task, resolved, trials or resolved.bench.trials, Path(root)
    )


def of_plan(
    scenario: Scenario,
    task: Task,
    resolved: Config,
    trials: int,
    root: Path,
    *,
    monitors: Mapping[str, MonitorInfo] | None = None,
) -> Estimate:
    """Estimate a plan by the settings of its parts, and by the infos of `monitors`
    where they are open.
    """
    sampled: dict[str, Sampling | None] = {}
    for rail, choice in resolved.monitors.items():
        if monitors is None:
            kind = plugins.find("monitor", choice.kind)
            sampled[rail] = kind.sampling(choice.settings)
        else:
            info = monitors[rail]
            sampled[rail] = Sampling(info.sample_hz, info.edge_hz, info.sync)
    pace = plugins.find("sut", resolved.sut.kind).pace(resolved.sut.settings)
    if not pace.phases_s:
        claimed_s = _claimed_s(resolved.claim, task)
        pace = dataclasses.replace(pace, phases_s=claimed_s)
    seed = planning.trial_seed(resolved.bench.seed, 1)
    rows = _timed(partial(_planned, scenario, task, seed), pace, _payload_b(task))
    return Estimate(
        name=resolved.bench.name,
        task=task.name,
        scenario=scenario.name,
        trials=trials,
        rows=rows,
        rails=tuple(_rail(name, each, resolved) for name, each in sampled.items()),
        virtual=pace.virtual,
        step_b=_STEP_B + _WIRE_B * pace.wired,
        free_b=free_bytes(root),
        claim=dict(resolved.claim),
        interleaved=scenario.interleaved,
    )


def refuse_no_room(estimate: Estimate, root: Path) -> None:
    """Raise StorageFull where the disk has no room for the known part of a plan."""
    if estimate.room:
        return
    raise StorageFull(
        f"the disk of {root} has no room for this session",
        evidence=(
            f"it needs about {bytes_text(estimate.known_b)},"
            f" {bytes_text(estimate.free_b or 0)} are free, of which"
            f" {bytes_text(RESERVE_B)} are kept to close it; {estimate.trials} trials"
        ),
        try_next=(
            "free some room, another disk for the session, fewer trials, or a lower"
            " sampling rate"
        ),
    )


def free_bytes(root: Path) -> int | None:
    """Find the free bytes on the disk of a folder that need not exist yet; None where
    they cannot be known.
    """
    folder = root.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    # A file system of the kernel's own has no size.
    return usage.free if usage.total else None


def _total(durations: Iterable[Duration]) -> Duration:
    return sum(durations, start=Duration(0.0, 0.0))


def _timed(
    planned: Callable[[Pace], list[Step]], pace: Pace, payload_b: float
) -> tuple[StepGroup, ...]:
    """Group the steps of a trial with their times at this pace."""

    def grouped(*phases_s: float) -> tuple[StepGroup, ...]:
        at_pace = dataclasses.replace(pace, phases_s=phases_s)
        return _rows(planned(at_pace), at_pace, payload_b)

    if not pace.phases_s:
        slow = grouped(_SLOW_S)
        slow_s = _queries_s(slow, pace.overhead_s)
        fast_s = _queries_s(grouped(_FAST_S), pace.overhead_s)
        if abs(slow_s - fast_s) <= _EQUAL * fast_s:
            return slow
    return grouped(*pace.phases_s)


def _queries_s(rows: Sequence[StepGroup], overhead_s: float) -> float:
    """Add up the time of the queries alone, without their overhead."""
    queries = [row for row in rows if row.kind == Query.kind]
    return sum(row.total.known_s - row.count * overhead_s for row in queries)


def _planned(scenario: Scenario, task: Task, seed: int, pace: Pace) -> list[Step]:
    """List the steps of a trial for a device of this pace, with its two SYNC bursts."""
    slots = pace.slots or _SLOTS
    device = SutInfo(
        "a device",
        "",
        simulated=False,
        tick_hz=FORESEEN_HZ,
        task="",
        slots=slots,
        batch_max=slots,
        solves=True,
        thresholds_max=16,
        streams=True,
        slot_bytes=1 << 30,
    )
    # A plan that no device suits is shown as it is set; the run refuses it.
    with suppress(ConfigError):
        scenario = scenario.fitted(device)
    plan = planning.steps(scenario, task, seed, partial(_foreseen, pace))
    return [Sync(), *plan, Sync()]


def _foreseen(pace: Pace, step: Step) -> Completion:
    """Predict the marks of a device of this pace, so that a plan that measures first
    how long a query takes goes on as it will.
    """
    return kinds.of(step).foreseen(step, pace) if pace.phases_s else Completion(())


def _rows(steps: Sequence[Step], pace: Pace, payload_b: float) -> tuple[StepGroup, ...]:
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(kinds.of(step).group(step), []).append(step)
    rows = []
    for group, of_group in groups.items():
        kind = kinds.of(of_group[0])
        row = StepGroup(
            group=group,
            kind=of_group[0].kind,
            count=len(of_group),
            total=_total(kind.duration(step, pace, payload_b) for step in of_group),
            once=kind.loads or not kind.planned,
        )
        rows.append(row)
    return tuple(rows)


def _payload_b(task: Task) -> float:
    """Compute the mean length of some payloads."""
    count = min(_PAYLOADS, len(task))
    if not count:
        return 0.0
    indices = [len(task) * number // count for number in range(count)]
    return sum(len(task.payload(index)) for index in indices) / count


def _rail(name: str, sampling: Sampling | None, resolved: Config) -> RailRate:
    """Compute the bytes a second that a rail writes, and spares in loads."""
    if sampling is None:
        return RailRate(name, None, 0.0)
    analog_b = 2 * _FLOAT_B * sampling.sample_hz
    line_b = 0.0
    if sampling.sync == "digital":
        line_b = sampling.edge_hz * _LEVELS_B
    elif sampling.sync == "voltage":
        line_b = sampling.sample_hz * _FLOAT_B
    spared_b = 0.0
    thinned = resolved.bench.between_windows == REDUCED_RATE
    if thinned and may_be_thinned(sampling.sync, sampling.sample_hz):
        spared_b = _INDEX * (analog_b - 3 * _FLOAT_B * MEAN_HZ)
    return RailRate(name, sampling, _INDEX * (analog_b + line_b), spared_b)


def _claimed_s(claim: Mapping[str, float], task: Task) -> tuple[float, ...]:
    """Take the claimed times of the phases, or that of the whole: the latency that is
    neither of a phase nor a percentile.
    """
    latencies = {
        name.removeprefix(_LATENCY): value
        for name, value in claim.items()
        if name.startswith(_LATENCY)
    }
    phases = tuple(latencies[phase] for phase in task.phases if phase in latencies)
    if len(phases) == len(task.phases):
        return phases
    for name, value in latencies.items():
        if name not in task.phases and "_" not in name:
            return (value,)
    return ()
