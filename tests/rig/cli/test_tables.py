# SPDX-License-Identifier: Apache-2.0
"""What the command line prints, where there is little room for it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from rig.cli.tables import print_results


def metric(value: float, *deviations: float) -> dict[str, Any]:
    trials = [
        {"trial": n, "value": value * (1 + each)} for n, each in enumerate(deviations, start=1)
    ]
    half = value / 300
    same = {
        "low": value - half,
        "high": value + half,
        "reason": "",
        "expanded_uncertainty": half,
        "standard_uncertainty": half / 2,
    }
    other = {
        "low": value / 2,
        "high": value * 2,
        "reason": "",
        "expanded_uncertainty": None,
        "standard_uncertainty": None,
    }
    return {
        "value": value,
        "unit": "s",
        "standard_error_over_samples": value / 150,
        "budget": [],
        "per_trial": trials,
        "same_samples": same,
        "other_samples": other,
    }


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_results_lose_no_digit_and_no_trial_in_a_narrow_terminal(width: int) -> None:
    away = (-0.1998, -0.0623, -0.1301, 0.1855, 0.2146)
    content = {
        "task": "null",
        "scenario": "single_stream",
        "sut": "virtual",
        "monitor": "virtual",
        "simulated": True,
        "data": {"labels": []},
        "trials": [{"number": n, "valid": True} for n in range(1, 6)],
        "resolution": [],
        "problems": [],
        "metrics": {
            "latency_preprocess": metric(1.151e-3, *away),
            "latency_infer": metric(123.4e-3, *[0.0] * 5),
        },
    }
    out = io.StringIO()
    print_results(Console(file=out, width=width), content)
    text = out.getvalue()
    lines = text.splitlines()
    assert ["1", "2", "3", "4", "5"] in [line.split()[-5:] for line in lines if "metric" in line]
    rows = [line.split() for line in lines if "latency_preprocess" in line]
    assert any(row[-5:] == ["-20.0", "-6.23", "-13.0", "+18.6", "+21.5"] for row in rows)
    assert rows[0][1:9] == ["1.1510", "ms", "±", "0.0038", "0.58", "to", "2.30", "0.0077"]
    assert max(map(len, lines)) <= max(width, 80)
