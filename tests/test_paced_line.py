# SPDX-License-Identifier: Apache-2.0
"""The paced line: times as computed, and bytes through a real one."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.paced_line import INFINITE_S, LinePace, PacedLine
from rig.host.serial_port import SerialPort

BAUD = 115_200
BYTE_S = 10 / BAUD


def test_a_byte_is_due_one_byte_time_and_the_delay_after_it_came() -> None:
    pace = LinePace(BAUD, 0.001)
    assert (pace.first_s, pace.last_s) == (INFINITE_S, INFINITE_S)
    pace.put(b"abc", 5.0)
    assert pace.first_s == pytest.approx(5.0 + BYTE_S + 0.001, abs=1e-12)
    assert pace.last_s == pytest.approx(5.0 + 3 * BYTE_S + 0.001, abs=1e-12)
    assert pace.ready(pace.first_s - 1e-9) == b""
    assert pace.ready(pace.first_s) == b"a"
    assert pace.ready(pace.last_s - 1e-6) == b"ab"
    assert pace.ready(pace.last_s) == b"abc"


def test_bytes_that_come_while_the_line_is_busy_wait_for_it_and_others_do_not() -> None:
    pace = LinePace(BAUD, 0.0)
    pace.put(bytes(100), 0.0)
    pace.put(b"x", 50 * BYTE_S)
    assert pace.last_s == pytest.approx(101 * BYTE_S)
    pace.take(101)
    pace.put(b"y", 1.0)
    assert pace.first_s == pytest.approx(1.0 + BYTE_S)


@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=300), st.floats(0, 0.02)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([9600, 115_200, 921_600, 3_000_000]),
    st.floats(1e-5, 0.01),
)
def test_no_byte_is_early_none_is_lost_and_the_rate_is_never_above_the_line(
    blocks: list[tuple[bytes, float]], baud: int, step_s: float
) -> None:
    pace = LinePace(baud, 0.001, capacity_b=10_000)
    byte_s = 10 / baud
    delay_s = 0.001
    # each byte, and the first moment at which it can be there
    came: list[tuple[int, float]] = []
    now_s = free_s = 0.0
    for block, pause_s in blocks:
        now_s += pause_s
        pace.put(block, now_s)
        for byte in block:
            free_s = max(free_s, now_s) + byte_s
            came.append((byte, free_s + delay_s))
    left = list(came)
    at_s = 0.0
    while left:
        at_s += max(step_s, (left[-1][1] + byte_s) / 500)
        block = pace.ready(at_s)
        assert block == bytes(byte for byte, _ in left[: len(block)])
        assert all(due_s <= at_s + 1e-9 for _, due_s in left[: len(block)])
        assert all(
            due_s > at_s - byte_s * 1e-3 - 1e-9 for _, due_s in left[len(block) :]
        )
        pace.take(len(block))
        left = left[len(block) :]
    assert pace.room_b == 10_000


def test_a_full_line_has_no_room_until_bytes_leave_it() -> None:
    pace = LinePace(BAUD, 0.0, capacity_b=10)
    pace.put(bytes(8), 0.0)
    assert pace.room_b == 2
    pace.put(bytes(5), 0.0)
    assert pace.room_b == 0
    pace.take(4)
    assert pace.room_b == 1


def test_what_is_written_at_one_end_comes_out_at_the_other_both_ways_and_no_data_are_lost():
    master, slave = os.openpty()
    content = bytes(range(256)) * 80
    try:
        with PacedLine(os.ttyname(slave), 3_000_000, 0.001) as line:
            port = SerialPort.open(line.path, 3_000_000)
            echoed = threading.Thread(target=echo, args=(master, len(content)))
            echoed.start()
            port.write(content)
            back = b""
            while len(back) < len(content) and (block := port.read(5.0)):
                back += block
            echoed.join()
            port.close()
            assert back == content
    finally:
        os.close(master)
        os.close(slave)


def echo(fd: int, count_b: int) -> None:
    while count_b:
        block = os.read(fd, 4096)
        count_b -= len(block)
        while block:
            block = block[os.write(fd, block) :]


def test_a_port_that_does_not_exist_is_named(
    tmp_path: object, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError, match=r"the paced line .* does not start"):
        PacedLine(f"{tmp_path}/none", BAUD, 0.0)
