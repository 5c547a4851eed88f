# SPDX-License-Identifier: Apache-2.0
"""The self-test: the host's findings from good and bad reports, and from the real
firmware with its possible faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rig.errors import SutError
from rig.interfaces.context import BenchContext
from rig.model.finding import Finding
from sut_backends.hosted.posix import DutProcess, PosixSut
from sut_backends.lines.faults import LineFaults
from sut_backends.shim.burst import Burst
from sut_backends.shim.frame import Frame, FrameDecoder
from sut_backends.shim.messages import CapsMessage, Flag, MessageKind, ReportMessage
from sut_backends.shim.timeouts import RetransmissionTimeouts
from sut_backends.uart.backend import UartSut
from sut_backends.uart.self_test import SPAN_S, SelfTested, TimedQueries, TimerRate
from tests.sut_backends.framed import CAPS as FRAMED_CAPS

Start = Callable[..., DutProcess]

CAPS = replace(
    FRAMED_CAPS,
    window=4,
    max_payload_b=64,
    hold_min_us=2,
    flags=Flag.SYNC_LINE | Flag.MARK_NONBLOCKING,
    sync_pin="PA8",
)
FRAME_B = 64 + 6 + 2 + 1
REQUEST_B = 4 + 6 + 2 + 1
GOOD = ReportMessage(
    5_000,
    1,
    40,
    0,
    rx_b=4 * FRAME_B + REQUEST_B,
    rx_frames=5,
    rx_dropped=0,
    rx_lost_b=7,
    stack_b=2048,
    stack_unused_b=1000,
    rest_level=1,
    pulse_level=0,
    end_level=1,
    span_min_ticks=8,
    span_max_ticks=9,
    took_ticks=500,
)


def acknowledged_burst(count: int = 4) -> Burst:
    burst = Burst(4, 64, 9, RetransmissionTimeouts(115_200))
    burst.outgoing(0.0)
    for _ in range(count):
        burst.receive(Frame(MessageKind.ACK, 9, bytes(4)), 0.01)
    return burst


def judge(
    caps: CapsMessage = CAPS,
    burst: Burst | None = None,
    rate: TimerRate | None = None,
    **changed: int,
) -> dict[str, Finding]:
    first = replace(GOOD, span_min_ticks=8, span_max_ticks=8)
    tested = SelfTested(
        caps,
        first,
        replace(GOOD, **changed),
        burst or acknowledged_burst(),
        rate or TimerRate(1_000_000, 1.001, 0.001),
    )
    return {finding.name: finding for finding in tested.findings(simulated=False)}


def test_a_good_report_has_no_fault() -> None:
    result = judge()
    assert list(result) == [
        "receive burst",
        "timer rate",
        "SYNC pin",
        "stack",
        "shim overhead",
    ]
    assert all(finding.ok and not finding.try_next for finding in result.values())
    assert "1048 of 2048 bytes have been used" in result["stack"].detail
    assert "takes 8 µs from" in result["shim overhead"].detail


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("receive burst", {"rx_b": 4 * FRAME_B + REQUEST_B - 1}, "291 of 292 bytes"),
        ("receive burst", {"rx_frames": 4}, "3 whole frames"),
        ("receive burst", {"rx_dropped": 1}, "1 broken"),
        ("receive burst", {"rx_lost_b": 12}, "5 bytes lost"),
        ("timer rate", {"steps_back": 2}, "went back 2 times"),
        (
            "SYNC pin",
            {"rest_level": 0, "pulse_level": 0, "end_level": 0},
            "reads 0 at rest",
        ),
        ("SYNC pin", {"pulse_level": 1}, "1 right after a mark"),
        ("SYNC pin", {"end_level": 0}, "0 at rest again"),
        ("stack", {"stack_unused_b": 0}, "0 never"),
        ("stack", {"stack_unused_b": 4096}, "4096 never"),
    ],
)
def test_each_fault_is_found_by_itself_with_what_to_try(
    name: str, changed: dict[str, int], said: str
) -> None:
    result = judge(**changed)
    assert [finding.name for finding in result.values() if not finding.ok] == [name]
    assert said in result[name].detail
    assert result[name].try_next


def test_a_burst_that_is_not_all_acknowledged_is_a_fault() -> None:
    assert not judge(burst=acknowledged_burst(3))["receive burst"].ok


def test_a_port_that_does_not_know_is_no_fault() -> None:
    result = judge(
        rx_lost_b=ReportMessage.unknown,
        rest_level=0xFF,
        pulse_level=0xFF,
        end_level=0xFF,
        stack_b=0,
        stack_unused_b=0,
    )
    assert all(finding.ok for finding in result.values())
    assert "does not count" in result["receive burst"].detail
    assert "does not know" in result["stack"].detail


def test_a_mark_that_blocks_cannot_show_its_pulse() -> None:
    assert judge(caps=replace(CAPS, flags=Flag.SYNC_LINE), pulse_level=1)["SYNC pin"].ok


@pytest.mark.parametrize(
    ("ticks", "passed"),
    [
        (978_000, False),
        (979_500, None),
        (980_500, None),
        (982_000, True),
        (1_018_000, True),
        (1_019_500, None),
        (1_020_500, None),
        (1_022_000, False),
        (0, False),
        (-5, False),
    ],
)
def test_a_timer_is_right_within_two_percent_and_not_judged_within_what_is_not_known(
    ticks: int, passed: bool | None
) -> None:
    finding = judge(rate=TimerRate(ticks, 1.0, 0.001))["timer rate"]
    assert finding.passed is passed
    assert ("too busy" in finding.detail) == (passed is None)


def test_a_busy_computer_decides_nothing_of_a_right_timer() -> None:
    finding = judge(rate=TimerRate(1_000_000, 1.0, 0.05))["timer rate"]
    assert finding.ok and finding.passed is None and finding.try_next
    assert judge(rate=TimerRate(1_200_000, 1.0, 0.05))["timer rate"].passed is False


@pytest.mark.parametrize("request_s", [0.0, 0.004])
@pytest.mark.parametrize("answer_s", [0.0, 0.003])
def test_the_rate_is_right_within_its_error_whatever_part_of_a_round_trip_is_the_way_there(
    request_s: float, answer_s: float
) -> None:
    """A device at 1 MHz exactly whose self-test takes 500 ticks, asked at 10 s and 11 s
    of the host.
    """
    timed = []
    for asked_s in (10.0, 11.0):
        report = replace(GOOD, tick=round((asked_s + request_s) * 1e6))
        timed.append(
            TimedQueries(report, asked_s, asked_s + request_s + 500e-6 + answer_s)
        )
    rate = TimerRate.between(timed[0], timed[1], 10**6)
    assert rate.error_s == pytest.approx(request_s + answer_s)
    assert abs(rate.ticks / 1e6 - rate.span_s) <= rate.error_s + 1e-9


def test_a_burst_is_full_frames_far_ahead_sent_once() -> None:
    burst = Burst(3, 64, 200, RetransmissionTimeouts(115_200))
    code = burst.outgoing(5.0)
    frames = FrameDecoder(64).feed(code)
    assert [(frame.kind, frame.seq, len(frame.payload)) for frame in frames] == [
        (MessageKind.PING, (200 + 128) & 0xFF, 64)
    ] * 3
    assert len(code) == burst.sent_b == 3 * FRAME_B
    assert burst.outgoing(5.1) == b""
    assert burst.following == 200


def test_a_burst_waits_for_a_device_that_stood_still() -> None:
    """As an emulator does on a busy machine, for longer than a round trip takes."""
    burst = acknowledged_burst(3)
    burst.expire(1.0)
    assert not burst.finished
    burst.receive(Frame(MessageKind.ACK, 9, bytes(4)), 1.0)
    assert burst.finished and burst.acknowledged == 4


def test_a_burst_is_over_with_its_last_acknowledgement_or_a_time_out_after_the_last():
    assert acknowledged_burst(4).finished
    burst = acknowledged_burst(3)
    steps_s = [0.0, burst.wake_s - 0.001, burst.wake_s]
    assert all(before <= after for before, after in pairwise(steps_s))
    for now_s, over in zip(steps_s, (False, False, True), strict=True):
        burst.expire(now_s)
        assert burst.finished == over


# ---- the real firmware ----


def probed(context: BenchContext, port: str, **settings: Any) -> dict[str, Finding]:
    return {
        finding.name: finding
        for finding in UartSut.probe(UartSut.Settings(port=port, **settings), context)
    }


@pytest.mark.posix
def test_the_firmware_reports_all_parts_and_the_probe_passes(
    start_dut: Start, context: BenchContext
) -> None:
    result = probed(context, start_dut().port)
    assert all(finding.ok for finding in result.values()), result
    assert "8 frames" in result["receive burst"].detail
    assert "0 right after a mark" in result["SYNC pin"].detail
    assert "1000000 Hz stated" in result["timer rate"].detail


@pytest.mark.paced
@pytest.mark.posix
def test_a_timer_at_another_rate_than_stated_is_found(
    start_dut: Start, context: BenchContext
) -> None:
    result = probed(context, start_dut("--ppm", "90000").port)
    assert [finding.name for finding in result.values() if not finding.ok] == [
        "timer rate"
    ]


@pytest.mark.posix
def test_a_line_that_loses_bytes_is_found(
    start_dut: Start, context: BenchContext
) -> None:
    result = probed(context, start_dut().port, faults=LineFaults(drop=0.003, seed=3))
    assert not result["receive burst"].ok


@pytest.mark.posix
def test_in_the_text_layer_it_is_skipped_and_reported(
    start_dut: Start, context: BenchContext
) -> None:
    result = probed(context, start_dut().port, layer="text")
    assert result["self-test"].ok and "skipped" in result["self-test"].detail
    assert "receive burst" not in result


@pytest.mark.posix
def test_a_firmware_of_before_the_self_test_is_not_at_fault(
    start_dut: Start, context: BenchContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(sut: UartSut) -> None:
        raise SutError("the DUT refused SELFTEST: unknown message type", code=1)

    monkeypatch.setattr(UartSut, "self_test", refuse)
    result = probed(context, start_dut().port)
    assert (
        result["self-test"].ok
        and "this firmware has none" in result["self-test"].detail
    )


@pytest.mark.posix
# the host's clock judges the timer, and each ms of delay is a percent
@pytest.mark.alone
def test_the_process_is_probed_as_a_device_and_its_times_are_named_simulated(
    null_program: Path, context: BenchContext
) -> None:
    result = {
        finding.name: finding
        for finding in PosixSut.probe(
            PosixSut.Settings(program=str(null_program)), context
        )
    }
    assert all(finding.ok for finding in result.values()), result
    assert (
        "simulated" in result["timer rate"].detail
        and "simulated" in result["shim overhead"].detail
    )
    assert SPAN_S >= 1.0
