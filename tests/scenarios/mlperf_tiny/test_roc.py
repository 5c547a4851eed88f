# SPDX-License-Identifier: Apache-2.0
"""The area under the ROC curve, against pairs counted one by one and against values
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

from scenarios.mlperf_tiny.roc import Area, area, one_against_rest

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
