# SPDX-License-Identifier: Apache-2.0
"""Throughput, trial by trial."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from rig.report.style import FAINT, GOOD, INK, SERIES, Plot, svg
from rig.results.replication import LIMIT


def throughput(content: dict[str, Any]) -> Plot:
    """Draw the throughput of each trial with its uncertainty, their mean, and the limit around
    it.
    """
    metric = content["metrics"]["throughput"]
    known = [one for one in metric["per_trial"] if one["value"] is not None]
    if not known or metric["value"] is None:
        return Markup(), "Not drawn: no trial has a throughput."
    valid = {trial["number"]: trial["valid"] for trial in content["trials"]}
    figure = Figure(figsize=(10.4, 2.2), layout="constrained")
    axes = figure.subplots()
    average = metric["value"]
    axes.axhspan(average * (1 - LIMIT), average * (1 + LIMIT), color=GOOD, alpha=0.14, lw=0)
    axes.axhline(average, color=INK, lw=0.9)
    for one in known:
        error = 2 * (one["standard_uncertainty"] or 0.0)
        axes.errorbar(one["trial"], one["value"], error, color=FAINT, capsize=3, lw=1)
        axes.plot(
            one["trial"],
            one["value"],
            "o",
            ms=6,
            color=SERIES[0],
            mfc=SERIES[0] if valid[one["trial"]] else "none",
        )
    axes.set(xticks=[one["trial"] for one in known], xlabel="trial", ylabel="samples per second")
    axes.margins(x=0.1)
    caption = (
        "Inferences over the time of all windows; bars: two standard uncertainties. "
        f"Line: the mean; shaded: ±{LIMIT:.0%} of it."
    )
    return svg(figure, "throughput", content), caption
