# SPDX-License-Identifier: Apache-2.0
"""A claim: metric = value. Refused where nothing could ever meet it, before anything is measured;
tested on a finished session.
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, DataError
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.metric import Deviation, Metric
from rig.model.steps import Step
from rig.model.trial import Trial
from rig.results import document, labels, replication
from rig.results.document import Results
from rig.results.imagined import Possible, forecast
from rig.results.replication import Verdict

#: Units of what is never below 0; power and energy are, where idle power is taken off.
_NEVER_NEGATIVE = ("s", "1/s", "s/s")
#: Units of what an energy monitor measures.
_OF_ENERGY = ("J", "W")
#: So many names are shown in a hint.
_TOLD = 12


@dataclass(frozen=True, slots=True)
class Claim:
    """Claimed values by metric; of a published result also its task, its scenario, and the labels
    of its data.
    """

    values: dict[str, float]
    task: str = ""
    scenario: str = ""
    labels: tuple[str, ...] = ()


def read(path: Path) -> Claim:
    """Read a claim: a bench file with [claim], a TOML file of metric = value alone, or the
    results.json of a published session.

    What a results.json claims is the values of the metrics that its own verdict is about. Raises
    ConfigError for anything else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read", path="--claim", evidence=str(error)) from error
    try:
        claim = (
            _published(json.loads(text))
            if text.lstrip().startswith("{")
            else _written(tomllib.loads(text))
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        DataError,
    ) as error:
        raise ConfigError(
            f"{path} is no claim",
            path="--claim",
            evidence=(error.evidence if isinstance(error, DataError) else repr(error))[:200],
            try_next="lines `metric = value`, a bench file with [claim], or a results.json",
        ) from error
    if not claim.values:
        raise ConfigError(
            f"{path} claims nothing",
            path="--claim",
            try_next="[claim], and lines `metric = value` in it",
        )
    for name, value in claim.values.items():
        refuse_no_number(name, value, f"{path}: {name}")
    return claim


def refuse_no_number(name: str, value: Any, place: str) -> None:
    """Raise ConfigError where a claimed value is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
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
    """Raise ConfigError for a claim that no trial of this plan could meet: a metric it does not
    give, or an impossible value.

    `phases` are those that the device marks; where that is not known yet, a claim passes that some
    device could meet.
    """
    if not values:
        return
    own_phases = kinds.own_phases(steps)
    possible = (
        [phases]
        if phases
        else [own_phases]
        if own_phases
        else [tuple(task.phases), tuple(task.phases[-1:])]
    )
    found = [forecast(scenario, task, steps, each) for each in possible]
    known = [each for each in found if each is not None]
    if not known:
        return  # nothing is known beforehand; the verdict shows it afterwards
    metrics = {name: metric for each in known for name, metric in each.metrics.items()}
    reasons = {name: reason for each in known for name, reason in each.absent.items()}
    for name, value in values.items():
        place = f"claim.{name}"
        metric = metrics.get(name)
        if metric is None:
            refuse_unknown(name, metrics, reasons, place, f"{scenario.name} on {task.name}")
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
    """Raise ConfigError for a metric that is not among the known ones, with the nearest names."""
    names = list(known)
    if name in reasons:
        raise ConfigError(
            f"{what} cannot give it with these settings: {reasons[name]}",
            path=place,
            try_next=_several(names),
        )
    close = difflib.get_close_matches(name, [*names, *reasons], 3)
    nearest = f"did you mean {' or '.join(close)}? " if close else ""
    raise ConfigError(f"{what} has no such metric", path=place, try_next=nearest + _several(names))


def refuse_impossible(name: str, value: float, metric: Possible | Metric, place: str) -> None:
    """Raise ConfigError for a value that the metric can never have."""
    refuse_no_number(name, value, place)
    if metric.bounded and not 0 <= value <= 1:
        percent = f": {value / 100:g}, not {value:g} %" if 1 < value <= 100 else ""
        raise ConfigError(
            f"{value:g} is no value that {name} can have",
            path=place,
            try_next=f"a share from 0 to 1{percent}",
        )
    signed = metric.signed if isinstance(metric, Possible) else metric.unit not in _NEVER_NEGATIVE
    if value < 0 and not metric.bounded and not signed:
        raise ConfigError(
            f"{value:g} {metric.unit} is no value that {name} can have",
            path=place,
            try_next="0 or more",
        )


def refuse_other(claim: Claim, results: Results, trials: Sequence[Trial]) -> None:
    """Raise ConfigError for a claim that says nothing of a finished session: of another task or
    scenario, or of other metrics.
    """
    for what, own, measured in (
        ("task", claim.task, results.task),
        ("scenario", claim.scenario, results.scenario),
    ):
        if own and own != measured:
            raise ConfigError(
                f"a claim of {what} {own}, the session is of {measured}",
                path="--claim",
                try_next="a TOML file with lines `metric = value`, where these are meant to be "
                "compared",
            )
    metrics = {name: metric for trial in trials for name, metric in trial.metrics.items()}
    for name, value in claim.values.items():
        if name in metrics:
            refuse_impossible(name, value, metrics[name], f"claim.{name}")
        elif name not in results.absent:
            refuse_unknown(name, metrics, {}, f"claim.{name}", "the session")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts of both rules on a claim."""

    replication: Verdict
    audit: Verdict

    @property
    def by_rule(self) -> dict[str, Verdict]:
        """Return them by the names of the rules."""
        return {"replication": self.replication, "audit": self.audit}


def verdicts(claimed: Mapping[str, float], trials: Sequence[Trial]) -> Verdicts:
    """Apply both rules to finished trials: replication, and the audit."""
    names = [name for name in claimed if all(name in trial.metrics for trial in trials)]
    metrics = {name: metric for trial in trials for name, metric in trial.metrics.items()}
    return verdicts_on(
        claimed,
        [{name: trial.metrics[name].value for name in names} for trial in trials],
        sum(not trial.valid for trial in trials),
        {name: metric.higher_is_better for name, metric in metrics.items()},
        {name: metric.deviation for name, metric in metrics.items()},
    )


def verdicts_on(
    claimed: Mapping[str, float],
    values: Sequence[Mapping[str, float]],
    invalid: int,
    directions: Mapping[str, bool | None],
    how: Mapping[str, Deviation],
) -> Verdicts:
    """Apply both rules to the values of trials, with what their metrics say of themselves."""
    return Verdicts(
        replication.replication_check(claimed, values, invalid, how),
        replication.audit_check(claimed, values, invalid, directions, how),
    )


def _written(tree: Mapping[str, Any]) -> Claim:
    values = tree.get("claim", tree)
    if not isinstance(values, Mapping) or any(
        isinstance(value, Mapping | list) for value in values.values()
    ):
        raise ValueError("no [claim], and other things than metric = value")
    return Claim(dict(values))


def _published(tree: Any) -> Claim:
    """Return what a results.json claims."""
    results = document.from_json(tree)
    values = {name: results.metrics[name].value for name in results.replication.per_metric}
    marks = (
        *([labels.SIMULATED] if results.simulated else []),
        *([labels.INTERLEAVED] if results.provenance.interleaved else []),
        *(label.text for label in results.data.labels),
    )
    return Claim(
        {name: value for name, value in values.items() if value is not None},
        results.task,
        results.scenario,
        marks,
    )


def _several(names: Sequence[str]) -> str:
    more = f", and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"it gives {', '.join(names[:_TOLD])}{more}"
