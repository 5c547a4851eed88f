# SPDX-License-Identifier: Apache-2.0
"""The five-trial rule and the audit rule, at and beside their limits."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.model.metric import Deviation
from rig.results import replication
from rig.results.replication import (
    AUDIT,
    REPLACEMENT,
    one_sided_check,
    replication_check,
    self_consistency_check,
)
from rig.results.verdict import Outcome

audit_check = partial(one_sided_check, AUDIT)
replacement_check = partial(one_sided_check, REPLACEMENT)


OF_COST = {"gap_1s": Deviation.COST}


def trials(*values: float, name: str = "energy_infer") -> list[dict[str, float]]:
    return [{name: value} for value in values]


@pytest.mark.parametrize(
    ("mean", "ok"),
    [
        (1.05, True),
        (0.95, True),
        (1.0501, False),
        (0.9499, False),
        (1.0, True),
        (math.nan, False),
    ],
)
def test_the_mean_of_five_must_lie_within_five_percent_of_the_claim(
    mean: float, ok: bool
) -> None:
    verdict = replication_check({"energy_infer": 1.0}, trials(*[mean] * 5))
    assert verdict.ok is ok
    assert verdict.rule == "replication-5-percent"


def test_single_trials_may_stray_when_there_is_a_claim_but_not_without() -> None:
    strayed = trials(0.9, 1.1, 1.0, 1.0, 1.0)
    assert replication_check({"energy_infer": 1.0}, strayed).ok
    verdict = self_consistency_check(strayed)
    assert not verdict.ok
    assert verdict.rule == "self-consistency-5-percent"
    assert "energy_infer deviates by" in verdict.reason


@given(st.lists(st.floats(1e-9, 1e3), min_size=5, max_size=5), st.floats(1e-9, 1e3))
def test_the_verdict_does_not_depend_on_the_unit(
    values: list[float], claimed: float
) -> None:
    scaled = replication_check(
        {"energy_infer": claimed * 1024}, trials(*[value * 1024 for value in values])
    )
    assert replication_check({"energy_infer": claimed}, trials(*values)).ok == scaled.ok


def test_fewer_than_five_trials_are_no_replication() -> None:
    verdict = replication_check({"energy_infer": 1.0}, trials(1.0, 1.0, 1.0, 1.0))
    assert not verdict.ok and "4 trials of the 5" in verdict.reason


def test_an_invalid_trial_fails_the_verdict() -> None:
    assert (
        "1 of 5 trials are invalid"
        in replication_check(
            {"energy_infer": 1.0}, trials(*[1.0] * 5), invalid=1
        ).reason
    )


def test_a_claim_that_was_not_measured_fails_the_verdict() -> None:
    assert (
        "claimed but not measured: latency"
        in replication_check(
            {"energy_infer": 1.0, "latency": 1.0}, trials(*[1.0] * 5)
        ).reason
    )


def test_a_metric_of_which_a_trial_has_no_number_is_reported_as_not_measured() -> None:
    holed = trials(1.0, math.nan, 1.0, 1.0, 1.0)
    for verdict in (
        replication_check({"energy_infer": 1.0}, holed),
        self_consistency_check(holed),
    ):
        assert verdict.outcome is Outcome.FAIL
        assert verdict.reason == "not measured in every trial: energy_infer"


def test_an_audit_of_what_was_not_measured_says_so() -> None:
    verdict = audit_check({"energy_infer": 1.0}, trials(*[math.nan] * 5))
    assert (verdict.ok, verdict.reason) == (
        False,
        "not measured in every trial: energy_infer",
    )


def test_a_claim_of_zero_is_met_by_zero_only() -> None:
    assert replication_check({"energy_infer": 0.0}, trials(*[0.0] * 5)).ok
    assert not replication_check({"energy_infer": 0.0}, trials(*[1e-12] * 5)).ok


@pytest.mark.parametrize(
    ("higher_is_better", "mean", "ok"),
    [
        (False, 1 / 0.95, True),
        (False, 1.06, False),
        (False, 0.5, True),
        (True, 0.95, True),
        (True, 0.94, False),
        (True, 1.5, True),
        (None, 1.05, True),
        (None, 1.06, False),
        (None, 0.94, False),
    ],
)
def test_the_audit_rule_looks_only_in_the_direction_that_matters(
    higher_is_better: bool | None, mean: float, ok: bool
) -> None:
    verdict = audit_check(
        {"x": 1.0},
        trials(*[mean] * 5, name="x"),
        higher_is_better={"x": higher_is_better},
    )
    assert verdict.ok is ok


def test_an_audit_of_a_metric_that_states_no_direction_looks_both_ways() -> None:
    assert not audit_check({"x": 1.0}, trials(*[0.5] * 5, name="x")).ok
    assert not audit_check({"x": 1.0}, trials(*[1.5] * 5, name="x")).ok


def test_an_audit_of_a_claim_below_zero_still_asks_for_no_more_than_was_claimed():
    for mean, ok in ((-1.0, True), (-0.96, True), (-0.9, False), (-2.0, True)):
        assert (
            audit_check(
                {"x": -1.0},
                trials(*[mean] * 5, name="x"),
                higher_is_better={"x": False},
            ).ok
            is ok
        )


@pytest.mark.parametrize(
    ("count", "audit", "replication"),
    [(0, 0, 0), (1, 1, 0), (4, 1, 0), (5, 1, 1), (6, 0, 0)],
)
def test_the_audit_tries_at_most_five_times_and_replication_is_over_exactly_five(
    count: int, audit: bool, replication: bool
) -> None:
    repeated = trials(*[1.0] * count)
    assert audit_check(
        {"energy_infer": 1.0}, repeated, higher_is_better={"energy_infer": False}
    ).ok is bool(audit)
    assert replication_check({"energy_infer": 1.0}, repeated).ok is bool(replication)


@pytest.mark.parametrize(("claimed", "ok"), [(0.96, True), (0.94, False), (1.5, True)])
def test_a_replacement_of_a_lower_is_better_metric_is_at_most_5_percent_lower(
    claimed: float, ok: bool
) -> None:
    verdict = replacement_check(
        {"x": claimed}, trials(*[1.0] * 3, name="x"), higher_is_better={"x": False}
    )
    assert verdict.ok is ok
    assert replacement_check(
        {"x": 1 / claimed}, trials(1.0, name="x"), higher_is_better={"x": True}
    ).ok is (1 / claimed <= 1.05)


@pytest.mark.parametrize("count", [0, 1, 4, 6])
def test_a_number_of_trials_that_the_rule_is_not_about_is_not_tested(
    count: int,
) -> None:
    verdict = replication_check({"energy_infer": 1.0}, trials(*[1.0] * count))
    assert verdict.outcome is Outcome.NOT_TESTED and not verdict.ok
    assert f"{count} trial" in verdict.reason


def test_a_rule_without_a_metric_to_compare_is_not_tested() -> None:
    verdict = self_consistency_check([{}, {}, {}, {}, {}])
    assert verdict.outcome is Outcome.NOT_TESTED


def test_of_more_than_five_trials_none_is_chosen_and_the_verdict_says_so() -> None:
    for check in (replication_check, audit_check):
        assert check({"energy_infer": 1.0}, trials(*[1.0] * 6)).reason.startswith(
            "6 trials, more than the 5 of the rule"
        )


def test_without_a_claim_more_than_five_trials_are_a_stricter_test() -> None:
    assert self_consistency_check(trials(*[1.0] * 6)).ok
    assert not self_consistency_check(trials(*[1.0] * 6, 1.2)).ok


@pytest.mark.parametrize(
    ("gap", "ok"), [(0.049, True), (-0.049, True), (0.051, False), (math.nan, False)]
)
def test_a_gap_is_compared_by_the_cost_it_stands_for_so_that_a_claim_of_zero_can_be_met(
    gap: float, ok: bool
) -> None:
    verdict = replication_check(
        {"gap_1s": 0.0}, trials(*[gap] * 5, name="gap_1s"), 0, OF_COST
    )
    assert verdict.ok is ok


def test_what_is_named_a_gap_and_makes_no_statement_about_costs_is_compared_relatively() -> (
    None
):
    assert not replication_check(
        {"gap_1s": 0.0}, trials(*[0.049] * 5, name="gap_1s")
    ).ok
    assert replication_check({"gap_1s": 2.0}, trials(*[2.09] * 5, name="gap_1s")).ok


def test_the_audit_wants_95_percent_of_the_cost_that_a_claimed_gap_stands_for() -> None:
    def audited(claimed: float, gap: float) -> bool:
        return audit_check(
            {"gap_1s": claimed},
            trials(*[gap] * 5, name="gap_1s"),
            higher_is_better={"gap_1s": False},
            deviations=OF_COST,
        ).ok

    assert audited(0.0, 0.05)
    assert audited(0.0, -0.5)
    assert not audited(0.0, 0.051)
    assert audited(0.2, 0.24)


@pytest.mark.parametrize(
    ("claimed", "higher", "how", "least", "most"),
    [
        (2.0, None, Deviation.RELATIVE, 1.9, 2.1),
        (2.0, True, Deviation.RELATIVE, 1.9, math.inf),
        (2.0, False, Deviation.RELATIVE, -math.inf, 2.0 / 0.95),
        (-4.0, None, Deviation.RELATIVE, -4.2, -3.8),
        (-4.0, True, Deviation.RELATIVE, -4.2, math.inf),
        (-4.0, False, Deviation.RELATIVE, -math.inf, -4.0 + 4.0 * (1 / 0.95 - 1)),
        # A gap of 0.2 is a cost of 0.8 of the target's.
        (0.2, None, Deviation.COST, 0.16, 0.24),
        (0.2, False, Deviation.COST, -math.inf, 0.24),
        (0.2, True, Deviation.COST, 0.2 - 0.8 * (1 / 0.95 - 1), math.inf),
    ],
)
def test_a_mean_passes_an_audit_up_to_its_limits_and_no_farther(
    claimed: float, higher: bool | None, how: Deviation, least: float, most: float
) -> None:
    limits = replication.passing(claimed, higher, how)
    assert limits == pytest.approx((least, most))
    if higher is None:
        assert replication.band(claimed, how) == pytest.approx((least, most))
    for value, ok in (
        (least + 1e-6, True),
        (least - 1e-6, False),
        (most - 1e-6, True),
        (most + 1e-6, False),
    ):
        if math.isfinite(value):
            verdict = replication.one_sided_check(
                replication.AUDIT,
                {"metric": claimed},
                [{"metric": value}],
                higher_is_better={"metric": higher},
                deviations={"metric": how},
            )
            assert verdict.per_metric["metric"].ok is ok


@pytest.mark.parametrize(
    ("claimed", "mean", "text"),
    [(2.0, 3.0, "1.5 times"), (3.0, 2.0, "1.5 times"), (0.0, 0.25, "by 0.25")],
)
def test_how_much_better_a_claim_is_stands_in_words(
    claimed: float, mean: float, text: str
) -> None:
    test: Any = SimpleNamespace(claimed=claimed, mean=mean)
    assert replication.factor(test) == text
