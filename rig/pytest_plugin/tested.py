# SPDX-License-Identifier: Apache-2.0
"""Sessions of tests: they note which of their metrics a test looked up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from rig.api.sessions.metric import WORDS, Metrics, SessionMetric
from rig.api.sessions.session import Session


class TestedMetrics(Metrics):
    """Metrics that note which of them a test looked up."""

    __test__ = False

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(dict(metrics), metrics.absent)
        self.looked_up: dict[str, SessionMetric] = {}

    def __getitem__(self, name: str) -> SessionMetric:
        metric = super().__getitem__(name)
        self.looked_up[name] = metric
        return metric


class TestedSession(Session):
    """A session that notes which of its metrics a test looked up."""

    __test__ = False

    @cached_property
    def tested(self) -> TestedMetrics:
        """The metrics."""
        return TestedMetrics(super().metrics)

    @property
    def metrics(self) -> TestedMetrics:
        """The metrics by name."""
        return self.tested


def properties(session: TestedSession, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the properties of a session and of the metrics that were looked up, for a
    report for machines.
    """
    path = session.path.resolve()
    inside = path.is_relative_to(root.resolve())
    yield (
        "rig.session",
        (path.relative_to(root.resolve()).as_posix() if inside else path.name),
    )
    yield "rig.verdict", session.verdict.outcome.upper()
    yield "rig.labels", ", ".join(session.labels)
    for name, metric in session.tested.looked_up.items():
        yield f"rig.{name}.value", repr(metric.value)
        yield f"rig.{name}.unit", metric.unit
        interval = metric.same_samples
        yield (
            f"rig.{name}.interval",
            (
                f"{interval.low!r} to {interval.high!r}"
                if interval.known
                else interval.reason
            ),
        )
        yield f"rig.{name}.verdict", WORDS[metric.verdict]
