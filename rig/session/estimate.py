# SPDX-License-Identifier: Apache-2.0
"""What a plan will take, before anything is opened: its steps, its time, and its room
on the disk.

Times are estimates where the settings determine them, and limits where only the device
knows; a `Duration` says which. A virtual device's times pass faster than real ones.
Nothing here looks at a device: rates and paces come from the settings of the parts
(`sampling`, `pace`), or, of an open bench, from what the parts say of themselves. What
no setting determines is expected as an earlier session of the same bench had it.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rig.bench import plugins
from rig.bench.config import REDUCED_RATE, Config
from rig.bench.examples import refuse_missing
from rig.errors import StorageFull
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.pace import Duration
from rig.model.steps import Load, Step
from rig.session import earlier, planning
from rig.session.planned_trial import Lengths, Row, planned_trial, sum_of
from rig.trace.reduced import MARGIN_S, MEAN_HZ, may_be_thinned
from rig.trace.write_room import RESERVE_B
from rig.units import bytes_text

#: Bytes of a sample of current or voltage, of eight samples of a digital line, and
#: what the index of a trace adds (measured: 1.009 to 1.053).
_FLOAT_B = 4
_LEVELS_B = 1 / 8
#: Metrics of times begin so; behind it stands of what.
_LATENCY = "latency_"
_INDEX = 1.04
#: Bytes of a line of uart.log, of which an answer leaves four, and of a load's frame.
_WIRE_LINE_B = 90
_FRAME_B = 4096
#: results.json, report.html and the small files of a session.
_SESSION_B = 400_000


@dataclass(frozen=True, slots=True)
class Rail:
    """What one rail will write: its sampling, None where only the instrument knows it,
    and bytes in each second; `spared_hz` of them are not written while a sample is
    loaded.
    """

    name: str
    sampling: Sampling | None
    byte_hz: float
    spared_hz: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What will happen: the rows of a trial, how many trials, the rails, and the disk.

    `claim` is what the trials will be compared with. `interleaved`: whether the trials
    take turns, None where the scenario knows no such order. `virtual`: the times are
    those of a virtual clock. `files_b` is what a trial writes beside its traces.
    `free_b` is None where the disk is not known.
    """

    name: str
    task: str
    scenario: str
    trials: int
    rows: tuple[Row, ...]
    rails: tuple[Rail, ...]
    virtual: bool
    files_b: float
    free_b: int | None
    claim: Mapping[str, float] = field(default_factory=dict)
    interleaved: bool | None = None

    @property
    def steps(self) -> int:
        """Return the steps of a trial, with its two SYNC bursts."""
        return sum(row.count for row in self.rows)

    @property
    def queries(self) -> int:
        """Return the steps of a trial that give a result, warm-up included."""
        return sum(row.count for row in self.rows if row.measured)

    @property
    def trial(self) -> Duration:
        """Return how long a trial takes; expected only where every step is."""
        return sum_of([row.total for row in self.rows])

    @property
    def known_s(self) -> float:
        """Return the seconds of a trial that are known: an estimate where every step's
        time is, else the least.
        """
        return sum(row.total.known_s for row in self.rows)

    @property
    def session(self) -> Duration:
        """Return how long all trials take, without opening and evaluation."""
        return self.in_order(interleaved=bool(self.interleaved))

    def in_order(self, *, interleaved: bool) -> Duration:
        """Return how long all trials take, one behind the other or interleaved."""
        return sum_of(
            [row.total.times(self._times(row, interleaved)) for row in self.rows]
        )

    def known_in_order_s(self, *, interleaved: bool) -> float:
        """Return the seconds of all trials that are known, in either order."""
        return sum(
            row.total.known_s * self._times(row, interleaved) for row in self.rows
        )

    @property
    def session_known_s(self) -> float:
        """Return the seconds of all trials that are known."""
        return self.known_in_order_s(interleaved=bool(self.interleaved))

    def _times(self, row: Row, interleaved: bool) -> int:
        return 1 if interleaved and row.once else self.trials

    @property
    def unknown(self) -> tuple[Row, ...]:
        """Return the rows of which only a limit is known."""
        return tuple(row for row in self.rows if row.each.expected_s is None)

    @property
    def known_b(self) -> int:
        """Return the bytes of what is known: an estimate where every step's time is,
        else the least.
        """
        return self._bytes(
            self.session_known_s, self._loading(lambda each: each.known_s)
        )

    @property
    def most_b(self) -> int:
        """Return the bytes where every step takes as long as it may."""
        return self._bytes(self.session.most_s, self._loading(lambda each: each.most_s))

    @property
    def room(self) -> bool:
        """Return whether the disk has room for what is known, and for closing it
        properly."""
        return self.free_b is None or self.known_b + RESERVE_B <= self.free_b

    @property
    def room_at_most(self) -> bool:
        """Return whether the disk has room even where every step takes as long as it
        may."""
        return self.free_b is None or self.most_b + RESERVE_B <= self.free_b

    def _loading(self, seconds: Callable[[Duration], float]) -> float:
        """Return the seconds of all loads that are not near a mark."""
        return sum(
            self._times(row, bool(self.interleaved))
            * max(seconds(row.total) - 2 * MARGIN_S * row.count, 0.0)
            for row in self.rows
            if row.kind == Load.kind
        )

    def _bytes(self, session_s: float, loading_s: float) -> int:
        traces_b = sum(rail.byte_hz for rail in self.rails) * session_s
        traces_b -= sum(rail.spared_hz for rail in self.rails) * loading_s
        return round(traces_b + self.trials * self.files_b) + _SESSION_B


def of_bench(
    path: Path | str,
    overrides: Sequence[str] = (),
    trials: int | None = None,
    root: Path | str = "sessions",
) -> Estimate:
    """Return what running a bench file will take; no device is touched. Raises what
    open_plan does, and ConfigError where the program of the device is not there.
    """
    scenario, task, resolved = planning.open_plan(path, overrides)
    refuse_missing(resolved)
    return of_plan(
        scenario, task, resolved, trials or resolved.bench.trials, Path(root)
    )


def of_plan(
    scenario: Scenario, task: Task, resolved: Config, trials: int, root: Path
) -> Estimate:
    """Return what a plan will take, by what the settings of its parts determine."""
    sampled = {
        rail: plugins.find("monitor", choice.kind).sampling(choice.settings)
        for rail, choice in resolved.monitors.items()
    }
    return _estimate(scenario, task, resolved, sampled, trials, root)


def of_open(
    scenario: Scenario,
    task: Task,
    resolved: Config,
    monitors: Mapping[str, MonitorInfo],
    trials: int,
    root: Path,
) -> Estimate:
    """Return what an open bench will take, by what its instruments say of
    themselves."""
    sampled: dict[str, Sampling | None] = {
        rail: Sampling(info.sample_hz, info.edge_hz, info.sync)
        for rail, info in monitors.items()
    }
    return _estimate(scenario, task, resolved, sampled, trials, root)


def refuse_no_room(estimate: Estimate, root: Path) -> None:
    """Raise StorageFull where the disk has no room for what is known of a plan."""
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
    """Return what is free on the disk of a folder that need not be there yet; None
    where that cannot be known.
    """
    place = root.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        usage = shutil.disk_usage(place)
    except OSError:
        return None
    # A file system of the kernel's own has no size.
    return usage.free if usage.total else None


def _estimate(
    scenario: Scenario,
    task: Task,
    resolved: Config,
    sampled: Mapping[str, Sampling | None],
    trials: int,
    root: Path,
) -> Estimate:
    kind = plugins.find("sut", resolved.sut.kind)
    pace = kind.pace(resolved.sut.settings)
    claimed_s = pace.phases_s or _claimed_s(resolved.claim, task)
    pace = dataclasses.replace(pace, phases_s=claimed_s)
    seed = planning.trial_seed(resolved.bench.seed, 1)
    lengths = Lengths(task)
    planned = planned_trial(scenario, task, seed, pace, lengths)
    unknown = any(row.each.expected_s is None for row in planned.rows)
    before = earlier.of_bench(root, resolved) if unknown else None
    files_b = sum(
        _files_b(step, lengths.of(step), pace.wired) for step in planned.steps
    )
    return Estimate(
        name=resolved.bench.name,
        task=task.name,
        scenario=scenario.name,
        trials=trials,
        rows=earlier.expected(planned.rows, before, pace.overhead_s),
        rails=tuple(
            Rail(name, each, _byte_hz(each), _spared_hz(each, resolved))
            for name, each in sampled.items()
        ),
        virtual=pace.virtual,
        files_b=files_b,
        free_b=free_bytes(root),
        claim=dict(resolved.claim),
        interleaved=scenario.interleaved,
    )


def _files_b(step: Step, payload_b: int, wired: bool) -> float:
    """Return what a step leaves in the text files of a trial."""
    kind = kinds.of(step)
    wire_b = 4 * _WIRE_LINE_B * wired
    if kind.loads:
        return wire_b * (1 + payload_b / _FRAME_B) / 2
    return kind.text_b(step) + wire_b * kind.answers(step)


def _byte_hz(sampling: Sampling | None) -> float:
    if sampling is None:
        return 0.0
    line_b = {
        "digital": sampling.edge_hz * _LEVELS_B,
        "voltage": sampling.sample_hz * _FLOAT_B,
    }.get(sampling.sync, 0.0)
    return _INDEX * (2 * _FLOAT_B * sampling.sample_hz + line_b)


def _spared_hz(sampling: Sampling | None, resolved: Config) -> float:
    """Return the bytes a second that a rail's trace spares while a sample is loaded."""
    thinned = resolved.bench.between_windows == REDUCED_RATE
    if (
        not thinned
        or sampling is None
        or not may_be_thinned(sampling.sync, sampling.sample_hz)
    ):
        return 0.0
    return _INDEX * (2 * _FLOAT_B * sampling.sample_hz - 3 * _FLOAT_B * MEAN_HZ)


def _claimed_s(claim: Mapping[str, float], task: Task) -> tuple[float, ...]:
    """Return the times of the phases that are claimed, or that of the whole: the
    latency that is neither of a phase nor a percentile.
    """
    latencies = {
        name.removeprefix(_LATENCY): value
        for name, value in claim.items()
        if name.startswith(_LATENCY)
    }
    phases = tuple(latencies[phase] for phase in task.phases if phase in latencies)
    if len(phases) == len(task.phases):
        return phases
    whole = [
        value
        for what, value in latencies.items()
        if what not in task.phases and "_" not in what
    ]
    return (whole[0],) if whole else ()
