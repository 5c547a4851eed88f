# SPDX-License-Identifier: Apache-2.0
"""The steps of a plan as a device of a known pace would bring them about, in groups of
about the same duration; with no device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rig.errors import ConfigError
from rig.interfaces.scenario import Scenario
from rig.interfaces.sut import SutInfo
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.kinds.kind import FORESEEN_HZ
from rig.model.completion import Completion
from rig.model.pace import Duration, Pace
from rig.model.steps import Query, Step, Sync
from rig.session import planning

#: Payloads are made to learn their length, but not all of thousands.
_LOOKED_AT = 8
#: Of a device that nobody has asked yet.
_SLOTS = 64
#: A slow and a fast query; plans that last as long with both, within this share, do so
#: with any.
_SOME_S = (10e-3, 1e-3)
_ALIKE = 0.25


@dataclass(frozen=True, slots=True)
class Row:
    """Steps of one group in a trial: how many, how long each takes, and whether they
    are what is counted. `basis` says on what an expectation rests, empty where that is
    the settings. `once`: interleaved trials have them together.
    """

    group: str
    kind: str
    count: int
    each: Duration
    measured: bool
    basis: str = ""
    once: bool = False

    @property
    def total(self) -> Duration:
        """Return all of them, one behind the other."""
        return self.each.times(self.count)


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """The steps of a trial, with its two SYNC bursts, and their groups."""

    steps: tuple[Step, ...]
    rows: tuple[Row, ...]


def planned_trial(
    scenario: Scenario, task: Task, seed: int, pace: Pace, lengths: Lengths
) -> PlannedTrial:
    """Return the steps of a trial with the time that they take at this pace.

    Where the pace of a query is not known, but a slow and a fast device take about as
    long for all of them, as in a scenario that makes its windows as long as they must
    be, that time is taken.
    """
    planned = _planned(scenario, task, seed, pace, lengths)
    if pace.phases_s:
        return planned
    slow, fast = (
        _planned(
            scenario, task, seed, dataclasses.replace(pace, phases_s=(some_s,)), lengths
        )
        for some_s in _SOME_S
    )
    slow_s, fast_s = (_of_queries(each, pace.overhead_s) for each in (slow, fast))
    return slow if abs(slow_s - fast_s) <= _ALIKE * fast_s else planned


def _of_queries(planned: PlannedTrial, overhead_s: float) -> float:
    """Return the time of the queries alone, without what comes on top of each."""
    queries = [row for row in planned.rows if row.kind == Query.kind]
    return sum(row.total.known_s - row.count * overhead_s for row in queries)


def _planned(
    scenario: Scenario, task: Task, seed: int, pace: Pace, lengths: Lengths
) -> PlannedTrial:
    plan = planning.steps(_fitted(scenario, pace), task, seed, partial(_imagined, pace))
    steps = (Sync(), *plan, Sync())
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(kinds.of(step).group(step), []).append(step)
    return PlannedTrial(
        steps, tuple(_row(name, group, pace, lengths) for name, group in groups.items())
    )


class Lengths:
    """Lengths of payloads, of which only the first few are made: those of a task are
    alike."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._known: dict[int, int] = {}

    def of(self, step: Step) -> int:
        """Return the bytes of one sample that a step names, 0 where it names none."""
        sample_b = kinds.of(step).sample_b(self._task, step)
        if sample_b is not None:
            return sample_b
        if not step.samples_named:
            return 0
        index = step.samples_named[0]
        if index not in self._known and len(self._known) < _LOOKED_AT:
            self._known[index] = len(self._task.payload(index))
        fallback_b = sum(self._known.values()) / len(self._known)
        return self._known.get(index, round(fallback_b))


def _row(group: str, steps: Sequence[Step], pace: Pace, lengths: Lengths) -> Row:
    kind = kinds.of(steps[0])
    each = sum_of([kind.duration(step, pace, lengths.of(step)) for step in steps])
    count = len(steps)
    mean = Duration(
        each.least_s / count,
        None if each.expected_s is None else each.expected_s / count,
        each.most_s / count,
    )
    once = kind.loads or not kind.planned
    return Row(group, steps[0].kind, count, mean, kind.measured, once=once)


def sum_of(durations: Sequence[Duration]) -> Duration:
    expected = [each.expected_s for each in durations]
    known = [seconds for seconds in expected if seconds is not None]
    return Duration(
        sum(each.least_s for each in durations),
        sum(known) if len(known) == len(expected) else None,
        sum(each.most_s for each in durations),
    )


def _imagined(pace: Pace, step: Step) -> Completion:
    """Return marks as a device of this pace would give, so that a plan that measures
    first how long a query takes goes on as it will.
    """
    return kinds.of(step).foreseen(step, pace) if pace.phases_s else Completion(())


def _fitted(scenario: Scenario, pace: Pace) -> Scenario:
    """Return the scenario for a device that can do what there is, with as much memory
    as is known.
    """
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
    try:
        return scenario.fitted(device)
    except ConfigError:
        return scenario
