# SPDX-License-Identifier: Apache-2.0
"""Drift within trials: of samples that are made with a known change, and of none."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rig.api.trials.within import ENERGY, LATENCY, TOLD, of_lines, sentences
from rig.api.trials.within_picture import picture
from rig.files import typed
from rig.store.sample_lines import SampleLine, SearchLine, WindowLine
from tests.drawings import window

SAMPLES = 20


def made(
    trials: int, factor: Callable[[int, float], float], search: bool = False
) -> dict[int, list[SampleLine]]:
    """Return samples that differ by themselves, in another order each trial, times a
    factor of the trial and the share of it that is over.
    """
    source = random.Random(5)
    own = [1.0 + 0.5 * index for index in range(SAMPLES)]
    result = {}
    for trial in range(1, trials + 1):
        order = list(range(SAMPLES))
        source.shuffle(order)
        result[trial] = [
            sample(
                index,
                0.1 * position,
                own[index]
                * factor(trial, position / SAMPLES)
                * source.gauss(1.0, 0.002),
                search,
            )
            for position, index in enumerate(order)
        ]
    return result


def sample(index: int, start_s: float, energy_j: float, search: bool) -> SampleLine:
    line = typed.from_json(WindowLine, window(start_s, start_s + 0.05), "a window")
    values = {name: getattr(line, name) for name in line.__slots__}
    values |= {"phase": "infer", "latency_s": 0.05, "energy_j": energy_j}
    return SampleLine(
        step=1,
        indices=(index,),
        repeat=1,
        label="",
        answer="",
        correct=True,
        solve=SearchLine(1.0, 1, None) if search else None,
        windows=(WindowLine(**values),),
    )


def test_the_trial_that_grows_is_found_with_its_change() -> None:
    rows = of_lines(
        made(5, lambda trial, share: 1.0 + (0.1 * share if trial == 4 else 0.0))
    )
    result = [row for row in rows if row.found]
    assert [(row.trial, row.quantity) for row in result] == [(4, ENERGY)]
    truth = 0.1 * (SAMPLES - 1) / SAMPLES
    assert result[0].low < truth < result[0].high
    assert result[0].change == pytest.approx(truth, abs=0.01)
    assert sentences(rows)[0].startswith(
        "In the course of trial 4 the energy of infer changes by +9."
    )


def test_calm_trials_and_trials_at_another_level_do_not_drift() -> None:
    assert sentences(of_lines(made(5, lambda trial, share: 1.0))) == ()
    rows = of_lines(made(5, lambda trial, share: 1.2 if trial == 2 else 1.0))
    assert sentences(rows) == (), "another level is no change within the trial"
    latencies = [row for row in rows if row.quantity == LATENCY]
    assert all(row.change == 0.0 for row in latencies)


def test_a_change_that_is_significant_and_small_is_not_reported() -> None:
    small = TOLD / 2
    rows = of_lines(
        made(5, lambda trial, share: 1.0 + (small * share if trial == 4 else 0.0))
    )
    assert sentences(rows) == ()


def test_searches_and_few_trials_are_not_tested() -> None:
    assert of_lines(made(5, lambda trial, share: 1.0 + share, search=True)) == ()
    assert of_lines(made(2, lambda trial, share: 1.0 + share)) == ()


def test_the_picture_has_a_panel_for_each_quantity_and_a_colour_for_each_trial():
    rows = of_lines(
        made(5, lambda trial, share: 1.0 + (0.1 * share if trial == 4 else 0.0))
    )
    drawn = picture(rows)
    assert drawn is not None and drawn.figure is not None
    first, second = drawn.figure.axes
    assert [axes.get_title() for axes in (first, second)] == [
        "latency of infer",
        "energy of infer",
    ]
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        f"trial {n}" for n in range(1, 6)
    ]
    assert "trial 4" in drawn.caption
    lines = [line for line in second.lines[1:] if line.get_linestyle() == "--"]
    assert len(lines) == 1, "a line through the trial that drifts"
    assert picture(()) is None
