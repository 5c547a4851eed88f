# SPDX-License-Identifier: Apache-2.0
"""The quality target of MLPerf Tiny's closed division against the accuracy of a
session, and the result of a benchmark as lines of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.files import typed
from rig.model.metric import Statistic
from rig.results.document import MetricResult, Results
from rig.results.labels import texts
from rig.results.stated import stated
from rig.results.verdict import Outcome

#: As the benchmark's rules name them.
_TITLES = {"accuracy": "Top-1", "auc": "AUC"}
#: Metrics of a result, by mode; the last word of a name is a phase of the device.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "performance": ("throughput", "latency_infer"),
    "energy": ("energy_infer", "throughput"),
    "accuracy": ("accuracy", "auc"),
}
_WORDS = {
    "throughput": "inferences per second, median",
    "latency_infer": "time of an inference, median",
    "energy_infer": "energy of an inference, median",
    "accuracy": "Top-1",
    "auc": "AUC",
}


#: Of a streaming wake word, which has all of them in one stream.
SHOWN_OF_STREAM: Mapping[str, str] = {
    "recall": "words found",
    "false_positive_share": "windows with a false positive",
    "throughput": "inferences per second, mean",
    "latency_preprocess": "time of a window's features, mean",
    "latency_infer": "time of an inference, mean",
    "duty_cycle": "duty cycle",
    "power_stream": "power while it listens",
    "energy_stream": "energy of the stream",
}
_STREAMED = "sww"


@dataclass(frozen=True, slots=True)
class _Limits:
    """The most detections that the task's provenance allows to be wrong."""

    false_negatives: int
    false_positives: int
    division: str


@dataclass(frozen=True, slots=True)
class _StreamFacts:
    """What of a streaming wake word's provenance a verdict needs."""

    quality: _Limits


@dataclass(frozen=True, slots=True)
class _Target:
    """The quality that the task's provenance states (task.py)."""

    metric: str
    minimum: float
    division: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """What of that provenance a verdict needs."""

    files: int
    quality: _Target


@dataclass(frozen=True, slots=True)
class QualityVerdict:
    """The outcome of comparing a session's accuracy with the target, in a sentence."""

    outcome: Outcome
    sentence: str


def quality_of(results: Results) -> QualityVerdict:
    """Compare the lowest accuracy of a session's trials with the closed division's
    target, where the whole evaluation set was measured.
    """
    stored = results.provenance.task.stored
    if not results.data.official or "quality" not in stored:
        why = results.data.statement or "the data are not the evaluation set"
        return _not_tested(why)
    if any(not trial.valid for trial in results.trials):
        return _not_tested("a trial is no measurement")
    if results.provenance.task.name == _STREAMED:
        return _of_stream(results)
    about = typed.take(_Facts, dict(stored), "provenance.json, task")
    target = about.quality
    title = _TITLES.get(target.metric, target.metric)
    metric = results.metrics.get(target.metric)
    lowest = None if metric is None else _lowest(metric)
    if lowest is None:
        return _not_tested(f"the session has no {title}")
    outcome = Outcome.PASS if lowest >= target.minimum else Outcome.FAIL
    by = " of a simulated device" if results.provenance.sut.simulated else ""
    sentence = (
        f"{title} {_quality(target.metric, lowest)}{by} over the {about.files}"
        f" files of the evaluation set; the closed division asks for"
        f" {_quality(target.metric, target.minimum)}; its other rules are not judged"
    )
    return QualityVerdict(outcome, sentence)


def _of_stream(results: Results) -> QualityVerdict:
    """Compare the most wrong detections of a session's trials with the limits."""
    stored = dict(results.provenance.task.stored)
    limits = typed.take(_StreamFacts, stored, "provenance.json, task").quality
    missed = _counts(results, "recall", complement=True)
    false = _counts(results, "false_positive_share")
    if not missed or not false:
        return _not_tested("the session has no detections to count")
    kept = max(missed) <= limits.false_negatives
    kept = kept and max(false) <= limits.false_positives
    outcome = Outcome.PASS if kept else Outcome.FAIL
    by = " of a simulated device" if results.provenance.sut.simulated else ""
    sentence = (
        f"{max(missed)} false negatives and {max(false)} false positives{by} over the"
        f" benchmark's recording; the closed division allows {limits.false_negatives}"
        f" and {limits.false_positives}; its other rules are not judged"
    )
    return QualityVerdict(outcome, sentence)


def _counts(results: Results, name: str, *, complement: bool = False) -> list[int]:
    """Return how often a share's property holds in each trial, or does not."""
    counts = []
    metric = results.metrics.get(name)
    for trial in metric.per_trial if metric else ():
        if trial.value is None:
            return []
        share = 1 - trial.value if complement else trial.value
        counts.append(round(share * trial.n))
    return counts


def lines(mode: str, results: Results, folder: Path) -> list[str]:
    """Return the result of a session: the benchmark's own lines, then its numbers with
    their uncertainty.
    """
    text_lines = [f"{mode}: {folder}"]
    labels = texts(results.labels)
    text_lines += [f"  labels: {labels}"] if labels else []
    for trial in results.trials:
        # An invalid trial has its problems in their place.
        text_lines += [f"  {line}" for line in trial.lines]
    streamed = results.provenance.task.name == _STREAMED
    words, others = SHOWN_OF_STREAM, "samples"
    if not streamed:
        others = "files"
        words = {name: _WORDS[name] for name in SHOWN[mode]}
    if all(trial.valid for trial in results.trials):
        for name in words:
            if name in results.metrics:
                text_lines.append(_row(words[name], results.metrics[name], others))
    if streamed or mode == "accuracy":
        verdict = quality_of(results)
        text_lines.append(
            f"  quality target: {verdict.outcome.upper()}: {verdict.sentence}"
        )
    return text_lines


def is_bad(sessions: Sequence[tuple[str, Results]]) -> bool:
    """Check whether a trial is no measurement, or the accuracy below its target."""
    for mode, results in sessions:
        if any(not trial.valid for trial in results.trials):
            return True
        judged = mode == "accuracy" or results.provenance.task.name == _STREAMED
        if judged and quality_of(results).outcome is Outcome.FAIL:
            return True
    return False


def _row(words: str, metric: MetricResult, others: str) -> str:
    shown = stated(metric)
    # A share of all files of a set has no scatter when they are measured again.
    of_others = metric.statistic in (Statistic.SHARE, Statistic.AREA)
    interval = shown.other_samples if of_others else shown.same_samples
    whose = f"over other {others}" if of_others else "if measured again"
    unit = f" {shown.unit}" if shown.unit else ""
    error = f"; standard error {shown.standard_error}" if shown.standard_error else ""
    return f"  {words}: {shown.value}{unit}, 95 % {whose}: {interval}{error}"


def _lowest(metric: MetricResult) -> float | None:
    values = [trial.value for trial in metric.per_trial]
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None


def _quality(metric: str, value: float) -> str:
    return f"{value:.6g}" if metric == "auc" else f"{100 * value:.6g} %"


def _not_tested(why: str) -> QualityVerdict:
    return QualityVerdict(Outcome.NOT_TESTED, why)
