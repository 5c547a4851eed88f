# SPDX-License-Identifier: Apache-2.0
"""WADE against equation (2) of its paper, computed here in another way: step by step
along the curve of each search.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.session.session import open_bench
from scenarios.optimization import wade
from tests.conftest import ROOT


def by_counting(latencies_s: list[float | None], gaps: list[float]) -> float:
    """Count whole milliseconds until the curve is at or above each threshold, in
    fractions of whole numbers.
    """
    total = weight = Fraction(0)
    for latency_s, gap in zip(latencies_s, gaps, strict=True):
        alpha = 1 - Fraction(str(gap))
        weight += alpha
        steps = 1
        while latency_s is not None and Fraction(steps, 1000) < Fraction(
            str(latency_s)
        ):
            steps += 1
        if latency_s is not None:
            total += alpha / steps
    return float(total / weight)


@given(
    st.lists(
        st.one_of(st.none(), st.integers(1, 200).map(lambda tenths: tenths / 1e4)),
        min_size=11,
        max_size=11,
    )
)
def test_it_is_the_equation_of_the_paper_in_whole_steps(
    latencies_s: list[float | None],
) -> None:
    result = wade.value(latencies_s, wade.GAPS)
    assert result == pytest.approx(by_counting(latencies_s, list(wade.GAPS)), rel=1e-12)
    assert 0 <= result <= 1


def test_a_latency_of_whole_steps_is_no_further_step_whatever_its_rounding() -> None:
    assert [wade.steps(0.001 * count) for count in range(1, 100)] == list(range(1, 100))
    assert wade.steps(0.0) == wade.steps(1e-6) == 1
    assert wade.steps(0.0010001) == 2


def test_default_thresholds_are_more_than_ten_evenly_spaced_and_hold_the_rules():
    alphas = [1 - gap for gap in wade.GAPS]
    assert alphas == pytest.approx([0.09 * count for count in range(1, 12)])
    assert wade.is_as_published(wade.GAPS) and wade.name(wade.GAPS) == "wade"
    assert {0.1, 0.01} <= set(wade.GAPS)


@pytest.mark.parametrize(
    ("gaps", "name"),
    [
        ((0.3, 0.1, 0.05, 0.01), "wade_of_4"),
        (tuple(0.09 * count for count in range(1, 11)), "wade_of_10"),
        ((*wade.GAPS[:-1], 0.05), "wade_of_11"),
        ((0.0, *wade.GAPS), "wade_of_12"),
    ],
)
def test_thresholds_that_are_not_those_of_the_paper_are_in_the_name(
    gaps: tuple[float, ...], name: str
) -> None:
    assert wade.name(gaps) == name


@pytest.fixture(autouse=True)
def compiler() -> None:
    """The search is compiled for this host on first use."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler: apt-get install gcc libc6-dev")


def test_on_the_virtual_bench_it_is_what_its_samples_give_and_what_was_computed_by_hand(
    tmp_path: Path,
) -> None:
    gaps = [0.3, 0.1, 0.05, 0.01]
    path = tmp_path / "targets.csv"
    # The targets of the numbers below.
    path.write_text(
        "num_vertices,density,random_seed,c_optimal\n100,0.05,0,-44\n250,0.05,0,-69\n"
    )
    few = [
        f"task.qubo.official={path}",
        f"scenario.optimization.curve={gaps}",
        "scenario.optimization.reseed=false",
        "scenario.optimization.timeouts_s=[]",
    ]
    with open_bench(ROOT / "benches" / "virtual-qubo.toml", few) as bench:
        result = bench.run(1, tmp_path / "sessions")
    lines = map(
        json.loads,
        (result.folder / "trial-1" / "samples.jsonl").read_text().splitlines(),
    )
    own = {
        line["case"]: by_counting(latencies(line, gaps), gaps)
        for line in lines
        if "solve" in line
    }
    assert result.metrics["wade_of_4_100n_5pct"].value == pytest.approx(
        own["100n_5pct"], rel=1e-9
    )
    assert result.metrics["wade_of_4"].value == pytest.approx(
        sum(own.values()) / 2, rel=1e-9
    )
    # Fractional steps gave 0.777 and 0.583.
    assert result.metrics["wade_of_4_100n_5pct"].value == pytest.approx(0.656, abs=5e-4)
    assert result.metrics["wade_of_4"].value == pytest.approx(0.504, abs=1e-3)


def latencies(line: dict[str, Any], gaps: list[float]) -> list[float | None]:
    """Return when a search knew the cost of each gap: its thresholds are reported in
    one form, its target in another.
    """
    target = line["costs"]["official"]
    result = []
    for gap in gaps:
        cost = max(
            cost
            for cost in range(target, 1)
            if Fraction(cost - target, -target) <= Fraction(str(gap))
        )
        (crossing,) = [item for item in line["crossings"] if item["threshold"] == cost]
        result.append(crossing["window"] and round(crossing["window"]["latency_s"], 7))
    return result
