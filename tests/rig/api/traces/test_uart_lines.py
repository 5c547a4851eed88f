# SPDX-License-Identifier: Apache-2.0
"""Lines of uart.log lie in the trace where the marks of their steps allow it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.api.sessions.session import open_session
from rig.api.traces.uart_lines import RATE_LIMIT, Tie, placed
from rig.session.session import open_bench
from rig.store.session_folder import UART
from tests.builds import built
from tests.conftest import ROOT

OFFSET_S = 0.25
delays = st.floats(1e-4, 0.02)


def tie(number: int, before_s: float, after_s: float, rate: float = 1.0) -> Tie:
    """A step of 10 ms at every tenth of a second; the host's clock lags by OFFSET_S."""
    first_s = 0.1 * (number + 1)
    last_s = first_s + 0.01
    asked_s = (first_s - before_s) * rate - OFFSET_S
    answered_s = (last_s + after_s) * rate - OFFSET_S
    return Tie(asked_s, answered_s, first_s, last_s)


@given(st.lists(st.tuples(delays, delays), min_size=1, max_size=20), st.data())
def test_the_true_time_lies_within_the_limits(
    waits: list[tuple[float, float]], data: st.DataObject
) -> None:
    rate = 1 + data.draw(st.floats(-0.9, 0.9)) * RATE_LIMIT
    ties = [tie(number, *wait, rate) for number, wait in enumerate(waits)]
    true_s = np.array(data.draw(st.lists(st.floats(0.05, 2.5), min_size=1)))
    result = placed(ties, true_s * rate - OFFSET_S)
    assert result is not None
    at_s, limit_s = result
    assert (np.abs(at_s - true_s) <= limit_s + 1e-9).all()


def test_steps_that_were_answered_at_once_place_lines_closely() -> None:
    ties = [tie(number, 0.02 if number % 2 else 0.001, 0.03) for number in range(9)]
    ties[4] = tie(4, 0.002, 0.0005)
    result = placed(ties, np.array([0.35 - OFFSET_S]))
    assert result is not None
    assert result[0] == pytest.approx([0.35], abs=0.001) and result[1] < 0.002


def test_a_clock_of_its_own_leaves_the_bounds_of_the_marks() -> None:
    # Between the steps the trace goes on half as fast as the host.
    ties = [Tie(0.0, 0.1, 0.0, 0.1), Tie(0.5, 0.6, 0.3, 0.4)]
    result = placed(ties, np.array([0.3]))
    assert result is not None
    assert result[0] == pytest.approx([0.2]) and result[1] == pytest.approx([0.1])


def test_lines_outside_of_all_steps_have_no_place() -> None:
    ties = [Tie(0.0, 0.1, 0.0, 0.1), Tie(0.5, 0.6, 0.3, 0.4)]
    result = placed(ties, np.array([-1.0, 0.3, 2.0]))
    assert result is not None
    assert np.isfinite(result[1]).tolist() == [False, True, False]


def test_without_steps_or_with_steps_that_contradict_each_other_there_are_none() -> (
    None
):
    assert placed([], np.array([0.0])) is None
    crossed = [Tie(0.0, 0.1, 0.3, 0.4), Tie(0.5, 0.6, 0.0, 0.1)]
    assert placed(crossed, np.array([0.3])) is None


@pytest.fixture(scope="module")
def posix_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built("posix")
    settings = [
        "task.null.samples=4",
        "scenario.single_stream.idle_s=0.1",
        "scenario.single_stream.repeat=100",
        "monitor.virtual.sample_hz=50000",
    ]
    with open_bench(ROOT / "benches" / "posix-null.toml", settings) as bench:
        return bench.run(1, tmp_path_factory.mktemp("posix")).folder


@pytest.mark.posix
def test_requests_and_answers_lie_around_the_windows_of_their_steps(
    posix_session: Path,
) -> None:
    session = open_session(posix_session)
    log = session.uart_lines(1)
    assert log is not None
    spans = session.spans(1)
    windows = [
        (
            spans.start_s[spans.step == step].min(),
            spans.stop_s[spans.step == step].max(),
        )
        for step in sorted(set(spans.step.tolist()))
    ]
    # No mark bounds a line after the last window, unless the host was so slow that its
    # clock does not contradict that of the trace: then all lines have their places, the
    # answers to the bursts before and after the windows among them.
    clocks_agree = log.unplaced == 0
    answers = [
        line
        for line in log.lines
        if line.text.startswith("DONE") and line.at_s >= windows[0][0]
    ]
    assert len(answers) == len(windows) + (1 if clocks_agree else -1)
    for answer, (_, stop_s), (later_s, _) in zip(
        answers, windows, windows[1:], strict=False
    ):
        assert stop_s - 1e-9 <= answer.at_s <= later_s + 1e-9
        if not clocks_agree:
            assert answer.at_s - answer.limit_s <= stop_s + 1e-9
            assert answer.at_s + answer.limit_s >= later_s - 1e-9
    assert [line.at_s for line in log.lines] == sorted(line.at_s for line in log.lines)


@pytest.mark.posix
def test_a_log_that_is_empty_or_of_other_steps_is_not_tied(
    posix_session: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(posix_session, tmp_path / posix_session.name)
    path = copy / "trial-1" / UART
    text = path.read_text()
    path.write_text("")
    assert open_session(copy).uart_lines(1) is None
    path.write_text("\n".join(text.splitlines()[:4]) + "\n")
    assert open_session(copy).uart_lines(1) is None
