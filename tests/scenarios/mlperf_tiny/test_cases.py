# SPDX-License-Identifier: Apache-2.0
"""Cases: windows of a file are judged together, as the benchmark's runner does.

The area under the ROC curve, against pairs counted one by one and against values
from other sources.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.model.trial import Sample
from scenarios.mlperf_tiny.scenario import (
    Area,
    Case,
    area,
    cases,
    one_against_rest,
    quality,
)
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


#: Few different scores, so that ties are the rule.
CASES = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0])),
    min_size=2,
    max_size=30,
)


def by_pairs(positive: Sequence[bool], scores: Sequence[float]) -> float:
    """Count pairs of a positive and a negative whose positive scores higher; a tie is
    half a pair.
    """
    above = [score for score, mine in zip(scores, positive, strict=True) if mine]
    below = [score for score, mine in zip(scores, positive, strict=True) if not mine]
    won = sum(
        1.0 if high > low else 0.5 if high == low else 0.0
        for high, low in product(above, below)
    )
    return won / (len(above) * len(below)) if above and below else math.nan


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        (
            [0, 0, 1, 1],
            [0.1, 0.4, 0.35, 0.8],
            0.75,
        ),  # the example in the documentation of sklearn's roc_auc_score
        ([0, 0, 1, 1], [1, 2, 3, 4], 1.0),
        ([1, 1, 0, 0], [1, 2, 3, 4], 0.0),
        ([0, 1, 0, 1], [5, 5, 5, 5], 0.5),
        ([0, 1], [7, 7], 0.5),
        ([0, 0, 0, 1], [1, 2, 2, 2], 2 / 3),
        # Hanley and McNeil 1982, table I: 109 CT images in five ratings, 51 abnormal,
        # 58 normal; by trapezoids 0.893.
        (
            [1] * 51 + [0] * 58,
            [1] * 3
            + [2] * 2
            + [3] * 2
            + [4] * 11
            + [5] * 33
            + [1] * 33
            + [2] * 6
            + [3] * 6
            + [4] * 11
            + [5] * 2,
            0.8931711,
        ),
    ],
)
def test_known_areas(labels: list[int], scores: list[float], expected: float) -> None:
    assert area([label == 1 for label in labels], scores).value == pytest.approx(
        expected, abs=1e-6
    )


@given(CASES)
def test_it_is_the_share_of_pairs_that_stand_in_the_right_order(
    cases: list[tuple[bool, float]],
) -> None:
    positive = [mine for mine, _ in cases]
    scores = [score for _, score in cases]
    assert area(positive, scores).value == pytest.approx(
        by_pairs(positive, scores), abs=1e-12, nan_ok=True
    )


@given(CASES)
def test_turning_sides_or_scores_around_gives_the_rest(
    cases: list[tuple[bool, float]],
) -> None:
    positive = [mine for mine, _ in cases]
    scores = [score for _, score in cases]
    value = area(positive, scores).value
    assert area([not mine for mine in positive], scores).value == pytest.approx(
        1 - value, nan_ok=True
    )
    assert area(positive, [-score for score in scores]).value == pytest.approx(
        1 - value, nan_ok=True
    )
    assert area(positive, [math.exp(score) for score in scores]).value == pytest.approx(
        value, nan_ok=True
    )


@given(CASES)
def test_the_standard_error_is_that_of_delong(cases: list[tuple[bool, float]]) -> None:
    positive = [mine for mine, _ in cases]
    scores = [score for _, score in cases]
    above = [score for score, mine in zip(scores, positive, strict=True) if mine]
    below = [score for score, mine in zip(scores, positive, strict=True) if not mine]
    result = area(positive, scores).standard_error
    if len(above) < 2 or len(below) < 2:
        assert result is None
        return
    # Each case against the whole other side, written out.
    of_positives = [
        by_pairs([True] + [False] * len(below), [high, *below]) for high in above
    ]
    of_negatives = [
        by_pairs([False] + [True] * len(above), [low, *above]) for low in below
    ]
    variance = sum(
        _variance(values) / len(values) for values in (of_positives, of_negatives)
    )
    assert (result or 0.0) == pytest.approx(math.sqrt(variance), abs=1e-9)


def _variance(values: Sequence[float]) -> float:
    centre = sum(values) / len(values)
    return sum((value - centre) ** 2 for value in values) / (len(values) - 1)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.lists(st.sampled_from([0.0, 0.2, 0.5]), min_size=4, max_size=4),
        ),
        min_size=2,
        max_size=25,
    )
)
def test_several_classes_are_judged_one_against_the_rest(
    cases: list[tuple[int, list[float]]],
) -> None:
    labels = [label for label, _ in cases]
    table = [scores for _, scores in cases]
    single = []
    for column in range(4):
        mine = [label == column for label in labels]
        single.append(by_pairs(mine, [row[column] for row in table]))
    known = [value for value in single if not math.isnan(value)]
    expected = sum(known) / len(known) if known else math.nan
    assert one_against_rest(labels, table).value == pytest.approx(
        expected, abs=1e-12, nan_ok=True
    )


def test_one_side_without_cases_has_no_area() -> None:
    assert math.isnan(area([True, True], [1.0, 2.0]).value)
    assert math.isnan(area([], []).value)
    assert math.isnan(one_against_rest([1, 1], [[0.0, 1.0], [0.0, 1.0]]).value)


def test_a_perfect_order_has_no_standard_error() -> None:
    positive = [False, False, True, True]
    for scores in ([0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.2, 0.1], [0.5] * 4):
        assert area(positive, scores).standard_error is None
    labels = [0, 0, 1, 1, 2, 2]
    rows = np.eye(3)[labels].tolist()
    assert one_against_rest(labels, rows) == Area(1.0, None)
