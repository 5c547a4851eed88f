# SPDX-License-Identifier: Apache-2.0
"""A regression verdict for continuous integration: is a session worse than a baseline?

The rate of false alarms is chosen beforehand, for all metrics of a session together;
each of m metrics gets one m-th of it (Bonferroni), on the worse side alone. With three
or more baseline sessions the new value is compared with their mean by their own scatter
(Student's prediction of one further value): all that varies between sessions of one
bench is in it. With fewer, the newest one is compared by the uncertainties of both
sessions, as if they had no error in common, with Student's factor for the fewest
degrees of freedom of the two: the rate is then an upper limit, as long as the trials of
a session scatter as much as sessions do. A share is compared by Fisher's exact test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import scipy

from rig.api.archive.collected import Collected, collected, session_folders
from rig.api.archive.series import Series
from rig.errors import ConfigError, DataError
from rig.model.metric import Prominence, Statistic
from rig.results.document import MetricResult
from rig.results.verdict import Outcome
from rig.stats.summary import mean

#: The rate of false alarms of a session, where none is chosen.
FALSE_ALARMS = 0.01
#: Fewer values have no scatter that deserves a name.
_SCATTER_LEAST = 3
_TYPE_A = "A"
_MANY = 1e6


class Regressed(Enum):
    """Outcome of the comparison of one metric with its baseline."""

    WORSE = "worse"
    NOT_SHOWN = "no regression shown"
    NOT_TESTED = "not tested"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRegression:
    """A metric of a session against its baseline, in the metric's unit: `worse_by` is
    positive where it is worse, and `threshold` what it must exceed to be a regression.
    `method` names the comparison, or states why there is none.
    """

    name: str
    unit: str
    baseline: float
    value: float
    worse_by: float
    threshold: float
    outcome: Regressed
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRegression:
    """A session against a baseline. `false_alarms` is the rate at which a session
    without a change is called a regression, at most. `reason` is why the session has no
    results, `lacking` why the baseline has none to compare it with; both empty of one
    that was compared.
    """

    session: Path
    baseline: tuple[Path, ...]
    false_alarms: float
    metrics: tuple[MetricRegression, ...]
    labels: tuple[str, ...]
    reason: str = ""
    lacking: str = ""

    @property
    def outcome(self) -> Outcome:
        """FAIL for a regression, PASS where none is shown, INVALID for a session
        without results, NOT TESTED where no metric could be.
        """
        found = [one.outcome for one in self.metrics]
        if self.reason:
            return Outcome.INVALID
        if Regressed.WORSE in found:
            return Outcome.FAIL
        return Outcome.PASS if Regressed.NOT_SHOWN in found else Outcome.NOT_TESTED

    def __bool__(self) -> bool:
        return self.outcome is Outcome.PASS

    def __repr__(self) -> str:
        worse = []
        for one in self.metrics:
            if one.outcome is Regressed.WORSE:
                worse.append(f"{one.name} by {one.worse_by:.3g} {one.unit}")
        names = f"worse: {', '.join(worse)}; " if worse else ""
        return f"{self.outcome.upper()}: {names}{self.statement}"

    @property
    def statement(self) -> str:
        """The verdict's basis in a sentence."""
        if why := self.reason or self.lacking:
            return f"the session is not compared: {why}"
        outcomes = [one.outcome for one in self.metrics]
        tested = len(outcomes) - outcomes.count(Regressed.NOT_TESTED)
        count = len(self.baseline)
        return (
            f"{tested} metric{'s' * (tested != 1)} against"
            f" {count} session{'s' * (count != 1)};"
            f" false alarms in at most {self.false_alarms:.2g} of sessions without a"
            " change"
        )


class NoneComparable(DataError):
    """No session of a baseline is comparable with a session."""


class Baseline:
    """The sessions of a baseline, one session or a folder of them, read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sessions: list[Collected] | None = None

    def sessions(self) -> list[Collected]:
        """Return its sessions, read when they are asked for first."""
        if self._sessions is None:
            self._sessions = [collected(each) for each in session_folders([self.path])]
        return self._sessions


def each_against_baseline(
    sessions: Sequence[Path],
    baseline: Baseline,
    false_alarms: float = FALSE_ALARMS,
    names: Sequence[str] = (),
) -> list[SessionRegression]:
    """Compare several sessions with a baseline, as `against_baseline` does with one. A
    session that cannot be compared is NOT TESTED, with the reason in `lacking`.

    Raises ConfigError as there, and DataError where the baseline has no session, or
    where no session has a named metric.
    """
    found: list[SessionRegression] = []
    faults: list[DataError] = []
    baseline.sessions()
    for session in sessions:
        try:
            found.append(against_baseline(session, baseline, false_alarms, names))
        except NoneComparable as error:
            found.append(_lacking(session, false_alarms, error))
        except DataError as error:
            faults.append(error)
            found.append(_lacking(session, false_alarms, error))
    if faults and len(faults) == len(found):
        raise faults[0]
    return found


def _lacking(session: Path, false_alarms: float, error: DataError) -> SessionRegression:
    return SessionRegression(
        session=session,
        baseline=(),
        false_alarms=false_alarms,
        metrics=(),
        labels=(),
        lacking=error.with_evidence,
    )


def against_baseline(
    session: Path,
    baseline: Path | Baseline,
    false_alarms: float = FALSE_ALARMS,
    names: Sequence[str] = (),
) -> SessionRegression:
    """Compare a session with a baseline: one session, or a folder of them: those of
    the same bench, device, task and scenario count.

    `names` are the metrics, else the headline ones that have a better direction. Raises
    ConfigError for a rate that is none, NoneComparable where no session is comparable.
    """
    if not 0 < false_alarms < 0.5:
        raise ConfigError(
            f"a rate of false alarms of {false_alarms:g}",
            path="false_alarms",
            try_next="more than 0 and less than 0.5, such as 0.01",
        )
    new = collected(session)
    if new.results is None or not new.counts:
        reason = new.reason or new.listed.outcome
        return SessionRegression(
            session=session,
            baseline=(),
            false_alarms=false_alarms,
            metrics=(),
            labels=new.listed.labels,
            reason=reason,
        )
    before = _comparable(
        new, baseline if isinstance(baseline, Baseline) else Baseline(baseline)
    )
    tested = list(_names(new, names))
    level = false_alarms / max(len(tested), 1)
    paths = tuple(each.listed.path for each in before)
    metrics = tuple(_tested(name, new, before, level) for name in tested)
    return SessionRegression(
        session=session,
        baseline=paths,
        false_alarms=false_alarms,
        metrics=metrics,
        labels=new.listed.labels,
    )


def _comparable(new: Collected, baseline: Baseline) -> list[Collected]:
    own = new.listed.path.resolve()
    series = Series.of(new)
    found = [each for each in baseline.sessions() if each.listed.path.resolve() != own]
    kept = [each for each in found if each.counts and Series.of(each) == series]
    if kept:
        return kept
    listed = new.listed
    raise NoneComparable(
        f"{baseline.path} has no session to compare {listed.name} with",
        evidence=(
            f"{len(found)} other session{'s' * (len(found) != 1)}; none is valid and of"
            f" bench {listed.bench}, device {listed.device}, monitor"
            f" {listed.monitors or 'none'}, task {listed.task}, scenario"
            f" {listed.scenario}"
        ),
        try_next="a session of the same bench as the baseline",
    )


def _names(new: Collected, names: Sequence[str]) -> Iterator[str]:
    assert new.results is not None
    metrics = new.results.metrics
    for name in names:
        if name not in metrics:
            raise DataError(
                f"{new.listed.name} has no metric {name}",
                try_next=f"one of {', '.join(metrics)}",
            )
    for name, metric in metrics.items():
        is_headline = metric.prominence is Prominence.HEADLINE
        if name in names or (not names and is_headline):
            yield name


def _tested(
    name: str, new: Collected, before: Sequence[Collected], level: float
) -> MetricRegression:
    assert new.results is not None
    metric = new.results.metrics[name]
    rows = [each.results.metrics.get(name) for each in before if each.results]
    earlier = [one for one in rows if one is not None and one.value is not None]
    return compared(name, metric, earlier, level)


def compared(
    name: str, metric: MetricResult, earlier: Sequence[MetricResult], level: float
) -> MetricRegression:
    """Compare a metric with that of baseline sessions, the oldest first; `level` is the
    rate of false alarms of this metric alone.
    """
    values = [one.value for one in earlier if one.value is not None]
    found = MetricRegression(
        name=name,
        unit=metric.unit,
        baseline=math.nan,
        value=math.nan if metric.value is None else metric.value,
        worse_by=math.nan,
        threshold=math.nan,
        outcome=Regressed.NOT_TESTED,
        method="",
    )
    if metric.higher_is_better is None:
        return _because(found, "no direction of it is better")
    if metric.value is None or not values:
        return _because(found, "a value is missing")
    if {one.unit for one in earlier} != {metric.unit}:
        return _because(found, "the units differ")
    if metric.statistic is Statistic.SHARE:
        return _of_share(found, metric, earlier, level)
    if len(values) >= _SCATTER_LEAST:
        return _by_scatter(found, metric, values, level)
    return _by_uncertainty(found, metric, earlier[-1], level)


def _because(found: MetricRegression, reason: str) -> MetricRegression:
    return _judged(found, math.nan, math.nan, math.nan, reason)


def _judged(
    found: MetricRegression,
    baseline: float,
    worse_by: float,
    threshold: float,
    method: str,
) -> MetricRegression:
    outcome = Regressed.NOT_SHOWN
    if math.isnan(worse_by):
        outcome = Regressed.NOT_TESTED
    elif worse_by > threshold:
        outcome = Regressed.WORSE
    return replace(
        found,
        baseline=baseline,
        worse_by=worse_by,
        threshold=threshold,
        outcome=outcome,
        method=method,
    )


def _worse_by(metric: MetricResult, baseline: float) -> float:
    value = math.nan if metric.value is None else metric.value
    return baseline - value if metric.higher_is_better else value - baseline


def _by_scatter(
    found: MetricRegression,
    metric: MetricResult,
    values: Sequence[float],
    level: float,
) -> MetricRegression:
    count = len(values)
    centre = mean(values)
    squares = math.fsum((value - centre) ** 2 for value in values)
    deviation = math.sqrt(squares / (count - 1))
    if not deviation:
        return _because(found, "the baseline sessions have no scatter")
    factor = float(scipy.special.stdtrit(count - 1, 1 - level))
    threshold = factor * deviation * math.sqrt(1 + 1 / count)
    method = f"scatter of {count} baseline sessions, Student"
    return _judged(found, centre, _worse_by(metric, centre), threshold, method)


def _by_uncertainty(
    found: MetricRegression,
    metric: MetricResult,
    earlier: MetricResult,
    level: float,
) -> MetricRegression:
    sizes = [one.same_samples.standard_uncertainty for one in (metric, earlier)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        reason = "its interval is not made of a standard uncertainty"
        return _because(found, f"{reason}: three baseline sessions are needed")
    freedom = min(map(_freedom, (metric, earlier)))
    factor = float(scipy.special.stdtrit(freedom, 1 - level))
    threshold = factor * math.hypot(*known)
    baseline = earlier.value or 0.0
    method = "uncertainties of both sessions, Student"
    return _judged(found, baseline, _worse_by(metric, baseline), threshold, method)


def _freedom(metric: MetricResult) -> float:
    """Return the degrees of freedom of a metric's scatter, the fewest of its parts."""
    shapes = [
        part.shape for part in metric.budget if part.counted and part.type == _TYPE_A
    ]
    degrees = [shape[1:] for shape in shapes if shape[:1] == "t"]
    found = [float(number) for number in degrees if number.isdigit()]
    return min(found, default=_MANY)


def _of_share(
    found: MetricRegression,
    metric: MetricResult,
    earlier: Sequence[MetricResult],
    level: float,
) -> MetricRegression:
    """Compare a share with that of the newest baseline session by Fisher's exact test.
    The same samples agree more often than drawn ones, so that false alarms are rarer
    than the level.
    """
    counts = [_counts(one) for one in (metric, *earlier)]
    if any(count is None for count in counts):
        return _because(found, "it has no number of samples")
    (right, total), *others = [count for count in counts if count is not None]
    # The sessions had the same samples: their sum would claim more independent ones.
    right_before, total_before = others[-1]
    sign = 1 if metric.higher_is_better else -1
    table = [[right, total - right], [right_before, total_before - right_before]]
    side = "less" if sign > 0 else "greater"
    chance = float(scipy.stats.fisher_exact(table, alternative=side).pvalue)
    baseline = right_before / total_before
    worse_by = _worse_by(metric, baseline)
    # The test has no threshold in the unit of the metric.
    threshold = math.inf if chance > level else -math.inf
    method = f"Fisher's exact test of the newest baseline: chance {chance:.2g}"
    return _judged(found, baseline, worse_by, threshold, method)


def _counts(metric: MetricResult) -> tuple[int, int] | None:
    if metric.binomial is None or metric.value is None or not metric.binomial.n:
        return None
    total = metric.binomial.n
    return round(metric.value * total), total
