# SPDX-License-Identifier: Apache-2.0
"""Metrics as a scenario declares them before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """Unit and direction of a metric, whether it lies between 0 and 1 (`bounded`), and
    whether it can be below 0 (`signed`).
    """

    unit: str
    higher_is_better: bool | None
    bounded: bool = False
    signed: bool = False


@dataclass(frozen=True, slots=True)
class DeclaredMetrics:
    """The metrics that trials of a plan may give, and those that they cannot give with
    these settings, with the reason.
    """

    metrics: Mapping[str, DeclaredMetric]
    absent: Mapping[str, str] = field(default_factory=dict)
