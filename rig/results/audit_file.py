# SPDX-License-Identifier: Apache-2.0
"""The content of audit.json as frozen dataclasses: claimed sessions, computed again and
measured again by an auditor. docs/how-to/AUDIT.md has the meaning of each field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from rig.results import schema_file
from rig.results.verdict import Outcome

SCHEMA = "neurorig-audit-1"
AUDIT = "audit.json"


class AuditOutcome(StrEnum):
    """The verdict of an audit on a claimed metric."""

    CONFIRMED = "confirmed"
    #: The claim is not met: the auditor's value replaces it.
    AUDITOR = "auditor's value"
    #: The rule could not be applied; the reason says what lacks.
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class AuditValue:
    """A value with its standard uncertainty, the expanded one, and the ends of its 95 %
    interval; null where there is none.
    """

    value: float | None
    standard_uncertainty: float | None
    expanded_uncertainty: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMetric:
    """A claimed metric as it was claimed, computed again from the claim's own raw data
    (`replayed`), and measured again (`audited`).

    `deviation` and `limit` are relative; a positive deviation is worse than claimed,
    or, of a metric without a direction, more.
    `replacement` is the best value that a new result may state in place of the
    auditor's.
    """

    unit: str
    higher_is_better: bool | None
    claimed: AuditValue
    replayed: AuditValue | None
    audited: AuditValue | None
    deviation: float | None
    limit: float | None
    verdict: AuditOutcome
    reason: str
    replacement: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedSession:
    """A claimed session and the auditor's own one.

    `chain` is the head of the claimed session's chain, `audit_chain` that of the
    auditor's session in the folder `session`, empty without a measurement.
    `difference` names the first step of the claim that is not found again, `lacking`
    the data without which it could not be computed again, `unlike` how the auditor's
    session is of something else than the claim.
    """

    name: str
    chain: str
    labels: tuple[str, ...]
    difference: str
    lacking: str
    unlike: tuple[str, ...]
    session: str
    audit_chain: str
    audit_labels: tuple[str, ...]
    trials: int
    metrics: dict[str, AuditedMetric]

    @property
    def outcome(self) -> Outcome:
        """FAIL where the claim is not found again or a value is replaced, NOT TESTED
        where something lacks.
        """
        verdicts = {metric.verdict for metric in self.metrics.values()}
        if self.difference or AuditOutcome.AUDITOR in verdicts:
            return Outcome.FAIL
        if verdicts == {AuditOutcome.CONFIRMED}:
            return Outcome.PASS
        return Outcome.NOT_TESTED


@dataclass(frozen=True, slots=True)
class Audit:
    """All of audit.json except its schema: the rule that was applied, the rig's own
    policy where the rule is silent, and the sessions.
    """

    rule: str
    policy: str
    sessions: tuple[AuditedSession, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of a session."""
        outcomes = {session.outcome for session in self.sessions}
        for worst in (Outcome.FAIL, Outcome.NOT_TESTED):
            if worst in outcomes:
                return worst
        return Outcome.PASS

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all numbers, each once."""
        both = [(*each.labels, *each.audit_labels) for each in self.sessions]
        return tuple(dict.fromkeys(chain.from_iterable(both)))


def to_json(audit: Audit) -> dict[str, Any]:
    """Convert an audit to the JSON tree of audit.json."""
    return schema_file.to_json(SCHEMA, audit)


def text(audit: Audit) -> str:
    """Write the text of audit.json."""
    return schema_file.text(SCHEMA, audit)


def read(folder: Path) -> Audit:
    """Read the audit.json of a folder; raise DataError."""
    again = "rig audit FOLDER --bench BENCH makes one"
    return schema_file.read(folder / AUDIT, Audit, SCHEMA, again)
