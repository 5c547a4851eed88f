# SPDX-License-Identifier: Apache-2.0
"""An estimate in words: what will happen, how long it takes, and whether there is room;
no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from rig.session.estimate import Estimate, RailRate, StepGroup
from rig.units import bytes_text, duration, plural, quantity


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the summary: its subject, its text, and "", "warn" or "bad"."""

    head: str
    text: str
    state: str = ""


def known_text(row: StepGroup) -> str:
    """Return the time of all steps of a row in a trial, as far as it is known."""
    if not row.known_s:
        return "unknown"
    known = duration(row.known_s)
    return f"about {known}" if row.is_whole else f"at least {known}"


def summary(estimate: Estimate) -> list[PlanLine]:
    """Return what will happen, line by line."""
    trials = plural(estimate.trials, "trial")
    steps = plural(estimate.steps, "step")
    lines = [
        PlanLine(
            "What",
            f"{estimate.task}, {estimate.scenario}: {trials} of {steps}",
        ),
        PlanLine("Time", estimate.time_text),
    ]
    if estimate.virtual:
        lines.append(
            PlanLine(
                "", "virtual time passes faster than the clock on the wall: SIMULATED"
            )
        )
    if estimate.unknown:
        lines.append(PlanLine("", estimate.unknown_text))
    lines += [PlanLine(rail.name or "Rail", _rail(rail)) for rail in estimate.rails]
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
    if not estimate.room:
        free = "NO ROOM. Free some, choose another folder, or fewer trials"
        return PlanLine("Disk", f"{estimate.disk_text}: {free}", "bad")
    state = "warn" if estimate.free_b is None else ""
    return PlanLine("Disk", estimate.disk_text, state)
