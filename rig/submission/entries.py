# SPDX-License-Identifier: Apache-2.0
"""Finished sessions as a submission states them, with the facts of instruments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, DataError
from rig.results import results
from rig.results.document import MetricResult, Results
from rig.results.submission_file import (
    SoftwareVersions,
    SubmittedMetric,
    SubmittedSession,
    SubmittedTrial,
)
from rig.store import verified
from rig.store.session_folder import SessionFolder
from rig.units import quantity


@dataclass(frozen=True, slots=True)
class FinishedSession:
    """A finished session to submit: its folder, and its results as they are stored."""

    folder: SessionFolder
    results: Results
    chain: str

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.path.absolute().name

    @property
    def metadata(self) -> dict[str, Any]:
        """What its bench file states in [metadata]."""
        return self.results.provenance.metadata

    @property
    def versions(self) -> SoftwareVersions:
        """The software that measured it."""
        own = self.results.provenance
        return SoftwareVersions(own.neurorig, own.revision, own.python, own.packages)


def read(path: Path) -> FinishedSession:
    """Read a session; raise DataError where it did not finish, or was changed."""
    folder = SessionFolder(path)
    folder.refuse_other()
    folder.refuse_unfinished()
    journal = folder.journal()
    if changes := verified.changes(folder, journal=journal):
        raise DataError(
            f"{path} was changed after the run",
            evidence=str(changes[0]),
            try_next=f"rig check {path}",
        )
    return FinishedSession(folder, results.read(folder), journal.head)


def benchmark_of(sessions: Sequence[FinishedSession]) -> str:
    """Return the task that all sessions have; raise ConfigError where they differ, or
    two have one name.
    """
    tasks = {session.results.task for session in sessions}
    if len(tasks) > 1:
        raise ConfigError(
            "the sessions are of several tasks",
            path="SESSION",
            evidence=", ".join(sorted(tasks)),
            try_next="one submission for each task",
        )
    names = [session.name for session in sessions]
    if len(set(names)) < len(names):
        raise ConfigError(
            "two sessions have the same name",
            path="SESSION",
            evidence=", ".join(sorted(names)),
            try_next="each session once",
        )
    return tasks.pop()


def stated(session: FinishedSession, raw: str) -> SubmittedSession:
    """State a session: all of its numbers, and its labels."""
    own = session.results
    monitors = tuple(info.name for info in own.provenance.monitors.values())
    trials = []
    for trial, count in zip(own.trials, own.samples.per_trial, strict=True):
        trials.append(SubmittedTrial(trial.number, trial.seed, count, trial.valid))
    return SubmittedSession(
        name=session.name,
        raw=raw,
        chain=session.chain,
        bench_sha256=own.provenance.bench_sha256,
        scenario=own.scenario,
        sut=own.sut,
        monitors=monitors,
        labels=tuple(label.text for label in own.labels),
        replication=own.replication.judged,
        trials=tuple(trials),
        metrics={name: _metric(metric) for name, metric in own.metrics.items()},
        no_result=own.absent,
    )


def _metric(metric: MetricResult) -> SubmittedMetric:
    return SubmittedMetric(
        value=metric.value,
        unit=metric.unit,
        standard_error=metric.standard_error_over_samples,
        low=metric.same_samples.low,
        high=metric.same_samples.high,
        per_trial=tuple(each.value for each in metric.per_trial),
    )


def facts(sessions: Sequence[FinishedSession]) -> dict[str, str]:
    """Describe instruments and time stamps by the sessions' facts, for the sections of
    the report with these keys.
    """
    devices: dict[str, None] = {}
    rates: dict[str, None] = {}
    clocks: dict[str, None] = {}
    for session in sessions:
        own = session.results.provenance
        ticks = f"the device's ticks of {quantity(1 / own.sut.tick_hz, 's')}"
        for info in own.monitors.values():
            serial = f", serial {info.serial}" if info.serial else ""
            devices[f"{info.name}{serial}"] = None
            rates[f"{quantity(float(info.sample_hz), 'Hz')} ({info.name})"] = None
            edges = quantity(float(info.edge_hz), "Hz")
            clocks[f"{ticks}, aligned with edges seen at {edges} ({info.name})"] = None
        if not own.monitors:
            clocks[f"{ticks}, checked by no monitor"] = None
    return {
        "latency.description": "; ".join(clocks),
        "power.device": "; ".join(devices),
        "power.time_resolution": "; ".join(rates),
    }
