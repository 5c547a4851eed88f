# SPDX-License-Identifier: Apache-2.0
"""A stream's windows in ticks: against exact arithmetic, and marks that are not those
of a stream.
"""

from __future__ import annotations

import json
import math
import struct
from fractions import Fraction
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import RemoteProtocolError
from rig.interfaces.task import Task
from rig.kinds import stream as streaming
from rig.model.completion import DECIDED, END, STREAM, Completion, Mark
from rig.model.scores import Score
from rig.model.step_record import StepRecord
from rig.model.steps import Scene, Solve, Stream
from rig.problems import Problem
from rig.store.completion_lines import from_json, to_json

SCENES = st.lists(st.integers(1, 400), min_size=1, max_size=8)


class Letters(Task):
    """A task that answers with a letter."""

    name = "letters"
    phases = ("preprocess", "infer")

    def __len__(self) -> int:
        return 26

    def payload(self, index: int) -> bytes:
        return b""

    def score(self, index: int, output: bytes) -> Score:
        return Score(False, "", output.decode())

    def provenance(self) -> dict[str, object]:
        return {}


def stream(
    *lengths: int, hop: int = 50, window: int = 100, **settings: object
) -> Stream:
    scenes = tuple(
        Scene("ab"[number % 2], (number,), samples)
        for number, samples in enumerate(lengths)
    )
    return Stream(scenes, hop, window, 8000, **settings)  # type: ignore[arg-type]


def marks(*phases: int) -> tuple[Mark, ...]:
    return tuple(Mark(phase, 1000 * position) for position, phase in enumerate(phases))


def completion(windows: int, output: bytes = b"", **more: object) -> Completion:
    return Completion(marks(STREAM, *[1, 2, DECIDED] * windows, END), output, **more)


def problems(step: Stream, said: Completion) -> list[Problem]:
    return streaming.StreamKind().problems(StepRecord(2, step, said), step)


@given(SCENES, st.integers(1, 120), st.integers(0, 60))
def test_a_window_belongs_to_the_scene_that_most_of_its_newest_hop_lies_in(
    lengths: list[int], hop: int, longer: int
) -> None:
    step = stream(*lengths, hop=hop, window=hop + longer)
    scenes = ([scene] * length for scene, length in enumerate(lengths))
    played = list(chain.from_iterable(scenes))
    for window in range(step.windows):
        end = window * hop + hop + longer
        newest = played[end - hop : end]
        result = step.scene_of(window)
        # Two halves: the later one. With scenes shorter than a hop there may be no
        # scene that has more than half.
        large = {scene for scene in newest if 2 * newest.count(scene) >= hop}
        if len(large) == 2 or any(2 * newest.count(scene) > hop for scene in large):
            assert result == max(large)
    assert step.windows == max((len(played) - (hop + longer)) // hop + 1, 0)


@given(SCENES, st.integers(1, 60), st.integers(0, 60))
def test_windows_are_cut_from_what_is_played_one_hop_after_the_other(
    lengths: list[int], hop: int, longer: int
) -> None:
    step = stream(*lengths, hop=hop, window=hop + longer)
    samples = [struct.pack("<H", number) for number in range(sum(lengths))]
    windows = streaming.WindowPayloads(b"".join(samples), step, 2)
    assert len(windows) == step.windows
    assert (
        list(windows)
        == windows[:]
        == [
            b"".join(samples[k * hop : k * hop + hop + longer])
            for k in range(step.windows)
        ]
    )


def test_an_answer_of_no_use_is_not_right_when_it_is_read_again() -> None:
    score = Score(False, "", "", case="250n_5pct", fault="a vector of 9 nodes")
    done = StepRecord(3, Solve(0, 1.0, 1), Completion(()), score)
    assert from_json(json.loads(json.dumps(to_json(done)))) == done


@given(
    st.integers(0, 2**48),
    st.integers(0, 10**8),
    st.integers(1, 96_000),
    st.integers(1_000, 10**9),
)
def test_a_sample_is_captured_at_the_tick_that_exact_arithmetic_says(
    began: int, sample: int, sample_hz: int, tick_hz: int
) -> None:
    due = began + math.floor(Fraction(sample + 1, sample_hz) * tick_hz)
    assert streaming.captured(began, sample, sample_hz, tick_hz) == due
    assert streaming.captured(began, sample, sample_hz, float(tick_hz)) == due


def test_a_window_is_ready_with_its_last_sample_and_its_scene_begins_with_its_first():
    step = stream(130, 120)
    of_window = [Mark(phase, 20_000 + phase) for phase in (1, 2, DECIDED)]
    reported = (Mark(STREAM, 500), *of_window * step.windows, Mark(END, 90_000))
    result = list(streaming.windows(step, reported, 2, 1_000_000))
    # 125 ticks a sample; windows end with samples 99, 149, 199, 249.
    assert [item.scene for item in result] == [0, 0, 1, 1]
    assert [item.response for item in result] == [
        (500 + 125 * end, 20_000 + DECIDED) for end in (100, 150, 200, 250)
    ]
    assert [item.since_onset[0] for item in result] == [
        500 + 125,
        500 + 125,
        500 + 125 * 131,
        500 + 125 * 131,
    ]


def test_each_answer_is_scored_by_the_scene_of_its_window() -> None:
    scores = streaming.scores(Letters(), stream(130, 120), completion(4, b"abab"))
    assert [(score.label, score.answer, score.correct) for score in scores] == [
        ("a", "a", True),
        ("a", "b", False),
        ("b", "a", False),
        ("b", "b", True),
    ]
    assert streaming.scores(Letters(), stream(130, 120), completion(0)) == ()


@pytest.mark.parametrize(("windows", "output"), [(4, b"abc"), (0, b"a"), (5, b"ababa")])
def test_outputs_that_do_not_fit_the_windows_are_refused(
    windows: int, output: bytes
) -> None:
    with pytest.raises(
        RemoteProtocolError, match="no answers of one length to 4 windows"
    ):
        streaming.scores(Letters(), stream(130, 120), completion(windows, output))


def test_a_broken_stream_and_windows_without_an_answer_are_problems() -> None:
    step = stream(130, 120)
    assert problems(step, completion(4, iterations=4)) == []
    result = problems(
        step, completion(3, iterations=3, faults=("window 3 was not there",))
    )
    assert [(problem.code, problem.detail) for problem in result] == [
        ("stream", "step 2: window 3 was not there"),
        ("stream", "step 2: 3 of 4 windows were answered"),
    ]
    assert [
        problem.code for problem in problems(step, completion(4, iterations=3))
    ] == ["clock"]


def test_a_stream_is_read_back_from_its_line_as_it_was() -> None:
    for preloaded, faults in ((True, ()), (False, ("late",))):
        step = stream(130, 120, preloaded=preloaded, limit_s=3.5)
        output = completion(4, b"abab", iterations=4, faults=faults, rx_in_window_b=7)
        done = StepRecord(
            2, step, output, each=streaming.scores(Letters(), step, output)
        )
        assert from_json(json.loads(json.dumps(to_json(done)))) == done
