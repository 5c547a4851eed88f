# SPDX-License-Identifier: Apache-2.0
"""Texts of the picture of five windows; the numbers are made by hand."""

from __future__ import annotations

import pytest

from rig.files import typed
from rig.store.sample_lines import SampleLine, WindowLine
from scenarios.mlperf_tiny.plots import DrawnTrial, windows
from tests.drawings import drawn, texts, window


def timed(latency_s: float, length_s: float = 10.5, repeat: int = 250) -> SampleLine:
    line = typed.from_json(WindowLine, window(0.0, length_s), "a window")
    values = {name: getattr(line, name) for name in line.__slots__} | {
        "latency_s": latency_s
    }
    return SampleLine(
        step=1,
        indices=(0,),
        repeat=repeat,
        label="",
        answer="",
        correct=True,
        windows=(WindowLine(**values),),
    )


FIVE = tuple(timed(latency_s) for latency_s in (0.040, 0.041, 0.050, 0.042, 0.043))


def test_each_trial_has_its_windows_and_their_median() -> None:
    picture = windows([DrawnTrial(1, True, FIVE), DrawnTrial(2, False, FIVE)])
    assert picture.figure is not None
    lines = picture.figure.axes[0].lines
    dots = [line for line in lines if line.get_marker() == "o"]
    medians = [line for line in lines if line.get_marker() != "o"]
    assert len(dots) == 10
    assert [list(line.get_ydata()) for line in medians] == [
        pytest.approx([1 / 0.042] * 2)
    ] * 2
    assert [dot.get_markerfacecolor() == "none" for dot in dots] == [False] * 5 + [
        True
    ] * 5
    assert {"inferences per second", "trial", "SIMULATED"} <= set(texts(drawn(picture)))


def test_windows_that_are_too_short_are_reported() -> None:
    short = (*FIVE[:4], timed(0.04, length_s=9.0))
    picture = windows([DrawnTrial(1, True, short)])
    assert "shorter than the rule asks for (orange): 1." in picture.caption


def test_without_windows_no_picture_is_drawn() -> None:
    assert windows([DrawnTrial(1, True, ())]).figure is None
