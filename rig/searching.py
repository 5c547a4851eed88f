# SPDX-License-Identifier: Apache-2.0
"""The marks of a search -> when it ended and when it knew each threshold, in ticks; what was wrong with its answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rig.plan import Score, Solve, Step
from rig.sut import END, REACHED, Mark
from rig.trial import Problem

#: A search begins with the mark of a first phase: docs/PROTOCOL.md section 4.
BEGIN = 0x01


def mark_fault(marks: Sequence[Mark], step: Solve) -> str:
    """Say in which way the marks are not those of a search (begin, thresholds one after the other, end); empty when they are."""
    phases = [mark.phase for mark in marks]
    if len(phases) < 2 or phases[0] != BEGIN or phases[-1] != END:
        return f"marks the phases {phases} where a search begins with {BEGIN} and ends with {END}"
    reached = [phase - REACHED for phase in phases[1:-1]]
    if reached != sorted(set(reached)) or any(not 0 <= number < len(step.thresholds) for number in reached):
        return f"marks the thresholds {reached}, of {len(step.thresholds)}, not one after the other"
    return ""


def crossings(marks: Sequence[Mark], step: Solve) -> list[tuple[int, int] | None]:
    """Return for each threshold the ticks of the begin and of the mark that told that it is reached, None where it never was.

    A mark of one threshold tells those before it too, as several may be reached at once.
    """
    begin, found, told = marks[0].tick, [], list(marks[1:-1])
    for number in range(len(step.thresholds)):
        while told and told[0].phase - REACHED < number:
            told.pop(0)
        found.append((begin, told[0].tick) if told else None)
    return found


def problems(number: int, step: Step | None, marks: Sequence[Mark], score: Score | None) -> list[Problem]:
    """Return what is wrong with the answer of a search: no vector of the workload, or a cost other than claimed or marked."""
    if not isinstance(step, Solve) or score is None:
        return []
    costs, said = score.costs, f"step {number}, workload {step.index}"
    if score.fault or costs is None:
        return [Problem("cost", f"{said}: {score.fault or 'no cost'}")]
    if costs.claimed != costs.cost:
        return [Problem("cost", f"{said}: the device claims {costs.claimed}, its vector costs {costs.cost}")]
    if mark_fault(marks, step):
        return []
    marked = [cost for cost, at in zip(step.thresholds, crossings(marks, step), strict=True) if at is not None]
    if marked and costs.cost > marked[-1]:
        return [Problem("cost", f"{said}: the device marks {marked[-1]} as reached, its vector costs {costs.cost}")]
    return []
