# SPDX-License-Identifier: Apache-2.0
"""Stamps of the text layer are judged by when they can have been made: between the
command and its answer.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import RemoteProtocolError
from sut_backends.shim.text_timestamps import LapClock


def test_a_stamp_that_was_read_late_does_not_make_the_next_one_impossible() -> None:
    laps = LapClock()
    laps.judge(1_000, sent_s=0.0, received_s=0.5)
    assert laps.judge(501_000, sent_s=0.5, received_s=0.501) == 501_000


@pytest.mark.parametrize("lap_us", [1_000, 101_000, 12_001_000])
def test_a_lost_or_doubled_digit_is_found(lap_us: int) -> None:
    laps = LapClock()
    laps.judge(1_000, sent_s=0.0, received_s=0.001)
    with pytest.raises(RemoteProtocolError, match="cannot be true"):
        laps.judge(lap_us, sent_s=1.2, received_s=1.201)


def test_after_a_long_command_a_wrong_digit_is_found() -> None:
    laps = LapClock()
    laps.judge_pair(0, 8_000_000, sent_s=0.0, received_s=8.001)
    assert laps.judge(8_500_000, sent_s=8.4, received_s=8.5) == 8_500_000
    laps.judge_pair(9_000_000, 17_000_000, sent_s=9.0, received_s=17.001)
    with pytest.raises(RemoteProtocolError, match="cannot be true"):
        laps.judge(27_000_000, sent_s=17.1, received_s=17.101)


@given(st.lists(st.tuples(*[st.floats(0, 2)] * 3), min_size=2, max_size=8))
def test_true_stamps_pass_however_long_the_host_stalls(
    waits: list[tuple[float, ...]],
) -> None:
    laps = LapClock()
    now_s = 0.0
    for before_s, until_stamp_s, until_read_s in waits:
        sent_s = now_s + before_s
        made_s = sent_s + until_stamp_s
        now_s = made_s + until_read_s
        made_us = round(made_s * 1e6)
        assert laps.judge(made_us, sent_s=sent_s, received_s=now_s) == made_us
