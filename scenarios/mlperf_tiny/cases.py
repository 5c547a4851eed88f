# SPDX-License-Identifier: Apache-2.0
"""Answers to cases: all windows of one file are one case, whose scores are their mean;
the quality of a set of cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rig.model.metric import Metric, Prominence, Statistic
from rig.model.trial import Sample
from rig.stats.summary import mean
from scenarios.mlperf_tiny.roc import Area, area, one_against_rest


@dataclass(frozen=True, slots=True)
class Case:
    """One file: its class, and a score for each class, or one score of its being class
    1."""

    label: int
    scores: tuple[float, ...]

    @property
    def correct(self) -> bool:
        """Whether the right class has the highest score; of equal ones, the
        first counts."""
        return self.scores.index(max(self.scores)) == self.label


def cases(samples: Sequence[Sample]) -> list[Case]:
    """Return the cases of a trial's samples, in the order of their first windows."""
    grouped: dict[str, list[Sample]] = {}
    for sample in samples:
        grouped.setdefault(sample.case or f"sample {sample.indices[0]}", []).append(
            sample
        )
    listed = []
    for windows in grouped.values():
        shares = [_shares(window.scores) for window in windows]
        label = int(windows[0].label)
        listed.append(
            Case(
                label,
                tuple(mean(column) for column in zip(*shares, strict=True)),
            )
        )
    return listed


def quality(of_cases: Sequence[Case]) -> dict[str, Metric]:
    """Return `accuracy` (Top-1, of several scores a case) and `auc`, each with its
    standard error over the choice of cases.
    """
    if not of_cases:
        return {}
    metrics: dict[str, Metric] = {}
    if len(of_cases[0].scores) > 1:
        right = [case.correct for case in of_cases]
        metrics["accuracy"] = Metric.of_share(right, True, Prominence.HEADLINE)
    under = _area(of_cases)
    if not math.isnan(under.value):
        metrics["auc"] = Metric(
            under.value,
            "1",
            under.standard_error,
            len(of_cases),
            higher_is_better=True,
            statistic=Statistic.AREA,
            prominence=Prominence.HEADLINE,
            bounded=True,
        )
    return metrics


def _area(of_cases: Sequence[Case]) -> Area:
    # As the benchmark's runner: two scores are judged by that of class 1, more of them
    # one class against the rest.
    if len(of_cases[0].scores) <= 2:
        return area(
            [case.label == 1 for case in of_cases],
            [case.scores[-1] for case in of_cases],
        )
    return one_against_rest(
        [case.label for case in of_cases], [case.scores for case in of_cases]
    )


def _shares(scores: Sequence[float]) -> tuple[float, ...]:
    """Return several scores as shares of their sum, as the benchmark's runner does,
    where they can be shares at all.
    """
    total = math.fsum(scores)
    if len(scores) == 1 or total <= 0.0 or min(scores) < 0.0:
        return tuple(scores)
    return tuple(score / total for score in scores)
