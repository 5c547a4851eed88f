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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rig.api.comparing.comparable import obstacle
from rig.api.comparing.metric_pairs import MetricPair, pair
from rig.api.comparing.provenance_changes import ProvenanceChange, changes
from rig.api.sessions.session import Session
from rig.errors import DAMAGE, DataError, RigError, cause_of
from rig.results import changed
from rig.results.document import Results
from rig.store.provenance_file import Provenance
from rig.store.session_folder import CATALOGUE, SessionFolder


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """Two sessions compared; `notes` stand before the numbers. `comparisons`: the first
    is compared with so many sessions, and the 95 % hold for all of them together.
    """

    first: Session
    second: Session
    metrics: tuple[MetricPair, ...]
    changes: tuple[ProvenanceChange, ...]
    shared_rails: tuple[str, ...]
    notes: tuple[str, ...]
    same_samples: bool = True
    comparisons: int = 1

    @property
    def question(self) -> str:
        """Return which intervals are compared."""
        return "for the same samples" if self.same_samples else "for other samples"


def compare(first: Session, second: Session, comparisons: int = 1) -> SessionComparison:
    """Compare two sessions; of one that crashed the finished trials count. It is one of
    so many `comparisons` with the first, and its intervals are wider accordingly.
    """
    results, notes = _both_results(first, second)
    rails: tuple[str, ...] = ()
    pairs: tuple[MetricPair, ...] = ()
    same = True
    if results is not None:
        one, other = results
        rails = _shared_rails(one.provenance, other.provenance)
        same = _same_samples(first, second, one, other)
        notes = (*notes, *_notes(one, other, rails, same))
        pairs = tuple(_pairs(one, other, rails, same, comparisons))
    changed = tuple(changes(first.path, second.path))
    return SessionComparison(
        first=first,
        second=second,
        metrics=pairs,
        changes=changed,
        shared_rails=rails,
        notes=notes,
        same_samples=same,
        comparisons=comparisons,
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
    shared = []
    for rail, one in first.monitors.items():
        other = second.monitors.get(rail)
        if other is None or not one.serial:
            continue
        if (one.kind, one.serial) == (other.kind, other.serial):
            shared.append(rail)
    return tuple(shared)


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
    one: Results,
    other: Results,
    rails: Sequence[str],
    same: bool,
    comparisons: int,
) -> Iterator[MetricPair]:
    several = len(one.provenance.monitors) > 1 or len(other.provenance.monitors) > 1
    for name in dict.fromkeys((*one.metrics, *other.metrics)):
        first, second = one.metrics.get(name), other.metrics.get(name)
        why_not = obstacle(one, other, first.unit) if first is not None else ""
        yield pair(
            name,
            first,
            second,
            rails,
            several,
            same_samples=same,
            comparisons=comparisons,
            why_not=why_not,
        )
