# SPDX-License-Identifier: Apache-2.0
"""A NIR file mapped by a backend's SDK, in a worker without a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sut_backends.workers.network_report import Report, reported
from sut_backends.workers.process import Place


def mapped(
    runner: str,
    place: Place,
    model: Path,
    dt_s: float | None,
    settings: Mapping[str, Any],
    rule: str = "",
) -> dict[str, Any]:
    """Return the report of a runner's `map_network`; BenchError where the SDK is
    missing, or cannot be this network.
    """
    what = Report(runner, "map_network", "is not mapped")
    return reported(what, place, model, dt_s, settings, rule=rule)
