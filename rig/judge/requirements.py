# SPDX-License-Identifier: Apache-2.0
"""The requirements that every benchmark has: numbers, labels, trials, replication,
components, the report, firmware and versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import DataError
from rig.files import foreign_files
from rig.judge.evidence import Evidence, shown
from rig.judge.row import JudgedRow
from rig.judge.rules import Rules
from rig.results import labels, origins, replication
from rig.results.document import Results
from rig.results.replication import LIMIT
from rig.results.submission_file import REPORT, Submission, SubmittedMetric
from rig.results.verdict import Outcome
from rig.stats.summary import mean

#: A row of the table of results in report.md: configuration, metric, value.
_ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
_SHA256 = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A submission before the judge: its folder, its statements, the rules of its
    benchmark, and its sessions as far as they could be read.
    """

    folder: Path
    submission: Submission
    rules: Rules
    sessions: tuple[Evidence, ...]

    @property
    def readable(self) -> tuple[Evidence, ...]:
        """The sessions whose results could be read."""
        return tuple(each for each in self.sessions if each.results is not None)

    def row(self, name: str, wrong: Sequence[str], good: str, rule: str) -> JudgedRow:
        """Make a row: FAIL with the faults, otherwise PASS with the evidence, or NOT
        CHECKED where a session could not be read; `rule` is its sentence.
        """
        if wrong:
            return JudgedRow(name, False, shown(wrong), rule)
        if len(self.readable) < len(self.sessions) or not self.sessions:
            said = "not every session could be read"
            return JudgedRow(name, None, said, rule)
        return JudgedRow(name, True, good, rule)


Requirement = Callable[[JudgedCase], Iterator[JudgedRow]]


def rows(case: JudgedCase) -> Iterator[JudgedRow]:
    """Yield the rows of all requirements that every benchmark has."""
    for requirement in _ALL:
        yield from requirement(case)


def _kind(case: JudgedCase) -> Iterator[JudgedRow]:
    """Compare task, scenario and settings with those of the benchmark."""
    rules = case.rules
    wrong = []
    for each in case.readable:
        assert each.results is not None
        name = each.stated.name
        if each.results.task != rules.benchmark:
            wrong.append(f"{name} is of the task {each.results.task}")
        if each.results.scenario not in rules.scenarios:
            wrong.append(f"{name} is of the scenario {each.results.scenario}")
            continue
        for key, due in rules.settings.values.items():
            value = getattr(each.settings, key, None)
            if (list(value) if isinstance(value, tuple) else value) != due:
                wrong.append(f"{name} has {key} = {value}, not {due}")
    settings = ", ".join(f"{key} = {due}" for key, due in rules.settings.values.items())
    good = f"{rules.benchmark}, {' or '.join(rules.scenarios)}, {settings}"
    yield case.row("scenario and durations", wrong, good, rules.settings.sentence)


def _numbers(case: JudgedCase) -> Iterator[JudgedRow]:
    """Compare every stated number with that of its session."""
    wrong = []
    count = 0
    for each in case.readable:
        assert each.results is not None
        found = list(_differences(each, each.results))
        wrong += [f"{each.stated.name}: {text}" for text in found]
        count += len(each.results.metrics)
    good = f"{count} metrics are those of their sessions"
    yield case.row("numbers", wrong, good, "submission.json states what was measured")


def _differences(each: Evidence, due: Results) -> Iterator[str]:
    stated = each.stated
    for name in sorted(due.metrics.keys() - stated.metrics.keys()):
        yield f"{name} is missing"
    for name in sorted(stated.metrics.keys() - due.metrics.keys()):
        yield f"{name} was not measured"
    for name, metric in stated.metrics.items():
        if name not in due.metrics:
            continue
        own = due.metrics[name]
        again = SubmittedMetric(
            value=own.value,
            unit=own.unit,
            standard_error=own.standard_error_over_samples,
            low=own.same_samples.low,
            high=own.same_samples.high,
            per_trial=tuple(trial.value for trial in own.per_trial),
        )
        if metric != again:
            yield f"{name} is {metric.value} {metric.unit}, measured {again.value}"
    if stated.no_result != due.absent:
        odd = sorted(set(stated.no_result.items()) ^ set(due.absent.items()))
        yield f"no_result is not that of the session: {odd[0][0]}"
    monitors = tuple(info.name for info in due.provenance.monitors.values())
    facts = {
        "bench_sha256": (stated.bench_sha256, due.provenance.bench_sha256),
        "scenario": (stated.scenario, due.scenario),
        "sut": (stated.sut, due.sut),
        "monitors": (stated.monitors, monitors),
        "replication": (stated.replication, due.replication.judged),
    }
    for key, (told, own_fact) in facts.items():
        if told != own_fact:
            yield f"{key} is {str(told)[:60]!r}, measured {str(own_fact)[:60]!r}"


def _labels(case: JudgedCase) -> Iterator[JudgedRow]:
    """Compare the labels with those that the primary records of the sessions give, and
    refuse those under which no number is a result.
    """
    differing = []
    made_up = []
    partial = []
    known = case.rules.seeds.label if case.rules.seeds is not None else ""
    for each in case.sessions:
        due = labels.of_provenance(each.facts)
        if each.context and each.stated.labels != tuple(label.text for label in due):
            differing.append(
                f"{each.stated.name} states {', '.join(each.stated.labels) or 'none'},"
                f" its records say {labels.texts(due) or 'none'}"
            )
        not_measured = labels.of_made_up(each.facts)
        for label in labels.of_no_result(each.facts):
            said = f"{label.text}: {label.statement}"
            if label in not_measured:
                made_up.append(f"{each.stated.name} is {said}")
                continue
            # Which seeds are announced is a requirement of its own.
            if label.text != known:
                partial.append(f"{each.stated.name} is {said}")
        monitors = each.context.provenance.monitors if each.context else {}
        if played := origins.played_back(monitors):
            made_up.append(f"{each.stated.name} plays power back from {played}")
    rule = "a simulated, generated or partial number is no measurement"
    good = "the labels are those of the sessions' records"
    yield case.row("labels", differing, good, rule)
    yield case.row("measured", made_up, "on a device, by an instrument", rule)
    yield case.row("official data", partial, "the benchmark's own, whole", rule)


def _trials(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask for the number of trials, each valid, with a seed of its own."""
    due = case.rules.trials.count
    wrong = []
    for each in case.readable:
        assert each.results is not None
        name = each.stated.name
        trials = each.results.trials
        stated = [(one.number, one.seed, one.valid) for one in each.stated.trials]
        if stated != [(one.number, one.seed, one.valid) for one in trials]:
            wrong.append(f"{name}: its trials are not those of the session")
        counts = [one.samples for one in each.stated.trials]
        if counts != list(each.results.samples.per_trial):
            wrong.append(f"{name}: its samples are not those of the session")
        if len(trials) != due:
            wrong.append(f"{name} has {len(trials)} where {due} trials are due")
        for one in trials:
            if not one.valid:
                wrong.append(f"{name}: trial {one.number} is invalid")
        seeds = {one.seed for one in trials}
        is_shared = each.results.provenance.interleaved
        if len(seeds) != (1 if is_shared else len(trials)):
            wrong.append(f"{name}: trials have the same seed")
    good = f"{due} valid trials of each session, each with its seed"
    yield case.row("trials", wrong, good, case.rules.trials.sentence)


def _samples(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask for the number of samples of a trial, where the benchmark has one."""
    if (rule := case.rules.samples) is None:
        return
    wrong = []
    for each in case.readable:
        assert each.results is not None
        for count in sorted({*each.results.samples.per_trial} - {rule.count}):
            wrong.append(f"{each.stated.name} has {count} samples, not {rule.count}")
    yield case.row("samples", wrong, f"{rule.count} in each trial", rule.sentence)


def _metrics(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask for all metrics of each configuration: one session that has all of them."""
    if not case.rules.metrics:
        return
    by_name = {each.stated.name: each for each in case.sessions}
    marked: dict[str, None] = {}
    for each in case.readable:
        assert each.results is not None
        marked |= dict.fromkeys(each.results.provenance.task.phases)
    for rule in case.rules.metrics:
        wrong = []
        for configuration in case.submission.configurations:
            if len(configuration.sessions) != 1:
                wrong.append(f"{configuration.name} has several sessions")
            for stated in configuration.sessions:
                each = by_name[stated.name]
                if each.results is None:
                    continue
                phases = each.results.provenance.task.phases
                for name in rule.due(phases):
                    metric = stated.metrics.get(name)
                    if metric is None or metric.value is None:
                        wrong.append(f"{configuration.name} has no {name}")
                    elif rule.with_error and metric.standard_error is None:
                        wrong.append(f"{name} has no standard error")
        named = rule.due(tuple(marked))
        yield case.row(f"metrics {named[0]}", wrong, ", ".join(named), rule.sentence)


def _replication(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask that each session replicates: its own verdict, and the mean of the trials
    against the stated value.
    """
    wrong = []
    for each in case.readable:
        assert each.results is not None
        verdict = each.results.replication
        name = each.stated.name
        if verdict.judged is not Outcome.PASS:
            wrong.append(f"{name}: {verdict.sentence}")
        for metric, found in verdict.per_metric.items():
            stated = each.stated.metrics.get(metric)
            own = each.results.metrics[metric]
            values = [trial.value for trial in own.per_trial]
            known = [value for value in values if value is not None]
            if stated is None or stated.value is None or len(known) < len(values):
                wrong.append(f"{name}: {metric} has no value in every trial")
                continue
            away = replication.deviation(mean(known), stated.value, own.deviation)
            if not found.ok or abs(away) > LIMIT:
                wrong.append(f"{name}: {metric} deviates by {away:+.1%}")
    good = f"within {LIMIT:.0%}"
    yield case.row("replication", wrong, good, case.rules.trials.sentence)


def _components(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask for the measured components, those left out, and an instrument."""
    submission = case.submission
    wrong = []
    if not any(map(str.strip, submission.components_included)):
        wrong.append("components_included is empty")
    if not any(map(str.strip, submission.components_omitted)):
        wrong.append('components_omitted is empty: ["none"] where none is')
    for each in case.readable:
        if not each.stated.monitors:
            wrong.append(f"{each.stated.name} was recorded without an energy monitor")
    good = (
        f"included: {', '.join(submission.components_included)}; omitted:"
        f" {', '.join(submission.components_omitted)}"
    )
    rule = "report.md: components included and omitted"
    yield case.row("components", wrong, good, rule)


def _report(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask for all sections, also in report.md, whose table has the stated numbers."""
    rule = case.rules.report
    stated = case.submission.report
    wrong = [f"{key} is empty" for key in rule.sections if not stated.get(key, "")]
    wrong += [f"{key} is named as missing" for key in case.submission.missing]
    try:
        page = foreign_files.read_text(case.folder / REPORT, case.folder)
    except (OSError, ValueError, DataError) as error:
        yield JudgedRow("report", False, f"{REPORT} cannot be read: {error}")
        return
    for key in rule.sections:
        if f"`{key}`" not in page:
            wrong.append(f"{key} is not in {REPORT}")
    wrong += list(_wrong_cells(case.submission, page))
    good = f"{len(rule.sections)} sections; its table has the numbers"
    yield case.row("report", wrong, good, rule.sentence)


def _wrong_cells(submission: Submission, page: str) -> Iterator[str]:
    """Yield the rows of the table in report.md that state another number."""
    due: dict[tuple[str, str], float | None] = {}
    for each in submission.sessions:
        due |= {(each.name, name): one.value for name, one in each.metrics.items()}
    found = []
    for match in _ROW.finditer(page):
        session, name, value = match.groups()
        found.append((session, name, value.strip()))
    for session, name, value in found:
        stated = due.get((session, name))
        if value != ("no result" if stated is None else repr(stated)):
            yield f"{REPORT} has {value[:30]} as {name}, submission.json {stated}"
    lacking = due.keys() - {(session, name) for session, name, _ in found}
    if lacking:
        yield f"{REPORT} lacks {len(lacking)} metrics"
    if len(found) > len(due):
        yield f"{REPORT} has a row twice, or of no metric"


def _firmware(case: JudgedCase) -> Iterator[JudgedRow]:
    """Ask for sources and image of the firmware that the device states."""
    files = case.submission.files
    images = {files.get(name, "") for name in case.submission.images}
    wrong = [
        f"{name} is not in the folder"
        for name in (*case.submission.images, *case.submission.sources)
        if name not in files
    ]
    hashes: set[str] = set()
    for each in case.readable:
        assert each.results is not None
        hashes.update(_SHA256.findall(each.results.provenance.sut.firmware))
    wrong += [
        f"no image has the SHA-256 {digest[:16]}..." for digest in hashes - images
    ]
    is_due = any(
        each.results is not None and each.results.provenance.sut.firmware
        for each in case.readable
    )
    if is_due and not case.submission.images:
        wrong.append("there is no image of the firmware")
    if is_due and not case.submission.sources:
        wrong.append("there are no sources of the firmware")
    good = (
        f"{len(case.submission.images)} images, {len(case.submission.sources)} sources;"
        f" {len(hashes)} hashes found again"
        if is_due
        else "the system states no firmware"
    )
    yield case.row("firmware", wrong, good, "rules.md: all software is shared")


def _versions(case: JudgedCase) -> Iterator[JudgedRow]:
    """Compare the versions with those that the sessions state."""
    wrong = []
    for each in case.readable:
        assert each.results is not None
        own = each.results.provenance
        stated = case.submission.versions.get(each.stated.name)
        due = (own.neurorig, own.revision, own.python, own.packages)
        if stated is None:
            wrong.append(f"{each.stated.name} has no versions")
        elif due != (stated.neurorig, stated.revision, stated.python, stated.packages):
            wrong.append(f"{each.stated.name} was measured with other versions")
    submitter = case.submission.submitter
    for key in ("name", "contact", "licence"):
        if not getattr(submitter, key).strip():
            wrong.append(f"{key} of the submitter is empty")
    good = "submitter and versions are stated"
    yield case.row("submitter and versions", wrong, good, "rules.md: replicability")


_ALL: tuple[Requirement, ...] = (
    _kind,
    _numbers,
    _labels,
    _trials,
    _samples,
    _metrics,
    _replication,
    _components,
    _report,
    _firmware,
    _versions,
)
