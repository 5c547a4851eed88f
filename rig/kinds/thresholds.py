# SPDX-License-Identifier: Apache-2.0
"""The marks of a search -> its end and its thresholds, in ticks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rig.model.completion import END, REACHED, Completion, Mark
from rig.model.steps import Solve

#: A search begins with the mark of a first phase: docs/reference/PROTOCOL.md section 4.
BEGIN = 0x01


def mark_fault(marks: Sequence[Mark], step: Solve) -> str:
    """Describe how the marks differ from those of a search (begin, thresholds in order,
    end); empty where they do not.
    """
    phases = [mark.phase for mark in marks]
    if len(phases) < 2 or phases[0] != BEGIN or phases[-1] != END:
        return (
            f"marks the phases {phases} where a search begins with {BEGIN} and ends"
            f" with {END}"
        )
    reached = [phase - REACHED for phase in phases[1:-1]]
    if reached != sorted(set(reached)) or any(
        not 0 <= number < len(step.thresholds) for number in reached
    ):
        return (
            f"marks the thresholds {reached}, of {len(step.thresholds)}, not one after"
            " the other"
        )
    return ""


def marked(marks: Sequence[Mark], step: Solve) -> list[int | None]:
    """Return for each threshold the tick of the mark at which it was reached, None
    where it never was.

    A mark of one threshold stands for those before it too, as several may be reached at
    once.
    """
    ticks = []
    inner = list(marks[1:-1])
    for number in range(len(step.thresholds)):
        while inner and inner[0].phase - REACHED < number:
            inner.pop(0)
        ticks.append(inner[0].tick if inner else None)
    return ticks


def known_fault(completion: Completion, step: Solve) -> str:
    """Describe how the ticks at which the device knew its thresholds contradict its
    marks; empty where they do not.

    A mark may come later than its event, as it may wait for the pulse before it; the
    marks must be valid (`mark_fault`).
    """
    if completion.known is None:
        return ""
    at = [tick for tick in marked(completion.marks, step) if tick is not None]
    if len(completion.known) != len(at):
        return (
            f"tells when it knew {len(completion.known)} thresholds and marks {len(at)}"
        )
    before = completion.marks[0].tick
    for number, (known, mark) in enumerate(zip(completion.known, at, strict=True)):
        if not before <= known <= mark:
            return (
                f"says that it knew threshold {number} at tick {known}, and marks it at"
                f" {mark}, what came before at {before}"
            )
        before = known
    return ""


def late_mark(
    completion: Completion, step: Solve, hold_ticks: float, slack_ticks: float
) -> str:
    """Describe a mark that came later than the pulse before it explains, by the
    device's own ticks; empty where there is none.

    A mark may wait until that pulse of `hold_ticks` is over and the line was high as
    long.
    """
    if (
        completion.known is None
        or mark_fault(completion.marks, step)
        or known_fault(completion, step)
    ):
        return ""
    ticks = marked(completion.marks, step)
    reached = (tick for tick in ticks if tick is not None)
    at = dict(zip(reached, completion.known, strict=True))
    for before, mark in pairwise(completion.marks[:-1]):
        known = at[mark.tick]
        late = mark.tick - max(known, before.tick + 2 * hold_ticks)
        if late > slack_ticks:
            by = f"{late:.0f} ticks later than it says that it knew it"
            return (
                f"marks threshold {mark.phase - REACHED} {by}, and no pulse was in"
                " the way"
            )
    return ""


def crossings(completion: Completion, step: Solve) -> list[tuple[int, int] | None]:
    """Return for each threshold the ticks of the begin and of its crossing: the
    device's own tick where it reports one, else the mark's.
    """
    begin = completion.marks[0].tick
    at = marked(completion.marks, step)
    if completion.known is not None and not known_fault(completion, step):
        at = [*completion.known, *at[len(completion.known) :]]
    return [None if tick is None else (begin, tick) for tick in at]
