# SPDX-License-Identifier: Apache-2.0
"""The picture of the power that MLPerf Tiny's checker asks for of a metered stream."""

from __future__ import annotations

from pathlib import Path

from rig.errors import ConfigError
from rig.submission.entries import FinishedSession

_DPI = 150


def draw(session: FinishedSession, to: Path) -> None:
    """Draw the power of trial 1, as a file of PNG; raise ConfigError where its trace
    lies in another place.
    """
    # Here, because it brings matplotlib.
    from matplotlib.figure import Figure

    from rig.report import power
    from rig.trace.trace import TRACE, Trace

    rail = next(iter(session.results.provenance.monitors))
    path = session.folder.recorded(1) / rail / TRACE
    if not path.exists():
        raise ConfigError(
            f"{session.name} has no trace of its power",
            path="SESSION",
            evidence=f"{path} is missing",
            try_next="the session with its traces",
        )
    trace = Trace.open(path)
    figure = Figure(figsize=(10.4, 4.0), layout="constrained")
    axes = figure.subplots()
    _, how = power.draw_power(axes, trace, (0.0, trace.duration_s), 0.0)
    axes.set_xlabel("time in the recording (ms)")
    axes.set_title(f"Trial 1. {how}", fontsize="small")
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, format="png", dpi=_DPI)
