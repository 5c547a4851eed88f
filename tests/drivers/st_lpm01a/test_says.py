# SPDX-License-Identifier: Apache-2.0
"""Answers of X-NUCLEO-LPM01A boards in all their forms, and their readings: manuals and
clients disagree on some.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.st_lpm01a.binary import BinaryParser
from drivers.st_lpm01a.driver import StLpm01a
from drivers.st_lpm01a.sim.simulator import (
    Lpm01aFaults,
    Lpm01aSimulator,
    Lpm01aSimulatorSettings,
)
from drivers.st_lpm01a.stream import AsciiParser
from drivers.st_lpm01a.stream_items import Lost, StreamEdge, TimeStamp
from rig.errors import BenchError, DeadlineError, DeviceLost
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace
from tests.drivers.st_lpm01a.test_driver import (
    BINARY,
    board,
    draw,
    failure_of,
    numbered,
    recorded,
    steady,
)
from tests.waiting import eventually

KINDS = pytest.mark.parametrize("kind", [{}, BINARY], ids=["ascii", "binary"])

# The dialogue


@pytest.mark.parametrize(
    "refusal", ["err", "error", "error: {command}", "error {command}"]
)
def test_a_refusal_is_known_in_every_form_and_reported_with_its_detail(
    refusal: str,
) -> None:
    with pytest.raises(BenchError, match="refuses 'freq 5k'") as caught:
        board(
            BenchContext(),
            {"error_to": "freq", "error_detail": "no crystal"},
            {"refusal": refusal},
        )
    assert "Error detail: no crystal" in caught.value.evidence


@pytest.mark.parametrize("presence", ["ack powershield", "PowerShield present"])
def test_the_board_is_known_by_its_number_however_it_says_that_it_is_there(
    presence: str,
) -> None:
    monitor = board(BenchContext(), true={"presence": presence})
    assert monitor.info.serial == "540619864-1110659081-4784204"
    monitor.close()


#: As known boards do, as table 7 of the manual words it, and as its section 4.2.3 can
#: be read.
STATUS = pytest.mark.parametrize(
    "status", ["ack status {said}", "ack status: {said}", "{said}", "status {said}"]
)


@STATUS
def test_an_error_of_before_is_reported_and_no_obstacle(
    tmp_path: Path, status: str
) -> None:
    context = BenchContext()
    monitor = board(context, {"old_error": "overcurrent"}, {"status": status})
    assert monitor.info.details["status_at_open"] == "error: overcurrent"
    with monitor.record(tmp_path):
        draw(context, 0.0, 10)
    monitor.close()
    assert not Trace.open(tmp_path / "trace.jls").gaps


@STATUS
def test_a_board_that_is_well_says_so(status: str) -> None:
    monitor = board(BenchContext(), true={"status": status})
    assert monitor.info.details["status_at_open"] == "ok"
    monitor.close()


@pytest.mark.parametrize("bare", ["pwrend", "pwr", "status", "volt", "start", "h"])
def test_a_command_is_acknowledged_by_its_own_text_also_without_the_word(
    tmp_path: Path, bare: str
) -> None:
    with recorded(tmp_path, true={"bare": bare}) as (context, _):
        draw(context, 0.03, 10)
    trace = Trace.open(tmp_path / "trace.jls")
    assert not trace.gaps and trace.mean_w(0.012, 0.018) == pytest.approx(
        0.03, rel=1e-3
    )


def test_a_refusal_of_the_command_status_is_none_of_its_answers() -> None:
    with pytest.raises(BenchError, match="refuses 'status'"):
        board(BenchContext(), {"error_to": "status"}, {"refusal": "error: {command}"})


@STATUS
def test_a_board_that_cannot_calibrate_itself_is_refused_and_left_off(
    status: str,
) -> None:
    context = BenchContext()
    with pytest.raises(BenchError, match="not well after it was set up") as caught:
        board(context, {"calibration_error": "calibration failed"}, {"status": status})
    assert "calibration failed" in caught.value.evidence and not context.world.supply_on


@pytest.mark.parametrize(
    ("stale", "least_b", "most_b"),
    [
        ("", 0, 0),
        ("half line", 12, 12),
        ("summary", 35, 45),
        ("streaming", 20_000, 10**6),
        ("streaming binary", 6000, 10**6),
    ],
)
def test_how_much_an_earlier_run_had_left_is_reported(
    stale: str, least_b: int, most_b: int
) -> None:
    monitor = board(BenchContext(), {"stale": stale})
    assert least_b <= monitor.info.details["stale_at_open_b"] <= most_b
    monitor.close()


# The streams


@pytest.mark.parametrize("word", ["ris", "fal"])
def test_an_event_is_an_edge_whichever_word_ends_it(tmp_path: Path, word: str) -> None:
    with recorded(tmp_path, true={"event": word}) as (context, _):
        draw(context, 0.03, 10)
        draw(context, 0.03, 10, level=False)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.falls_s.tolist() == pytest.approx([0.02], abs=2e-4) and not trace.gaps


def test_a_first_time_stamp_that_is_damaged_is_reported_and_moves_no_sample(
    tmp_path: Path,
) -> None:
    with recorded(tmp_path, {"flip_byte_at": 5}) as (context, _):
        draw(context, 0.03, 50)
        draw(context, 0.06, 50, level=False)
    trace = Trace.open(tmp_path / "trace.jls")
    assert [(gap.start, gap.stop, "buff 00%" in gap.cause) for gap in trace.gaps] == [
        (0, 1, True)
    ]
    assert trace.falls_s.tolist() == pytest.approx([0.06], abs=2e-4)
    assert np.argmax(trace.power_w(0.05, 0.1)[1] > 0.045) == 50


def stamp(time_ms: int) -> bytes:
    return b"\xf0\xf3" + time_ms.to_bytes(4) + b"\0\xff\xff"


WORDS = b"".join((0x4000 | (1000 + k)).to_bytes(2) for k in range(1000))
VALUES = [(1000 + k) / 65_536 for k in range(1000)]


def test_the_top_bit_of_a_binary_time_tells_of_an_overflow_and_is_no_part_of_it():
    top = 1 << 31
    items = BinaryParser(5000, 1.0).feed(
        stamp(0) + WORDS + stamp(200 | top) + WORDS + stamp(400 | top)
    )
    assert [item.time_ms for item in items if isinstance(item, TimeStamp)] == [
        0,
        200,
        400,
    ]
    assert list(numbered(items).values()) == pytest.approx(VALUES + VALUES)


@pytest.mark.parametrize("kind", range(0xFA, 0xFF))
@pytest.mark.parametrize("payload", [b"", b"\x12\x34", b"\x12\x34\x56"])
def test_binary_metadata_of_a_reserved_kind_are_a_gap_up_to_the_next_time_stamp_and_move_no_sample(
    kind: int, payload: bytes
) -> None:
    odd = b"\xf0" + bytes([kind]) + payload + b"\xff\xff"
    stream = (
        stamp(0)
        + WORDS
        + stamp(200)
        + WORDS[:500]
        + odd
        + WORDS[500:]
        + stamp(400)
        + WORDS
        + stamp(600)
    )
    items = BinaryParser(5000, 1.0).feed(stream)
    assert [item.samples for item in items if isinstance(item, Lost)] == [1000]
    result = numbered(items)
    assert list(result) == [*range(1000), *range(2000, 3000)]
    assert list(result.values()) == pytest.approx(VALUES + VALUES)


def test_an_event_with_a_counter_of_three_digits_is_one() -> None:
    rows = b"".join(b"%04d-07\r\n" % (1000 + k) for k in range(1000))
    blocks = (b"event 99 ris\r\n", rows[:90], b"event 100 fal\r\n", rows[90:])
    stream = (
        b"\r\nTimeStamp: 000s 000ms, buff 00%\r\n"
        + b"".join(blocks)
        + b"\r\nTimeStamp: 000s 200ms, buff 00%\r\n"
    )
    items = AsciiParser(5000, 1.0).feed(stream)
    assert [item for item in items if isinstance(item, StreamEdge)] == [
        StreamEdge(0, 99),
        StreamEdge(10, 100),
    ]


# The measuring range


@KINDS
def test_current_within_the_promise_is_measured(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    trace = steady(tmp_path, power_w=0.049 * 3.3, **kind)
    assert (
        trace.mean_w(0.1, 0.9) == pytest.approx(0.049 * 3.3, rel=2e-3)
        and not trace.gaps
    )


@KINDS
def test_current_beyond_the_promise_is_a_gap(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    with recorded(tmp_path, **kind) as (context, _):
        draw(context, 0.03, 90)
        draw(context, 0.055 * 3.3, 20)
        draw(context, 0.03, 90)
    trace = Trace.open(tmp_path / "trace.jls")
    hz = trace.sample_hz
    assert [(gap.start, gap.stop, gap.cause) for gap in trace.gaps] == [
        (0.1 * hz, 0.12 * hz, "beyond the measuring range")
    ]
    assert trace.mean_w(0.02, 0.1) == pytest.approx(0.03, rel=2e-3)


@KINDS
def test_current_from_which_the_board_protects_itself_is_its_error(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    with (
        pytest.raises(BenchError, match="reports: overcurrent"),
        recorded(tmp_path, **kind) as (context, _),
    ):
        draw(context, 0.03, 90)
        draw(context, 0.06 * 3.3, 20)
        draw(context, 0.03, 90)


# The end of the line


@KINDS
def test_a_board_that_is_unplugged_is_lost_and_what_was_confirmed_is_kept(
    tmp_path: Path, kind: dict[str, Any]
) -> None:
    error = failure_of(tmp_path, faults={"unplugged_at_s": 0.5}, **kind)
    assert type(error) is DeviceLost
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.length <= 0.5 * trace.sample_hz and all(
        gap.stop == trace.length for gap in trace.gaps
    )


def test_a_board_that_falls_silent_in_binary_is_an_error_within_seconds(
    tmp_path: Path,
) -> None:
    context = BenchContext()
    began_ns = time.monotonic_ns()
    context.world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    simulator = Lpm01aSimulator(
        Lpm01aSimulatorSettings(faults=Lpm01aFaults(mute_at_s=0.3)), context
    )
    # By its port it is a board like any other: the driver does not know of a
    # simulation.
    monitor = StLpm01a.open(StLpm01a.Settings(port=simulator.port, **BINARY), context)
    with (
        pytest.raises(DeadlineError, match="no data of the PowerShield"),
        monitor.record(tmp_path) as recording,
    ):
        eventually(recording.check, limit_s=20.0)
    with pytest.raises(BenchError, match="does not switch the DUT's supply off"):
        monitor.close()
    simulator.close()
