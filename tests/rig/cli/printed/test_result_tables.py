# SPDX-License-Identifier: Apache-2.0
"""Output of the command line in narrow terminals."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rig.cli.printed.result_tables import print_results
from rig.results.document import IntervalResult, MetricResult, TrialValue
from tests.results_by_hand import RESULTS, trial


def metric(value: float, *deviations: float) -> MetricResult:
    half = value / 300
    return MetricResult(
        value=value,
        unit="s",
        higher_is_better=False,
        standard_error_over_samples=value / 150,
        same_samples=IntervalResult(
            value - half,
            value + half,
            "",
            "",
            reason="",
            standard_uncertainty=half / 2,
            coverage_factor=2.0,
            expanded_uncertainty=half,
        ),
        other_samples=IntervalResult(
            value / 2,
            value * 2,
            "",
            "",
            reason="",
            standard_uncertainty=None,
            coverage_factor=None,
            expanded_uncertainty=None,
        ),
        budget=(),
        per_trial=tuple(
            TrialValue(number, value * (1 + away), None, None, 1)
            for number, away in enumerate(deviations, start=1)
        ),
    )


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_results_lose_no_digit_and_no_trial_in_a_narrow_terminal(
    width: int,
) -> None:
    away = (-0.1998, -0.0623, -0.1301, 0.1855, 0.2146)
    results = replace(
        RESULTS,
        trials=tuple(trial(number) for number in range(1, 6)),
        metrics={
            "latency_preprocess": metric(1.151e-3, *away),
            "latency_infer": metric(123.4e-3, *[0.0] * 5),
        },
    )
    out = io.StringIO()
    print_results(Console(file=out, width=width), results)
    text = out.getvalue()
    lines = text.splitlines()
    assert ["1", "2", "3", "4", "5"] in [
        line.split()[-5:] for line in lines if "metric" in line
    ]
    rows = [line.split() for line in lines if "latency_preprocess" in line]
    assert any(
        row[-5:] == ["-20.0", "-6.23", "-13.0", "+18.6", "+21.5"] for row in rows
    )
    assert rows[0][1:9] == [
        "1.1510",
        "ms",
        "±",
        "0.0038",
        "0.58",
        "to",
        "2.3",
        "0.0077",
    ]
    assert max(map(len, lines)) <= max(width, 80)
