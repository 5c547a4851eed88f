# SPDX-License-Identifier: Apache-2.0
"""Two sessions side by side: metrics with the difference and its uncertainty, and the
differences in how they were measured.

Two sessions on one instrument share its gain, its offset and its clock: most of these
cancel in a difference, if the instrument has not changed in between. As that was not
measured, both limits are stated: `apart` as if the two had no error in common, which is
wider, and `shared` as if the instrument had not changed at all. The true uncertainty
lies between them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rig.api.comparing.provenance_changes import ProvenanceChange, changes
from rig.api.sessions.session import Session
from rig.errors import DAMAGE, DataError, RigError, cause_of
from rig.results import changed
from rig.results.document import IntervalResult, MetricResult, Results
from rig.stats.coverage_factor import coverage_factor
from rig.store.provenance_file import Provenance
from rig.store.session_folder import CATALOGUE, SessionFolder
from rig.uncertainty.budget import Part
from rig.units import not_known

#: Components that are errors of the instrument itself, and stay while it does.
_OF_INSTRUMENT = (
    "current gain",
    "current offset",
    "voltage gain",
    "voltage offset",
    "clock",
    "edge delay",
)


class ComparisonOutcome(Enum):
    """Outcome of the comparison of one metric."""

    DIFFERS = "differs"
    IF_UNCHANGED = "differs if the instrument stayed the same"
    NOT_SHOWN = "no difference shown"
    EQUAL = "equal"
    UNKNOWN = "cannot be said"
    IN_ONE = "in one session only"


@dataclass(frozen=True, slots=True)
class MetricSpread:
    """The uncertainty of a difference: combined standard uncertainty and half-width at
    95 %."""

    standard_uncertainty: float
    expanded_uncertainty: float


@dataclass(frozen=True, slots=True)
class MetricPair:
    """A metric of two sessions; `difference` is the second less the first, in the
    metric's unit.

    `apart` and `shared` are None where an interval of the metric is not made of a
    standard uncertainty, as that of a percentile or a share: then two intervals that do
    not meet tell. `shared_parts` names the components that the two have in common.
    `reason` gives the basis of the outcome, or why there is none. `same_samples`:
    both measured the same samples, so that the intervals for these are compared, else
    those for other samples.
    """

    name: str
    unit: str
    first: MetricResult | None
    second: MetricResult | None
    same_samples: bool
    outcome: ComparisonOutcome
    reason: str
    difference: float | None = None
    relative: float | None = None
    apart: MetricSpread | None = None
    shared: MetricSpread | None = None
    shared_parts: tuple[str, ...] = ()

    def interval(self, row: MetricResult) -> IntervalResult:
        """Return the interval of one of the two that the comparison uses."""
        return row.same_samples if self.same_samples else row.other_samples

    @property
    def better(self) -> bool | None:
        """Whether the second session is the better one; None where that is not
        shown."""
        row = self.second or self.first
        if (
            self.outcome is not ComparisonOutcome.DIFFERS
            or self.difference is None
            or row is None
        ):
            return None
        if row.higher_is_better is None:
            return None
        return (self.difference > 0) == row.higher_is_better


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """Two sessions compared; `notes` stand before the numbers."""

    first: Session
    second: Session
    metrics: tuple[MetricPair, ...]
    changes: tuple[ProvenanceChange, ...]
    shared_rails: tuple[str, ...]
    notes: tuple[str, ...]
    same_samples: bool = True

    @property
    def question(self) -> str:
        """Return which intervals are compared."""
        return "for the same samples" if self.same_samples else "for other samples"


def compare(first: Session, second: Session) -> SessionComparison:
    """Compare two sessions; of one that crashed the finished trials count."""
    results, notes = _both_results(first, second)
    rails: tuple[str, ...] = ()
    pairs: tuple[MetricPair, ...] = ()
    same = True
    if results is not None:
        one, other = results
        rails = _shared_rails(one.provenance, other.provenance)
        same = _same_samples(first, second, one, other)
        notes = (*notes, *_notes(one, other, rails, same))
        pairs = tuple(_pairs(one, other, rails, same))
    changed = tuple(changes(first.path, second.path))
    return SessionComparison(
        first=first,
        second=second,
        metrics=pairs,
        changes=changed,
        shared_rails=rails,
        notes=notes,
        same_samples=same,
    )


def _both_results(
    first: Session, second: Session
) -> tuple[tuple[Results, Results] | None, tuple[str, ...]]:
    found: list[Results] = []
    notes: list[str] = []
    for session in (first, second):
        if session.status not in ("success", "unreadable"):
            notes.append(f"{session.path.name} did not finish ({session.status})")
        try:
            results = session.results
            found.append(results)
        except (RigError, OSError, *DAMAGE) as error:
            notes.append(f"{session.path.name} has no results: {cause_of(error)}")
            continue
        if session.changed:
            said = changed.reason(session.changed)
            notes.append(f"{session.path.name} was changed after its run: {said}")
        elif not session.valid:
            notes.append(
                f"{session.path.name} is not valid: its numbers are no results"
            )
    return ((found[0], found[1]) if len(found) == 2 else None), tuple(notes)


def _shared_rails(first: Provenance, second: Provenance) -> tuple[str, ...]:
    """Return the rails that one and the same instrument measured in both sessions: of
    one kind and with one serial number.
    """
    return tuple(
        rail
        for rail, one in first.monitors.items()
        if (other := second.monitors.get(rail)) is not None
        and one.serial
        and (one.kind, one.serial) == (other.kind, other.serial)
    )


def _same_samples(
    first: Session, second: Session, one: Results, other: Results
) -> bool:
    """Check whether both measured the same samples of the task, as far as the sessions
    tell."""
    if one.task != other.task:
        return False
    hashes = [_catalogue_hash(session) for session in (first, second)]
    if any(hashes):
        return hashes[0] == hashes[1]
    tasks = [results.provenance.stored.get("task") for results in (one, other)]
    return tasks[0] == tasks[1]


def _catalogue_hash(session: Session) -> str:
    try:
        events = SessionFolder(session.path).events()
    except (DataError, OSError):
        return ""
    return events[0].files.get(CATALOGUE, "") if events else ""


def _notes(
    one: Results, other: Results, rails: Sequence[str], same: bool
) -> Iterator[str]:
    for what in ("task", "scenario"):
        if getattr(one, what) != getattr(other, what):
            yield (
                f"the {what}s differ ({getattr(one, what)}, {getattr(other, what)}): a"
                " metric of one name is another thing"
            )
    if one.simulated != other.simulated:
        yield "one session is simulated, the other is not"
    if not same:
        yield (
            "the sessions measured different samples: intervals are those for other"
            " samples, so the choice of samples is part of the uncertainty of each"
            " difference"
        )
    measured = one.provenance.monitors
    names = [measured[rail].serial for rail in rails]
    if names:
        yield (
            f"both used the same instrument ({', '.join(names)}): its gain, offset and"
            " clock cancel in a difference as far as they have not changed"
        )
    elif measured and other.provenance.monitors:
        instruments = [*measured.values(), *other.provenance.monitors.values()]
        known = all(info.serial for info in instruments)
        yield (
            "the sessions used different instruments: nothing cancels in a difference"
            if known
            else "an instrument without a serial number: nothing is assumed to cancel"
        )


def _pairs(
    one: Results, other: Results, rails: Sequence[str], same: bool
) -> Iterator[MetricPair]:
    several = len(one.provenance.monitors) > 1 or len(other.provenance.monitors) > 1
    for name in dict.fromkeys((*one.metrics, *other.metrics)):
        yield pair(
            name,
            one.metrics.get(name),
            other.metrics.get(name),
            rails,
            several,
            same_samples=same,
        )


def pair(
    name: str,
    first: MetricResult | None,
    second: MetricResult | None,
    shared_rails: Sequence[str],
    several_rails: bool = False,
    *,
    same_samples: bool = True,
) -> MetricPair:
    """Compare one metric; rails that one instrument measured in both sessions share its
    errors."""

    row = first or second
    found = MetricPair(
        name=name,
        unit=row.unit if row is not None else "",
        first=first,
        second=second,
        same_samples=same_samples,
        outcome=ComparisonOutcome.IN_ONE,
        reason="only one session has this metric",
    )
    if first is None or second is None:
        return found
    if first.value is None or second.value is None or first.unit != second.unit:
        reason = "a value is missing, or the units differ"
        return replace(found, outcome=ComparisonOutcome.UNKNOWN, reason=reason)
    difference = second.value - first.value
    relative = difference / abs(first.value) if first.value else None
    found = replace(found, difference=difference, relative=relative)
    intervals = [found.interval(row) for row in (first, second)]
    if any(interval.standard_uncertainty is None for interval in intervals):
        outcome, reason = _by_intervals(intervals, difference)
        return replace(found, outcome=outcome, reason=reason)
    parts = _shared_parts(first, second, shared_rails, several_rails)
    apart, shared = _spreads(first, second, intervals, parts, by_parts=same_samples)
    outcome = ComparisonOutcome.NOT_SHOWN
    reason = "less than the uncertainty of the difference at 95 %"
    if abs(difference) > apart.expanded_uncertainty:
        outcome = ComparisonOutcome.DIFFERS
        reason = "more than the uncertainty of the difference at 95 %"
    elif parts and abs(difference) > shared.expanded_uncertainty:
        outcome = ComparisonOutcome.IF_UNCHANGED
        reason = "more than what the two sessions do not have in common"
    return replace(
        found,
        outcome=outcome,
        reason=reason,
        apart=apart,
        shared=shared,
        shared_parts=parts,
    )


def _by_intervals(
    intervals: Sequence[IntervalResult], difference: float
) -> tuple[ComparisonOutcome, str]:
    """Judge a metric whose intervals are not made of a standard uncertainty."""
    missing = [interval.reason for interval in intervals if interval.reason]
    if missing:
        return ComparisonOutcome.UNKNOWN, f"its interval is {not_known(missing[0])}"
    if difference == 0:
        return ComparisonOutcome.EQUAL, "the same value"
    low, high = (
        [-math.inf if interval.low is None else interval.low for interval in intervals],
        [
            math.inf if interval.high is None else interval.high
            for interval in intervals
        ],
    )
    if max(low) > min(high):
        return ComparisonOutcome.DIFFERS, "the 95 % intervals do not meet"
    return ComparisonOutcome.NOT_SHOWN, "the 95 % intervals meet"


def _shared_parts(
    first: MetricResult, second: MetricResult, rails: Sequence[str], several: bool
) -> tuple[str, ...]:
    """Return the components of both budgets that are the same error of the same
    instrument."""
    in_both = _counted(first).keys() & _counted(second).keys()
    return tuple(
        part.component
        for part in first.budget
        if part.component in in_both and _is_shared(part.component, rails, several)
    )


def _is_shared(component: str, rails: Sequence[str], several: bool) -> bool:
    rail, colon, rest = component.partition(": ")
    if not several:
        return bool(rails) and component.startswith(_OF_INSTRUMENT)
    return bool(colon) and rail in rails and rest.startswith(_OF_INSTRUMENT)


def _spreads(
    first: MetricResult,
    second: MetricResult,
    intervals: Sequence[IntervalResult],
    parts: Sequence[str],
    *,
    by_parts: bool,
) -> tuple[MetricSpread, MetricSpread]:
    """Return the uncertainty of the difference with no error in common, and with the
    errors of the named components in common.
    """
    sizes = [interval.standard_uncertainty or 0.0 for interval in intervals]
    of_first = _uncertainties(first)
    of_second = _uncertainties(second)
    apart_u = math.hypot(*sizes)
    common = math.fsum(2 * of_first[name] * of_second[name] for name in parts)
    shared_u = math.sqrt(max(apart_u**2 - common, 0.0))
    if not by_parts:
        # The choice of samples is no line of the budget: the larger factor covers both.
        factor = max(interval.coverage_factor or 2.0 for interval in intervals)
        return MetricSpread(apart_u, factor * apart_u), MetricSpread(
            shared_u, factor * shared_u
        )
    counted = _counted(first)
    every = [*counted.values(), *_counted(second).values()]
    all_parts = [(part.standard_uncertainty, part.shape) for part in every]
    left = [
        (abs(of_second[name] - of_first[name]), counted[name].shape) for name in parts
    ]
    left += [
        (part.standard_uncertainty, part.shape)
        for part in every
        if part.component not in parts
    ]
    return (
        MetricSpread(apart_u, coverage_factor(all_parts) * apart_u),
        MetricSpread(shared_u, coverage_factor(left) * shared_u),
    )


def _counted(row: MetricResult) -> dict[str, Part]:
    """Return the parts of a budget that count, by component."""
    return {part.component: part for part in row.budget if part.counted}


def _uncertainties(row: MetricResult) -> dict[str, float]:
    return {part.component: part.standard_uncertainty for part in row.budget}


def counts(pairs: Sequence[MetricPair]) -> Mapping[ComparisonOutcome, int]:
    """Return how many metrics have each outcome."""
    found = Counter(pair.outcome for pair in pairs)
    return {
        outcome: found[outcome] for outcome in ComparisonOutcome if outcome in found
    }
