# SPDX-License-Identifier: Apache-2.0
"""Cases: windows of a file are judged together, as the benchmark's runner does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rig.model.trial import Sample
from scenarios.mlperf_tiny.cases import Case, cases, quality
from tests.samples import sample_of


def answered(*rows: tuple[str, int, Sequence[float]]) -> list[Sample]:
    """Return samples of (file, class, scores)."""
    return [
        sample_of(
            number,
            (),
            label=str(label),
            correct=False,
            scores=tuple(map(float, scores)),
            case=file,
            timed=False,
        )
        for number, (file, label, scores) in enumerate(rows)
    ]


def test_the_windows_of_a_file_are_one_case_with_their_mean_score() -> None:
    result = cases(
        answered(
            ("a", 1, [4]), ("b", 0, [1]), ("a", 1, [8]), ("b", 0, [2]), ("a", 1, [3])
        )
    )
    assert result == [Case(1, (5.0,)), Case(0, (1.5,))]


def test_windows_with_several_scores_are_averaged_as_shares_of_their_sums() -> None:
    # Shares 0.75, 0.25 and 0.2, 0.8: by shares class 1 wins, although the plain sum of
    # scores says class 0.
    result = cases(answered(("a", 1, [75, 25]), ("a", 1, [2, 8])))
    assert result == [Case(1, pytest.approx((0.475, 0.525)))]
    assert result[0].correct


@pytest.mark.parametrize("scores", [(0.0, 0.0), (-3.0, 5.0), (-4.0, -1.0)])
def test_scores_that_cannot_be_shares_stay_as_they_are(
    scores: tuple[float, float],
) -> None:
    assert cases(answered(("a", 0, scores))) == [Case(0, scores)]


def test_the_first_of_equal_scores_is_the_answer() -> None:
    assert Case(1, (0.2, 0.4, 0.4)).correct
    assert not Case(2, (0.2, 0.4, 0.4)).correct


def test_top_1_is_the_share_of_files_and_not_of_windows() -> None:
    # Two files: one right in three windows, one wrong in one.
    result = cases(answered(*[("a", 0, [9, 1])] * 3, ("b", 1, [9, 1])))
    metrics = quality(result)
    assert (metrics["accuracy"].value, metrics["accuracy"].n) == (0.5, 2)


def test_one_score_a_file_has_an_area_but_no_top_1() -> None:
    metrics = quality(
        cases(answered(("a", 0, [1]), ("b", 1, [5]), ("c", 0, [4]), ("d", 1, [3])))
    )
    assert list(metrics) == ["auc"]
    assert metrics["auc"].value == 0.75


def test_two_scores_are_judged_by_that_of_class_1() -> None:
    metrics = quality(
        cases(
            answered(
                ("a", 0, [0.9, 0.1]),
                ("b", 1, [0.1, 0.9]),
                ("c", 0, [0.6, 0.4]),
                ("d", 1, [0.65, 0.35]),
            )
        )
    )
    assert metrics["auc"].value == 0.75
    assert metrics["accuracy"].value == 0.75


def test_without_cases_of_both_sides_there_is_no_area() -> None:
    assert "auc" not in quality(
        cases(answered(("a", 1, [0.1, 0.9]), ("b", 1, [0.2, 0.8])))
    )
    assert quality([]) == {}


def test_samples_of_no_named_case_are_cases_of_their_own() -> None:
    assert len(cases(answered(("", 0, [1, 0]), ("", 1, [0, 1])))) == 2
