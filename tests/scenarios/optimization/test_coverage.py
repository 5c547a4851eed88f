# SPDX-License-Identifier: Apache-2.0
"""Intervals of searches hold the truth about as often as they say: a short form of
benchmarks/search_coverage.py, with a seed from the clock.
"""

from __future__ import annotations

import time

import pytest

from benchmarks import search_coverage
from tests.length import length

RUNS = length(400, 250)
#: Ten aims are judged with a new seed each time: one that is met is to fail once in
#: 10^5 times.
CONFIDENCE = 1 - 1e-6
CASES = [
    ("85 % zeros, else exponential", "1x5x5"),
    ("square of an exponential", "1x5x5"),
    ("Poisson, mean 0.3, in 1/45", "4x2x5"),
]


@pytest.mark.computes
@pytest.mark.parametrize(("population", "layout"), CASES)
def test_intervals_of_skewed_costs_and_times_hold_the_truth(
    population: str, layout: str
) -> None:
    seed = time.time_ns() // 1_000_000
    runs = [
        search_coverage.skewed_run(number, population, layout, seed)
        for number in range(RUNS)
    ]
    result = search_coverage.coverage(runs)
    assert {"gap"} <= set(result)
    missed = []
    for name, both in result.items():
        missed += search_coverage.misses(layout, name, both, CONFIDENCE)
    assert not missed, f"seed {seed}"


def test_intervals_that_hold_the_truth_too_rarely_or_are_selected_miss_their_aim() -> (
    None
):
    same = search_coverage.Found(
        runs=RUNS, stated=RUNS, known=RUNS, held=int(0.8 * RUNS), endless=0
    )
    other = search_coverage.Found(
        runs=RUNS, stated=RUNS, known=RUNS - 1, held=int(0.95 * RUNS), endless=9
    )
    first, second = search_coverage.misses("1x5x5", "gap", (same, other), CONFIDENCE)
    assert "same: 80" in first and "withheld in 1 runs" in second
