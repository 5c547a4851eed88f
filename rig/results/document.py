# SPDX-License-Identifier: Apache-2.0
"""The content of results.json as frozen dataclasses, and its text.

A field is a key of the file, in the file's order; docs/reference/RESULTS.md has their
meanings. Numbers that do not exist are None here and null in the file.

To add a field: `name: float | None = typed.since(N, None)` with the next schema N, and
SCHEMA raised to it. A session of an older schema is read with the default, and `rig
check` compares it in its own form, without the key (rig/files/typed.py has the other
ways in which forms differ).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import DataError
from rig.files import typed
from rig.model.comparison import Compared
from rig.model.grid import Coverage
from rig.model.metric import Deviation, Prominence, Repeatability, Statistic
from rig.model.trial import Counts
from rig.problems import Problem
from rig.results import labels, replication
from rig.results.labels import DataStatement, Label
from rig.results.origins import SessionOrigins
from rig.results.resolution import Resolution
from rig.results.verdict import DrawnVerdict, MetricVerdict, Outcome
from rig.store import session_folder
from rig.store.provenance_file import Provenance
from rig.timebase.timebase import Timebase
from rig.uncertainty.budget import Part
from rig.units import quantity

#: The schema that is written.
SCHEMA = 7
#: Those that are read.
READ = (3, 4, 5, 6, 7)
_SCHEMA = re.compile(r"neurorig-results-([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """Counts of the timed samples of each trial, and the files that have them."""

    per_trial: tuple[int, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BetweenWindows:
    """The means of current and voltage that traces keep while a sample is loaded: over
    `mean_s` each; `margin_s` around each mark are whole.
    """

    mean_s: float
    margin_s: float

    @property
    def sentence(self) -> str:
        """Its meaning for a reader of the results."""
        return (
            "While a sample is loaded, traces keep means of"
            f" {quantity(self.mean_s, 's')} in place of samples;"
            f" {quantity(self.margin_s, 's')} on each side of a mark are whole, and no"
            " number here is computed from means."
        )


@dataclass(frozen=True, slots=True)
class RailResult:
    """The time base of one of several monitors; its clock ran by `skew_ppm` faster than
    the first one's.
    """

    timebase: Timebase
    skew_ppm: float | None
    skew_u_ppm: float | None = None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial; `lines` state it in the words of its benchmark, and it has `segments`
    where it was cut off and resumed.
    """

    number: int
    seed: int
    valid: bool
    samples: int
    retransmissions: int
    counts: Counts
    timebase: Timebase | None
    rails: dict[str, RailResult]
    problems: tuple[Problem, ...]
    lines: tuple[str, ...] = typed.optional(())
    segments: int = typed.renamed(4, "sittings", 1)


@dataclass(frozen=True, slots=True)
class IntervalResult:
    """A 95 % interval of a metric, in its unit; an end is None where the data give
    none."""

    low: float | None
    high: float | None
    method: str
    units: str
    reason: str
    standard_uncertainty: float | None
    coverage_factor: float | None
    expanded_uncertainty: float | None
    degrees_of_freedom: float | None = typed.since(6, None)

    @property
    def half_width(self) -> float | None:
        """Half the distance of the ends, None where one is missing."""
        return (
            None
            if self.low is None or self.high is None
            else (self.high - self.low) / 2
        )


@dataclass(frozen=True, slots=True)
class BinomialInterval:
    """The interval of a share as if its `n` samples were independent."""

    low: float
    high: float
    method: str
    n: int


@dataclass(frozen=True, slots=True)
class TrialValue:
    """A metric in one trial."""

    trial: int
    value: float | None
    standard_error: float | None
    standard_uncertainty: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult:
    """A metric over all trials, with the properties that its scenario states
    (rig/model/metric.py).
    """

    value: float | None
    unit: str
    higher_is_better: bool | None
    statistic: Statistic = typed.since(4, Statistic.MEAN)
    prominence: Prominence = typed.since(4, Prominence.MAIN)
    repeatability: Repeatability = typed.since(4, Repeatability.REPEATED)
    deviation: Deviation = typed.since(4, Deviation.RELATIVE)
    budget_shown: bool = typed.since(4, False)
    standard_error_over_samples: float | None
    same_samples: IntervalResult
    other_samples: IntervalResult
    binomial: BinomialInterval | None = typed.optional()
    budget: tuple[Part, ...]
    per_trial: tuple[TrialValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictResult:
    """The outcome of a rule: its name, its text, and the verdict of each metric.

    `scope` is its subject in words; `drawn` are the metrics that a statistical test
    compared, `not_tested` those that the rule is not about, each with the reason.
    `interleaved` is there where the trials took turns, and explains it.
    """

    ok: bool
    outcome: Outcome | None = typed.since(6, None)
    rule: str
    rule_text: str
    reason: str
    scope: str = typed.since(6, "")
    trials: int
    per_metric: dict[str, MetricVerdict]
    drawn: dict[str, DrawnVerdict] = typed.since(6, factory=dict)
    not_tested: dict[str, str] = typed.since(6, factory=dict)
    policy: str | None = typed.optional()
    interleaved: str | None = typed.optional()

    @property
    def judged(self) -> Outcome:
        """The outcome, also of a schema that had two of them only."""
        if self.outcome is not None:
            return self.outcome
        return replication.outcome_of(self.ok, self.rule, self.trials)

    @property
    def sentence(self) -> str:
        """Outcome, scope and reason: "PASS for 18 powers; 188 metrics not tested"."""
        about = f" for {self.scope}" if self.scope else ""
        reason = f": {self.reason}" if self.reason else ""
        if self.judged is Outcome.PASS:
            return f"PASS{about}{reason}"
        return f"{self.judged.upper()}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All of results.json except its schema."""

    bench: str
    task: str
    scenario: str
    sut: str
    monitor: str
    simulated: bool
    origins: SessionOrigins | None = typed.since(5, None)
    data: DataStatement
    samples: SampleCounts
    trials: tuple[TrialResult, ...]
    metrics: dict[str, MetricResult]
    absent: dict[str, str]
    replication: VerdictResult
    resolution: tuple[Resolution, ...]
    problems: tuple[Problem, ...]
    provenance: Provenance
    between_windows: BetweenWindows | None = typed.optional()
    coverage: Coverage | None = typed.optional()
    targets: tuple[Compared, ...] | None = typed.optional()
    audit: VerdictResult | None = typed.optional()

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of every number."""
        return labels.of_session(self.simulated, self.provenance.stored, self.data)

    @property
    def verdicts(self) -> dict[str, VerdictResult]:
        """The verdicts by the names of their rules."""
        both = {"replication": self.replication, "audit": self.audit}
        return {name: one for name, one in both.items() if one is not None}

    @property
    def ok(self) -> bool:
        """Whether the verdict is PASS and every trial valid."""
        return self.outcome is Outcome.PASS

    @property
    def outcome(self) -> Outcome:
        """The outcome of the session: invalid where a trial is."""
        if not all(trial.valid for trial in self.trials):
            return Outcome.INVALID
        return self.replication.judged


def to_json(results: Results, schema: int = SCHEMA) -> dict[str, Any]:
    """Convert results to the JSON tree of results.json."""
    return {"schema": f"neurorig-results-{schema}", **typed.to_json(results, schema)}


def from_json(tree: Any, place: str = session_folder.RESULTS) -> Results:
    """Convert a JSON tree of any schema that is read to results; raise DataError."""
    number = schema_of(tree)
    if number not in READ:
        told = tree.get("schema") if isinstance(tree, dict) else tree
        raise DataError(
            f"{place} is none of"
            f" {', '.join(f'neurorig-results-{known}' for known in READ)}",
            evidence=f"schema {told!r:.60}",
        )
    fields = {key: value for key, value in tree.items() if key != "schema"}
    return typed.from_json(Results, fields, place, number)


def schema_of(tree: Any) -> int:
    """Parse the number of the schema of a JSON tree; 0 where it has none."""
    found = (
        _SCHEMA.fullmatch(str(tree.get("schema"))) if isinstance(tree, dict) else None
    )
    return int(found[1]) if found else 0


def read(path: Path) -> Results:
    """Read a results.json; raise DataError."""
    return from_json(session_folder.read_json(path), str(path))


def text(results: Results, schema: int = SCHEMA) -> str:
    """Write the text of results.json: the same results always give the same bytes."""
    return session_folder.json_text(to_json(results, schema))


def finite(results: Results) -> Results:
    """Replace numbers that are not finite by None, as a reader of the file has them."""
    return typed.from_json(Results, typed.to_json(results), session_folder.RESULTS)
