# SPDX-License-Identifier: Apache-2.0
"""An estimate in words: what will happen, how long it takes, and whether there is room;
no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from rig.session.estimate import Estimate, RailRate, StepGroup
from rig.units import bytes_text, duration, quantity


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the summary: its subject, its text, and "", "warn" or "bad"."""

    head: str
    text: str
    state: str = ""


def each_text(row: StepGroup) -> str:
    """Return the time of one step of a row: an estimate, or a limit."""
    if row.each.expected_s is None:
        return f"up to {duration(row.each.most_s)}"
    return duration(row.each.expected_s)


def total_text(row: StepGroup) -> str:
    """Return the time of all steps of a row."""
    if row.each.expected_s is None:
        return f"up to {duration(row.total.most_s)}"
    return duration(row.total.expected_s)


def basis(row: StepGroup) -> str:
    """Return the source of a row's time: an estimate or a limit."""
    return "limit" if row.each.expected_s is None else "estimate"


def summary(estimate: Estimate) -> list[PlanLine]:
    """Return what will happen, line by line."""
    clock = " of virtual time" if estimate.virtual else ""
    trials = "1 trial" if estimate.trials == 1 else f"{estimate.trials} trials"
    each_trial = f"{duration(estimate.trial.known_s)} a trial"
    if estimate.interleaved:
        each_trial = "trials interleaved"
    lines = [
        PlanLine(
            "What",
            f"{estimate.task}, {estimate.scenario}: {trials} of {estimate.steps} steps",
        ),
        PlanLine(
            "Time",
            f"{estimate.certainty} {duration(estimate.session.known_s)}{clock},"
            f" {each_trial};"
            f" {duration(estimate.session.most_s)} if every limit is reached",
        ),
    ]
    if other_order := estimate.other_order:
        lines.append(PlanLine("", other_order))
    if estimate.virtual:
        lines.append(
            PlanLine(
                "", "virtual time passes faster than the clock on the wall: SIMULATED"
            )
        )
    if estimate.unknown:
        lines.append(
            PlanLine(
                "",
                "of some steps only a limit is known: what a query takes, only the"
                " device knows; a claimed latency is taken for it",
            )
        )
    lines += [
        PlanLine("Rail" if not rail.name else rail.name, _rail(rail))
        for rail in estimate.rails
    ]
    if not estimate.rails:
        lines.append(PlanLine("Rail", "no monitor: no energy is measured", "warn"))
    if estimate.claim:
        claimed = ", ".join(
            f"{name} = {value:g}" for name, value in estimate.claim.items()
        )
        lines.append(PlanLine("Claim", f"{claimed} (SI units)"))
    lines.append(_disk(estimate))
    return lines


def _rail(rail: RailRate) -> str:
    if rail.sampling is None:
        return "only the instrument knows its rate: its files are not in the estimate"
    return (
        f"{quantity(rail.sampling.sample_hz, 'Hz')}, {bytes_text(rail.byte_hz)} a"
        " second on disk"
    )


def _disk(estimate: Estimate) -> PlanLine:
    needed = f"about {bytes_text(estimate.known_b)}"
    if estimate.rails and not estimate.trial.expected:
        needed = f"{bytes_text(estimate.known_b)} to {bytes_text(estimate.most_b)}"
    if estimate.free_b is None:
        return PlanLine("Disk", f"{needed}; what is free is not known", "warn")
    free = f"{needed}; {bytes_text(estimate.free_b)} are free"
    if not estimate.room:
        return PlanLine(
            "Disk",
            f"{free}: NO ROOM. Free some, choose another folder, or fewer trials",
            "bad",
        )
    if not estimate.room_at_most:
        return PlanLine("Disk", f"{free}: too little if every limit is reached", "warn")
    return PlanLine("Disk", free)
