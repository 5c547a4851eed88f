# SPDX-License-Identifier: Apache-2.0
"""The report of a submission: report.md with the sections that NeuroBench's report.md
asks for, and every number of submission.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rig.files.plain_text import one_line
from rig.results.submission_file import (
    WORKFLOW,
    Submission,
    SubmittedMetric,
    SubmittedSession,
)

#: Headings, and the keys of the sections below each.
_SECTIONS = {
    "System architecture": ("system.architecture",),
    "Algorithm": ("algorithm.model", "algorithm.tuning"),
    "Workflow": (
        "workflow.initialisation",
        "workflow.host_preprocessing",
        "workflow.loading",
        "workflow.device_preprocessing",
        "workflow.inference",
        "workflow.postprocessing",
    ),
    "Latency measurement": ("latency.description",),
    "Power measurement": ("power.device", "power.tap", "power.time_resolution"),
}
KEYS = tuple(chain.from_iterable(_SECTIONS.values()))
_MISSING = "**MISSING**: not stated"


def text(submission: Submission) -> str:
    """Write the report."""
    lines = [
        f"# Submission to NeuroBench, system track: {submission.benchmark}",
        "",
        f"By {_plain(submission.submitter.name) or _MISSING},"
        f" {_plain(submission.submitter.organisation) or 'no organisation'};"
        f" rules: {submission.rules}. `submission.json` is the one truth; this page"
        " repeats it.",
        "",
        *_labels(submission),
    ]
    for heading, keys in _SECTIONS.items():
        lines += [f"## {heading}", ""]
        if heading == "Workflow":
            lines += [f"![Workflow]({WORKFLOW})", ""]
        for key in keys:
            lines += [f"`{key}`: {_plain(submission.report[key]) or _MISSING}", ""]
    lines += [
        f"Components included: {_joined(submission.components_included)}",
        "",
        f"Components omitted: {_joined(submission.components_omitted)}",
        "",
        "## Results",
        "",
        *_results(submission),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _labels(submission: Submission) -> Iterator[str]:
    for session in submission.sessions:
        if session.labels:
            marks = ", ".join(session.labels)
            yield f"**{marks}**: every number of `{session.name}`"
            yield ""


def _results(submission: Submission) -> Iterator[str]:
    for configuration in submission.configurations:
        yield f"### {_plain(configuration.name)}"
        yield ""
        for session in configuration.sessions:
            yield from _session(session)
    if submission.largest:
        yield f"Largest workload: [`{submission.largest}`]({submission.largest})"
        yield ""
    for pattern, why in submission.no_result.items():
        yield f"No result of `{_plain(pattern)}`: {_plain(why)}"
        yield ""


def _session(session: SubmittedSession) -> Iterator[str]:
    seeds = ", ".join(str(trial.seed) for trial in session.trials)
    where = "in this folder" if session.raw == "here" else f"at {_plain(session.raw)}"
    yield (
        f"`{session.name}`: {_plain(session.sut)}, measured by"
        f" {_joined(session.monitors)}; {len(session.trials)} trials, seeds {seeds};"
        f" replication {session.replication.upper()}; raw data {where}; chain"
        f" {session.chain}."
    )
    yield ""
    yield "| session | metric | value | unit | standard error | 95 % interval |"
    yield "|---|---|---|---|---|---|"
    for name, metric in session.metrics.items():
        yield _row(session.name, name, metric)
    yield ""
    for name, why in session.no_result.items():
        yield f"* no result of `{name}`: {_plain(why)}"
    if session.no_result:
        yield ""


def _row(session: str, name: str, metric: SubmittedMetric) -> str:
    value = "no result" if metric.value is None else repr(metric.value)
    error = "" if metric.standard_error is None else repr(metric.standard_error)
    interval = (
        ""
        if metric.low is None or metric.high is None
        else f"{metric.low!r} to {metric.high!r}"
    )
    cells = (f"`{session}`", f"`{name}`", value, metric.unit, error, interval)
    return f"| {' | '.join(cells)} |"


def _joined(words: tuple[str, ...]) -> str:
    return ", ".join(map(_plain, words)) or _MISSING


def _plain(text: str) -> str:
    """Return a text for one line of Markdown: no line, cell or tag of its own."""
    safe = one_line(text.strip().replace("\n", " "))
    for sign in "\\`|<>[]":
        safe = safe.replace(sign, f"\\{sign}")
    return safe
