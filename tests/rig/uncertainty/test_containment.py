# SPDX-License-Identifier: Apache-2.0
"""The interval for other samples contains the one for the same samples."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.populations import Draw, cities, recordings, unsteady
from rig.session.session import open_bench
from rig.uncertainty import budget, other_samples
from rig.uncertainty.jackknife import jackknife
from tests.conftest import ROOT


def narrower(draw: Draw) -> list[str]:
    """Return the metrics whose interval for other samples leaves out a part of the
    other one."""
    knife = jackknife(draw.trials, draw.catalogue, draw.summarise)
    result = []
    for name in draw.trials[0].metrics:
        single = [trial.metrics[name] for trial in draw.trials]
        both = other_samples.intervals(
            name, single, budget.of_metric(name, draw.trials), knife
        )
        same, other = both.same_samples, both.other_samples
        if (
            same.known
            and other.known
            and not (other.low <= same.low and other.high >= same.high)
        ):
            result.append(f"{name}: {same.low, same.high} in {other.low, other.high}")
    return result


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    trials=st.sampled_from([1, 2, 3, 5]),
    count=st.sampled_from([3, 4, 7]),
    mean=st.sampled_from([0.5, 0.9, 0.99]),
)
def test_other_samples_contain_the_same_ones_whatever_trials_and_recordings(
    seed: int, trials: int, count: int, mean: float
) -> None:
    draw = recordings(count, 3, mean, 0.2, trials=trials)(random.Random(seed))
    assert not narrower(draw)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    trials=st.sampled_from([2, 3, 5]),
    sizes=st.lists(st.integers(1, 4), min_size=3, max_size=5),
)
def test_other_samples_contain_the_same_ones_for_any_sizes_of_cities(
    seed: int, trials: int, sizes: list[int]
) -> None:
    assert not narrower(cities(sizes, 0.7, 0.05, trials=trials)(random.Random(seed)))


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    trials=st.sampled_from([2, 3, 5]),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_other_samples_contain_the_same_ones_where_answers_change(
    seed: int, trials: int, share: float
) -> None:
    draw = unsteady(12, share, 0.8, trials=trials)(random.Random(seed))
    assert not narrower(draw)


def contains(
    other: Mapping[str, float | None], same: Mapping[str, float | None]
) -> bool:
    """Return whether an interval of results.json holds another one; so it is where one
    is not known.
    """
    ends = same["low"], same["high"], other["low"], other["high"]
    if any(end is None for end in ends):
        return True
    low, high, least, most = (float(end or 0.0) for end in ends)
    return least <= low and most >= high


@pytest.mark.parametrize("trials", [2, 3, 5])
@pytest.mark.parametrize(
    ("bench", "overrides"),
    [
        (
            "virtual-null.toml",
            (
                "task.null.samples=8",
                "scenario.single_stream.idle_s=0.05",
                "sut.virtual.error_rate=0.3",
                "sut.virtual.infer.variation=0.01",
            ),
        ),
        (
            "virtual-real-time.toml",
            ("scenario.real_time.duration_s=20", "sut.virtual.infer.variation=0.01"),
        ),
        ("virtual-offline.toml", ("sut.virtual.error_rate=0.3",)),
        ("virtual-tiny.toml", ()),
    ],
)
def test_other_samples_contain_the_same_ones_in_sessions_of_virtual_benches(
    tmp_path: Path, bench: str, overrides: tuple[str, ...], trials: int
) -> None:
    with open_bench(ROOT / "benches" / bench, overrides) as opened:
        metrics = opened.run(trials, tmp_path).content["metrics"]
    assert metrics
    for name, metric in metrics.items():
        assert contains(metric["other_samples"], metric["same_samples"]), name
