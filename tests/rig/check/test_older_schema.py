# SPDX-License-Identifier: Apache-2.0
"""Results of an older schema: values count, what budgets and methods made of them does
not."""

from __future__ import annotations

from typing import Any

import pytest

from rig.check import older_schema


def results(**metric: Any) -> dict[str, Any]:
    row = {
        "value": 1.0,
        "statistic": "mean",
        "same_samples": {"low": 0.5},
        "budget": [],
        "per_trial": [{"trial": 1, "value": 1.0, "standard_uncertainty": 0.1}],
    }
    return {
        "metrics": {"x": row | metric},
        "replication": {"ok": True, "rule": "r", "trials": 5, "rule_text": "long"},
        "resolution": [1],
    }


def test_intervals_budgets_and_words_do_not_count_and_values_do() -> None:
    item = older_schema.comparable(results())
    assert item == older_schema.comparable(
        results(same_samples={"low": 0.1}, budget=[1])
    )
    assert item != older_schema.comparable(results(value=1.1))
    other = older_schema.comparable(results(per_trial=[{"trial": 1, "value": 1.1}]))
    assert item != other
    reported = results()
    reported["replication"] |= {"ok": False}
    assert item != older_schema.comparable(reported)


@pytest.mark.parametrize(
    "tree",
    [None, [], "text", {}, {"metrics": None}, {"metrics": {"x": 1}, "replication": 2}],
)
def test_whatever_a_file_of_a_stranger_holds_is_compared(tree: Any) -> None:
    again = older_schema.comparable(results())
    assert older_schema.comparable(tree) != again
    older_schema.without_settings(older_schema.comparable(tree), again)
    assert older_schema.comparable(results(per_trial=[3], value=None)) != again
    assert older_schema.comparable({"metrics": {"x": {"per_trial": 3}}}) != again


def test_an_estimate_that_has_no_value_any_more_is_left_out_and_another_metric_is_not():
    stored = older_schema.comparable(results(statistic="estimate"))
    again = older_schema.comparable(results(statistic="estimate", value=None))
    assert older_schema.without_settings(stored, again)["metrics"]["x"]["value"] is None
    mean = older_schema.comparable(results())
    without = older_schema.comparable(results(value=None))
    assert older_schema.without_settings(mean, without)["metrics"]["x"]["value"] == 1.0


def test_a_sample_is_compared_without_its_uncertainties() -> None:
    line = {
        "windows": [{"energy_j": 1.0, "energy_u_j": 0.1, "latency_u_s": 0.1}],
        "step": 1,
    }
    assert older_schema.sample(line) == {"windows": [{"energy_j": 1.0}], "step": 1}
