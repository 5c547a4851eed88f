# SPDX-License-Identifier: Apache-2.0
"""The score of detections: cases by hand, and the runner's own file where a clone of
mlcommons/tiny is named.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.common.event_scoring import (
    Detected,
    limits_line,
    result_lines,
    scored,
)

CLONE = "MLPERF_TINY_CLONE"
WORDS = [(1.0, 1.5), (10.0, 10.6)]


@pytest.mark.parametrize(
    ("times_ms", "found_s", "false_s"),
    [
        ([], (), ()),
        ([1000], (1.0,), ()),
        ([999], (), (0.999,)),
        ([3500], (1.0,), ()),
        ([3501], (), (3.501,)),
        ([1200, 1400, 3400, 12_600], (1.0, 10.0), ()),
        # "20.0, 20.9, 21.0, 21.1": detections up to 1.0 s after the first are hidden
        ([20_000, 20_900, 21_000, 21_100], (), (20.0, 21.1)),
        ([20_000, 20_900, 21_001, 21_900, 22_002], (), (20.0, 21.001, 22.002)),
        # two in one millisecond hide neither
        ([20_000, 20_000, 20_001], (), (20.0, 20.0)),
        # detections of a word hide none
        ([3400, 3600], (1.0,), (3.6,)),
    ],
)
def test_a_word_counts_until_two_seconds_after_it_and_false_ones_hide_others(
    times_ms: list[int], found_s: tuple[float, ...], false_s: tuple[float, ...]
) -> None:
    detected = scored(times_ms, WORDS)
    assert detected.found_s == found_s
    assert detected.false_s == false_s
    assert sorted(detected.found_s + detected.missed_s) == [1.0, 10.0]


def test_a_detection_in_two_words_is_the_first_ones() -> None:
    detected = scored([2000], [(1.0, 1.5), (1.9, 2.2)])
    assert detected.found_s == (1.0,)
    assert detected.missed_s == (1.9,)


def test_a_detection_in_two_words_is_the_first_one_of_them() -> None:
    assert scored([1900], [(0.5, 1.0), (1.0, 2.0)]).found_s == (0.5,)


@pytest.mark.parametrize(
    ("missed", "false", "kept"), [(8, 8, True), (9, 0, False), (0, 9, False)]
)
def test_the_rules_allow_eight_of_each(missed: int, false: int, kept: bool) -> None:
    detected = Detected((), (0.0,) * missed, (1.0,) * false)
    assert detected.within_limits is kept


@pytest.mark.parametrize(
    ("found", "missed", "false", "end"),
    [
        (42, 8, 8, "are kept."),
        (42, 8, 9, "are not kept."),
        (3, 0, 0, "are those of 50 words; this signal has 3."),
        (40, 9, 9, "are those of 50 words; this signal has 49."),
    ],
)
def test_only_of_fifty_words_the_limits_are_kept_or_not(
    found: int, missed: int, false: int, end: str
) -> None:
    detected = Detected((0.0,) * found, (1.0,) * missed, (2.0,) * false)
    assert limits_line(detected).endswith(end)


def test_the_lines_are_those_that_the_submission_checker_looks_for() -> None:
    lines = result_lines(Detected((1.0,), (2.0, 3.0), ()), 0.25, 0.032, 0.008)
    assert lines == (
        "Accuracy: 1 True positives, 2 False negatives, 0 False positives",
        "Average duty cycle: 0.25",
        "Average period: 0.032 s",
        "Estimated throughput: 125.0 inf./sec.",
    )


@pytest.fixture(scope="module")
def runner() -> Any:
    if CLONE not in os.environ:
        pytest.skip(f"{CLONE} names no clone")
    path = Path(os.environ[CLONE]) / "benchmark" / "runner" / "streaming_ww_utils.py"
    aside = types.ModuleType("runner_utils")
    aside.print_tee = lambda text, outfile=None: print(text)  # type: ignore[attr-defined]
    sys.modules["runner_utils"] = aside
    try:
        spec = importlib.util.spec_from_file_location("streaming_ww_utils", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        del sys.modules["runner_utils"]
    return module


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_any_score_is_the_runners(runner: Any, data: Any) -> None:
    bounds = sorted(data.draw(st.sets(st.integers(0, 400), min_size=2, max_size=12)))
    events = [
        (begin / 10, end / 10)
        for begin, end in zip(bounds[::2], bounds[1::2], strict=False)
    ]
    gaps = st.lists(st.sampled_from([0, 32, 64, 500, 999, 1000, 1001, 2000, 3210]))
    times_ms: list[int] = []
    for gap in data.draw(gaps):
        times_ms.append((times_ms[-1] if times_ms else 1000) + gap)
    found, missed, false = runner.calc_detection_stats(
        [700, *(700 + time_ms for time_ms in times_ms)], events
    )
    own = scored(times_ms, events)
    assert list(own.found_s) == found
    assert list(own.missed_s) == missed
    assert list(own.false_s) == [float(time_s) for time_s in false]


def test_the_lines_are_the_runners(runner: Any, capsys: Any) -> None:
    result = {
        "infer": {
            "wav_file": "a.wav",
            "length_sec": 20.0,
            "detections": [0, 1100, 9000],
            "detection_windows": WORDS,
        },
        "dutycycle": {
            "duty_cycle": 0.22549,
            "period": 0.031999,
            "processing_time": 0.007,
        },
    }
    runner.summarize_sww_result([result], None)
    printed = capsys.readouterr().out
    for line in result_lines(scored([1100, 9000], WORDS), 0.22549, 0.031999, 0.007):
        assert re.search(rf"^{re.escape(line)}$", printed, re.MULTILINE)
