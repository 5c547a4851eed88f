# SPDX-License-Identifier: Apache-2.0
"""Throughput, trial by trial."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.figure import Figure

from rig.report.style import FAINT, GOOD, INK, SERIES, Plot, svg
from rig.results.document import Results
from rig.results.replication import LIMIT


def throughput(results: Results) -> Plot:
    """Draw the throughput of each trial with its uncertainty, their mean, and the limit around
    it.
    """
    metric = results.metrics["throughput"]
    known = [(single, single.value) for single in metric.per_trial if single.value is not None]
    if not known or metric.value is None:
        return Markup(), "Not drawn: no trial has a throughput."
    valid = {trial.number: trial.valid for trial in results.trials}
    figure = Figure(figsize=(10.4, 2.2), layout="constrained")
    axes = figure.subplots()
    average = metric.value
    axes.axhspan(average * (1 - LIMIT), average * (1 + LIMIT), color=GOOD, alpha=0.14, lw=0)
    axes.axhline(average, color=INK, lw=0.9)
    for single, value in known:
        error = 2 * (single.standard_uncertainty or 0.0)
        axes.errorbar(single.trial, value, error, color=FAINT, capsize=3, lw=1)
        axes.plot(
            single.trial,
            value,
            "o",
            ms=6,
            color=SERIES[0],
            mfc=SERIES[0] if valid[single.trial] else "none",
        )
    axes.set(
        xticks=[single.trial for single, _ in known], xlabel="trial", ylabel="samples per second"
    )
    axes.margins(x=0.1)
    caption = (
        "Inferences over the time of all windows; bars: two standard uncertainties. "
        f"Line: the mean; shaded: ±{LIMIT:.0%} of it."
    )
    return svg(figure, "throughput", results.labels), caption
