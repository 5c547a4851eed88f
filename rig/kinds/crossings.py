# SPDX-License-Identifier: Apache-2.0
"""Crossings of a search's thresholds, also of those too early for the monitor or for
SYNC, with the bounds of their time and energy. Pure.

QUBO.md: "energy" is the average power since the start of the workload, times the
latency. A window too short for the monitor has the average power of the next one that
is long enough, and its energy lies between 0 and all of that window's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rig.kinds import thresholds
from rig.kinds.span import Ticks, Timed
from rig.model.completion import Completion
from rig.model.effects import Effect, Effects
from rig.model.steps import Solve
from rig.model.trial import Crossing, Window
from rig.stats.summary import NORMAL_95

#: A mark may be late by this share of its time, where the pulse before it held it up: 5
#: % are reported.
LATE_SHARE = 0.05


def crossings(
    completion: Completion,
    step: Solve,
    whole: Window,
    by_ticks: Mapping[Ticks, Window],
    timed: Timed,
) -> tuple[Crossing, ...]:
    """Compute a crossing for each threshold of a search, from its windows `by_ticks`
    and `whole`.

    A window shorter than `timed.shortest_s` has no energy; a mark that is less than
    `timed.wait_s` after another may have waited for its pulse.
    """
    limit_s = timed.shortest_s
    wait_s = timed.wait_s
    ticks = thresholds.crossings(completion, step)
    windows = [None if at is None else by_ticks[at] for at in ticks]
    if completion.known is not None and not thresholds.known_fault(completion, step):
        held_s = _held_s(completion, step, timed, wait_s)
        rows = zip(step.thresholds, windows, held_s, strict=True)
        listed = [
            _by_device(cost, window, limit_s, held) for cost, window, held in rows
        ]
    else:
        listed = _by_marks(step.thresholds, windows, limit_s, wait_s)
    return tuple(
        _bounded(one, listed[place:], whole) for place, one in enumerate(listed)
    )


def _by_device(
    cost: int, window: Window | None, limit_s: float, held_s: float
) -> Crossing:
    if window is None:
        return Crossing(cost, None)
    least_s = max(window.latency_s - held_s, 0.0)
    return Crossing(
        cost, window, _length_s(window) >= limit_s, True, least_s if held_s else None
    )


def _held_s(
    completion: Completion, step: Solve, timed: Timed, wait_s: float
) -> list[float]:
    """Bound for each threshold the delay of the search by earlier marks: they wait for
    SYNC, and the search waits with them.
    """
    assert completion.known is not None
    marks = thresholds.marked(completion.marks, step)
    known = [*completion.known, *[None] * (len(marks) - len(completion.known))]
    waits: dict[int, float] = {}
    held_s = []
    for mark, at in zip(marks, known, strict=True):
        held_s.append(sum(wait for before, wait in waits.items() if before != mark))
        if mark is not None and at is not None:
            waits[mark] = min(timed.timebase.interval_s(at, mark), wait_s)
    return held_s


def _by_marks(
    costs: Sequence[int],
    windows: Sequence[Window | None],
    limit_s: float,
    wait_s: float,
) -> list[Crossing]:
    before_s = 0.0
    listed = []
    for place, (cost, window) in enumerate(zip(costs, windows, strict=True)):
        if window is None:
            listed.append(Crossing(cost, None))
            continue
        length_s = _length_s(window)
        may_have_waited = length_s - before_s < wait_s
        late = may_have_waited and wait_s > LATE_SHARE * length_s
        listed.append(
            Crossing(
                cost,
                window,
                length_s >= limit_s and not late,
                least_s=before_s if may_have_waited else None,
            )
        )
        if place + 1 == len(windows) or windows[place + 1] is not window:
            before_s = length_s
    return listed


def _bounded(one: Crossing, following: Sequence[Crossing], whole: Window) -> Crossing:
    """Give a crossing that is not resolved the energy, and its bounds, of the next
    window that is.
    """
    if one.window is None or one.resolved:
        return one
    wider = next(
        (
            other.window
            for other in following
            if other.window is not None and other.resolved
        ),
        whole,
    )
    if wider.energy_j is None or not wider.latency_s:
        return replace(one, window=replace(one.window, energy_j=None))
    share = min(one.window.latency_s / wider.latency_s, 1.0)
    most_j = wider.energy_j + NORMAL_95 * (wider.energy_u_j or 0.0)
    window = replace(
        one.window,
        energy_j=share * wider.energy_j,
        effects=_effects(one.window, wider, share),
    )
    return replace(one, window=window, bounds_j=(0.0, most_j))


def _effects(short: Window, wider: Window, share: float) -> Effects:
    """Combine the uncertainty of one window's length with a share of another's
    energy.
    """
    mine = short.effects.of
    its = wider.effects.of
    effects = {}
    for name in {**mine, **its}:
        length = mine.get(name)
        energy = its.get(name)
        known = length or energy
        assert known is not None
        latency_s = length.latency_s if length else 0.0
        effects[name] = Effect(
            known.kind,
            latency_s,
            share * energy.energy_j if energy else 0.0,
            known.shape,
        )
    return Effects(effects)


def _length_s(window: Window) -> float:
    return window.stop_s - window.start_s
