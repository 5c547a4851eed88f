# SPDX-License-Identifier: Apache-2.0
"""Claims, metric = value: refused before a run where no trial could meet them, and
tested on a finished session.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, DataError, did_you_mean
from rig.files import small_text, typed
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.declaration import DeclaredMetric
from rig.model.metric import Metric, Prominence, Statistic
from rig.model.steps import Step
from rig.model.trial import Trial
from rig.results import document, judging, labels
from rig.results.document import MetricResult, Results
from rig.results.judging import ClaimedMetric
from rig.stats.claimed_value import Spread
from rig.store import verified
from rig.store.session_folder import EVENTS, RESULTS, SessionFolder

#: Units of metrics that need an energy monitor.
_OF_ENERGY = ("J", "W")
#: Units of metrics that are never below 0, but for differences: dynamic powers and
#: energies can be.
_NEVER_NEGATIVE = ("s", "1/s", "s/s", *_OF_ENERGY)
#: So many names are shown in a hint.
_TOLD = 12


@dataclass(frozen=True, slots=True)
class Claim:
    """Claimed metrics; of a published result also its task, its scenario, the facts
    that identify its samples, and the labels of its data.
    """

    metrics: dict[str, ClaimedMetric]
    task: str = ""
    scenario: str = ""
    labels: tuple[str, ...] = ()
    samples: Mapping[str, Any] | None = None

    @property
    def values(self) -> dict[str, float]:
        """The claimed values by metric."""
        return {name: one.value for name, one in self.metrics.items()}

    def is_of_samples(self, task: Mapping[str, Any]) -> bool:
        """Check whether the claim is of the samples of a task; True where it does not
        state them.
        """
        return self.samples is None or self.samples == _samples(task)


def of_values(values: Mapping[str, float]) -> dict[str, ClaimedMetric]:
    """Make claimed metrics whose values alone are stated, as in a bench file."""
    return {name: ClaimedMetric(value=value) for name, value in values.items()}


def read(path: Path) -> Claim:
    """Read a claim: a bench file with [claim], a TOML file of metric = value alone, or
    the results.json of a published session.

    In a TOML file a value may be a table: `value`, `standard_uncertainty` and
    `degrees_of_freedom`, or `exact = true`. A results.json claims all headline and main
    metrics. Raises ConfigError for anything else, for a results.json whose values are
    not within their own intervals, and for one beside an events.jsonl that has another
    hash of it.
    """
    _refuse_changed(path)
    try:
        text = small_text.read(path)
    except (OSError, DataError) as error:
        raise ConfigError(
            f"{path} cannot be read", path="--claim", evidence=str(error)
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is no text",
            path="--claim",
            evidence=str(error),
            try_next=small_text.UTF_8_TRY,
        ) from error
    try:
        if text.lstrip().startswith("{"):
            claim = _published(json.loads(text))
        else:
            claim = _written(tomllib.loads(text))
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        DataError,
    ) as error:
        evidence = error.evidence if isinstance(error, DataError) else repr(error)
        raise ConfigError(
            f"{path} is no claim",
            path="--claim",
            evidence=evidence[:200],
            try_next=(
                "lines `metric = value`, a bench file with [claim], or a results.json"
            ),
        ) from error
    if not claim.metrics:
        raise ConfigError(
            f"{path} claims no metric",
            path="--claim",
            try_next="[claim], and lines `metric = value` in it",
        )
    for name, value in claim.values.items():
        refuse_no_number(name, value, f"{path}: {name}")
    return claim


def _refuse_changed(path: Path) -> None:
    """Raise ConfigError for the results.json of a session that was changed after its
    run."""
    if path.name != RESULTS or not (path.parent / EVENTS).is_file():
        return
    for change in verified.changes(SessionFolder(path.parent), (RESULTS,)):
        raise ConfigError(
            f"{path} is no claim",
            path="--claim",
            evidence=str(change),
            try_next=f"rig check {path.parent}; lines `metric = value` in a TOML file",
        )


def refuse_no_number(name: str, value: Any, place: str) -> None:
    """Raise ConfigError where a claimed value is no finite number."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
    ):
        raise ConfigError(
            f"{value!r} is no value that {name} can have",
            path=place,
            try_next="a finite number, in SI units",
        )


def refuse(
    values: Mapping[str, float],
    scenario: Scenario,
    task: Task,
    steps: Sequence[Step],
    phases: Sequence[str] = (),
    *,
    monitored: bool = True,
) -> None:
    """Raise ConfigError for a claim that no trial of this plan could meet: a metric it
    does not give, or an impossible value.

    `phases` are those that the device marks; where that is not known yet, a claim
    passes that some device could meet.
    """
    if not values:
        return
    own_phases = kinds.own_phases(steps)
    possible: list[Sequence[str]]
    if phases or own_phases:
        possible = [phases or own_phases]
    else:
        possible = [tuple(task.phases), tuple(task.phases[-1:])]
    declared = [scenario.declared_metrics(task, steps, each) for each in possible]
    known = [each for each in declared if each is not None]
    if not known:
        return
    metrics: dict[str, DeclaredMetric] = {}
    reasons: dict[str, str] = {}
    for each in known:
        metrics |= each.metrics
        reasons |= each.absent
    for name, value in values.items():
        place = f"claim.{name}"
        metric = metrics.get(name)
        if metric is None:
            refuse_unknown(
                name, metrics, reasons, place, f"{scenario.name} on {task.name}"
            )
        elif metric.unit in _OF_ENERGY and not monitored:
            raise ConfigError(
                "there is no energy monitor to measure it",
                path=place,
                try_next="a [monitor.KIND]; or claim less",
            )
        else:
            refuse_impossible(name, value, metric, place)


def refuse_unknown(
    name: str, known: Iterable[str], reasons: Mapping[str, str], place: str, what: str
) -> None:
    """Raise ConfigError for a metric that is not among the known ones, with the nearest
    names."""
    names = list(known)
    if name in reasons:
        raise ConfigError(
            f"{what} cannot give it with these settings: {reasons[name]}",
            path=place,
            try_next=_several(names),
        )
    nearest = did_you_mean(name, [*names, *reasons], 3)
    raise ConfigError(
        f"{what} has no such metric", path=place, try_next=nearest + _several(names)
    )


def refuse_impossible(
    name: str, value: float, metric: DeclaredMetric | Metric, place: str
) -> None:
    """Raise ConfigError for a value that the metric can never have."""
    refuse_no_number(name, value, place)
    if metric.bounded and not 0 <= value <= 1:
        percent = f": {value / 100:g}, not {value:g} %" if 1 < value <= 100 else ""
        raise ConfigError(
            f"{value:g} is no value that {name} can have",
            path=place,
            try_next=f"a share from 0 to 1{percent}",
        )
    signed = (
        metric.signed
        if isinstance(metric, DeclaredMetric)
        else metric.statistic is Statistic.DIFFERENCE
        or metric.unit not in _NEVER_NEGATIVE
    )
    if value < 0 and not metric.bounded and not signed:
        raise ConfigError(
            f"{value:g} {metric.unit} is no value that {name} can have",
            path=place,
            try_next="0 or more",
        )


def refuse_other(claim: Claim, results: Results, trials: Sequence[Trial]) -> None:
    """Raise ConfigError for a claim that is not about a finished session: of another
    task or scenario, or of other metrics.
    """
    compared = (
        ("task", claim.task, results.task),
        ("scenario", claim.scenario, results.scenario),
    )
    for what, own, measured in compared:
        if own and own != measured:
            raise ConfigError(
                f"a claim of {what} {own}, the session is of {measured}",
                path="--claim",
                try_next=(
                    "a TOML file with lines `metric = value`, where these are meant to"
                    " be compared"
                ),
            )
    metrics: dict[str, Metric] = {}
    for trial in trials:
        metrics |= trial.metrics
    for name, value in claim.values.items():
        if name in metrics:
            refuse_impossible(name, value, metrics[name], f"claim.{name}")
        elif name not in results.absent:
            refuse_unknown(name, metrics, {}, f"claim.{name}", "the session")


def refuse_not_in(claim: Claim, folder: SessionFolder) -> None:
    """Raise ConfigError, before a metric is computed, for a claim of a metric that the
    stored results of a session do not name. Results that cannot be read are reported
    where they are computed.
    """
    try:
        stored = document.read(folder.path / RESULTS)
    except (DataError, OSError):
        return
    for name in claim.values:
        if name not in {*stored.metrics, *stored.absent}:
            refuse_unknown(name, stored.metrics, {}, f"claim.{name}", "the session")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A claimed metric of a TOML file that is a table."""

    value: float
    standard_uncertainty: float | None = None
    degrees_of_freedom: float | None = None
    exact: bool = False


def _written(tree: Mapping[str, Any]) -> Claim:
    values = tree.get("claim", tree)
    if not isinstance(values, Mapping):
        raise ValueError("no [claim], and other things than metric = value")
    return Claim({name: _written_metric(name, value) for name, value in values.items()})


def _written_metric(name: str, value: Any) -> ClaimedMetric:
    """Read a claimed metric of a TOML file: a number, or a table."""
    if isinstance(value, list):
        raise ValueError(f"{name} is a list")
    if not isinstance(value, Mapping):
        return ClaimedMetric(value=value)
    table = typed.from_json(_Table, dict(value), f"claim.{name}")
    u = table.standard_uncertainty
    freedom = table.degrees_of_freedom
    if u is None and freedom is None:
        return ClaimedMetric(value=table.value, exact=table.exact)
    if u is None or freedom is None or not (u > 0 and freedom > 0) or table.exact:
        raise ValueError(
            f"{name}: standard_uncertainty and degrees_of_freedom are both above 0,"
            " without exact"
        )
    stated = Spread(table.value, u, freedom)
    return ClaimedMetric(value=table.value, same=stated, other=stated)


def _published(tree: Any) -> Claim:
    """Read the claim of a results.json: its headline and main metrics."""
    results = document.from_json(tree)
    claimed = {}
    for name, metric in results.metrics.items():
        if metric.prominence is not Prominence.DETAIL and metric.value is not None:
            claimed[name] = _published_metric(name, metric)
    marks = []
    if results.simulated:
        marks.append(labels.SIMULATED)
    if results.provenance.interleaved:
        marks.append(labels.INTERLEAVED)
    marks += [label.text for label in results.data.labels]
    return Claim(
        claimed,
        results.task,
        results.scenario,
        tuple(marks),
        _samples(results.provenance.task.stored),
    )


def _published_metric(name: str, metric: MetricResult) -> ClaimedMetric:
    """Read a claimed metric of a results.json; raise DataError where it contradicts
    itself.
    """
    value = metric.value
    assert value is not None
    for interval in (metric.same_samples, metric.other_samples):
        below = interval.low is not None and value < interval.low - _rounding(value)
        above = interval.high is not None and value > interval.high + _rounding(value)
        if below or above:
            raise DataError(
                "the results contradict themselves",
                evidence=(
                    f"{name} is {value:g} {metric.unit}, its own interval goes from "
                    f"{interval.low} to {interval.high}"
                ),
            )
    counted = metric.statistic is Statistic.SHARE
    same = judging.spread(value, metric.same_samples)
    count = sum(trial.n for trial in metric.per_trial) if counted else None
    return ClaimedMetric(
        value=value,
        same=same,
        other=judging.spread(value, metric.other_samples),
        count=count,
    )


def _rounding(value: float) -> float:
    return 1e-9 * abs(value)


def _samples(task: Mapping[str, Any]) -> dict[str, Any]:
    """Select the facts of a provenance that identify a task's samples."""
    wanted = ["name", "samples", "subset", "data", "names"]
    wanted += [key for key in task if key.endswith("sha256")]
    return {key: task.get(key) for key in wanted}


def _several(names: Sequence[str]) -> str:
    more = f", and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"it gives {', '.join(names[:_TOLD])}{more}"
