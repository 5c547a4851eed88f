# SPDX-License-Identifier: Apache-2.0
"""Pictures that several scenarios draw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from rig.model.picture import Picture
from rig.report.style import FAINT, GOOD, INK, SERIES
from rig.results import document
from rig.results.document import MetricResult, TrialResult
from rig.results.replication import LIMIT
from rig.store.session_folder import RESULTS


def of_throughput(folder: Path, name: str) -> list[Picture]:
    """Draw the throughput that is the metric `name`, where the session has it."""
    results = document.read(folder / RESULTS)
    return (
        [throughput(results.metrics[name], results.trials)]
        if name in results.metrics
        else []
    )


def throughput(metric: MetricResult, trials: Sequence[TrialResult]) -> Picture:
    """Draw the throughput of each trial with its uncertainty, their mean, and the limit
    around it.
    """
    title = "Throughput"
    known = [
        (single, single.value)
        for single in metric.per_trial
        if single.value is not None
    ]
    if not known or metric.value is None:
        return Picture(
            "throughput", title, None, "Not drawn: no trial has a throughput."
        )
    valid = {trial.number: trial.valid for trial in trials}
    figure = Figure(figsize=(10.4, 2.2), layout="constrained")
    axes = figure.subplots()
    average = metric.value
    lower, upper = average * (1 - LIMIT), average * (1 + LIMIT)
    axes.axhspan(lower, upper, color=GOOD, alpha=0.14, lw=0)
    axes.axhline(average, color=INK, lw=0.9)
    for single, value in known:
        error = 2 * (single.standard_uncertainty or 0.0)
        axes.errorbar(single.trial, value, error, color=FAINT, capsize=3, lw=1)
        mfc = SERIES[0] if valid[single.trial] else "none"
        axes.plot(
            single.trial,
            value,
            "o",
            ms=6,
            color=SERIES[0],
            mfc=mfc,
        )
    axes.set(
        xticks=[single.trial for single, _ in known],
        xlabel="trial",
        ylabel="samples per second",
    )
    axes.margins(x=0.1)
    caption = (
        "Inferences over the time of all windows; bars: two standard uncertainties. "
        f"Line: the mean; shaded: within {LIMIT:.0%} of it."
    )
    return Picture("throughput", title, figure, caption)
