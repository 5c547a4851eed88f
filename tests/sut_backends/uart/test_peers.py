# SPDX-License-Identifier: Apache-2.0
"""The public MLPerf Tiny firmware, as our device: driven as it is, in performance and
in energy mode.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from rig.errors import RemoteProtocolError, RigError
from rig.interfaces.context import BenchContext
from rig.model.completion import END, IDLE, SYNC
from rig.model.steps import Idle, Load, Query, Sync
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.lines.faults import LineFaults
from sut_backends.lines.line import DutLine
from sut_backends.uart.backend import UartSut
from sut_backends.uart.connect import open_line
from tests.sut_backends.uart.public_device import MEMORY_B, Build, PublicDevice

pytestmark = pytest.mark.posix


@contextmanager
def driven(
    context: BenchContext, **build: Any
) -> Iterator[tuple[UartSut, PublicDevice]]:
    with PublicDevice(Build(**build)) as device:
        sut = UartSut.open(UartSut.Settings(port=device.port, timeout_s=1.0), context)
        try:
            yield sut, device
        finally:
            sut.close()


@contextmanager
def raw(context: BenchContext, **build: Any) -> Iterator[tuple[DutLine, PublicDevice]]:
    with PublicDevice(Build(**build)) as device:
        line = open_line(device.port, UartSut.Settings(port=device.port), context)
        try:
            yield line, device
        finally:
            line.close()


def sample(number: int, size_b: int = 490) -> bytes:
    return bytes([number]) + bytes(size_b - 2) + b"\x5a"


def answer(output: bytes) -> int:
    scores = struct.unpack(f"<{len(output) // 4}i", output)
    return scores.index(max(scores))


def heard(line: DutLine, until: bytes) -> bytes:
    output = b""
    while until not in output and (block := line.read(1.0)):
        output += block
    return output


def test_a_public_device_is_found_loaded_and_run_and_its_laps_are_the_marks(
    context: BenchContext,
) -> None:
    with driven(context) as (sut, device):
        info = sut.info
        assert (info.name, info.model, info.task, info.tick_hz, info.clock) == (
            "unspecified",
            "kws01",
            "",
            1_000_000,
            "",
        )
        assert (info.details["layer"], info.details["timestamp_mode"]) == (
            "text",
            "performance",
        )
        for number in range(4):
            sut.do(Load(number), [sample(number)])
            done = sut.do(Query((number,), repeat=5, limit_s=5.0))
            assert answer(done.output) == number
            assert [mark.phase for mark in done.marks] == [1, END]
            assert done.marks[1].tick - done.marks[0].tick >= 10_000
        assert [mark.phase for mark in sut.do(Idle(0.02)).marks] == [IDLE, END]
        assert [mark.phase for mark in sut.do(Sync()).marks] == [SYNC] * 8
    assert device.crashed == ""
    assert device.pulses == []


def test_the_framed_layer_is_asked_for_in_text_that_the_public_firmware_refuses(
    context: BenchContext,
) -> None:
    with driven(context) as (sut, device):
        sut.do(Load(0), [sample(0)])
        sut.do(Query((0,), limit_s=5.0))
    assert device.commands.count("frame 1") == 2
    words = {command.split()[0] for command in device.commands}
    assert words == {"name", "frame", "profile", "timestamp", "db", "infer", "results"}
    assert all(command.isprintable() for command in device.commands)


def test_probe_goes_through_all_steps_of_a_public_device(context: BenchContext) -> None:
    context = replace(context, sample=sample(3))
    for energy in (False, True):
        with PublicDevice(Build(energy=energy)) as device:
            findings = list(UartSut.probe(UartSut.Settings(port=device.port), context))
        assert [finding.name for finding in findings if not finding.ok] == []


@pytest.mark.parametrize("size_b", [2, 37, 38, 39, 76, 490, 3072, MEMORY_B])
def test_a_load_fills_the_line_of_80_characters_and_ends_at_the_declared_byte(
    context: BenchContext, size_b: int
) -> None:
    with driven(context, sample_b=size_b) as (sut, device):
        sut.do(Load(7), [sample(7, size_b)])
        assert answer(sut.do(Query((7,), limit_s=5.0)).output) == 7
    assert device.longest <= 80
    assert (device.behind_b, device.crashed) == (0, "")


def test_a_half_command_that_an_earlier_host_left_is_no_harm(
    context: BenchContext,
) -> None:
    for left in (b"db 01", b"infer 10", b"n", b"x" * 200):
        with raw(context) as (line, device):
            line.write(left)
            line.close()
            sut = UartSut.open(
                UartSut.Settings(port=device.port, timeout_s=1.0), context
            )
            sut.do(Load(2), [sample(2)])
            assert answer(sut.do(Query((2,), limit_s=5.0)).output) == 2
            sut.close()
            assert device.crashed == ""


def test_a_sample_larger_than_the_devices_memory_is_refused_before_a_byte_is_sent(
    context: BenchContext,
) -> None:
    with driven(context) as (sut, device):
        with pytest.raises(
            RemoteProtocolError, match=f"does not expect {MEMORY_B + 1} bytes"
        ) as caught:
            sut.do(Load(0), [bytes(MEMORY_B + 1)])
        assert "exceeds maximum" in caught.value.evidence
        assert device.commands[-1] == f"db load {MEMORY_B + 1}"


def test_a_sample_of_another_size_than_the_models_gives_no_answer_of_the_one_before(
    context: BenchContext,
) -> None:
    with driven(context) as (sut, _):
        sut.do(Load(3), [sample(3)])
        assert answer(sut.do(Query((3,), limit_s=5.0)).output) == 3
        sut.do(Load(4), [sample(4, 16)])
        with pytest.raises(RemoteProtocolError, match="no part of an answer") as caught:
            sut.do(Query((4,), limit_s=5.0))
        assert "has 16 elemented, expected 490" in caught.value.evidence
        sut.do(Load(5), [sample(5)])
        assert answer(sut.do(Query((5,), limit_s=5.0)).output) == 5


def test_the_comma_after_the_last_result_of_the_visual_wake_words_is_none_too_many(
    context: BenchContext,
) -> None:
    with driven(
        context,
        classes=2,
        results=lambda scores: "".join(f"{score:.3f}," for score in scores),
    ) as (sut, _):
        sut.do(Load(1), [sample(1)])
        assert sut.do(Query((1,), limit_s=5.0)).output == struct.pack("<2i", 110, 890)


def test_a_single_result_larger_than_one_is_taken_as_it_is(
    context: BenchContext,
) -> None:
    with driven(context, classes=1, results=lambda scores: "12.345") as (sut, _):
        sut.do(Load(0), [sample(0)])
        assert sut.do(Query((0,), limit_s=5.0)).output == struct.pack("<i", 12_345)


@pytest.mark.parametrize(
    "printed",
    ["0.1000,0.000", "0.-90,0.010", "nan,0.500", "0.5,0.5", "", "0.500;0.500"],
)
def test_results_that_are_no_three_decimals_are_no_results(
    context: BenchContext, printed: str
) -> None:
    with driven(context, classes=2, results=lambda scores: printed) as (sut, _):
        sut.do(Load(0), [sample(0)])
        with pytest.raises(RemoteProtocolError, match="unreadable") as caught:
            sut.do(Query((0,), limit_s=5.0))
        assert f"[{printed}]" in caught.value.evidence


def test_laps_of_32_bits_that_wrap_within_a_window_go_on(context: BenchContext) -> None:
    # A second to open the line and to load, also on a busy computer.
    with driven(context, laps_from_us=2**32 - 1_000_000, infer_s=0.3) as (sut, _):
        sut.do(Load(0), [sample(0)])
        queries = [sut.do(Query((0,), repeat=2, limit_s=5.0)) for _ in range(2)]
        marks = chain.from_iterable(done.marks for done in queries)
        ticks = [mark.tick for mark in marks]
        assert ticks == sorted(ticks)
        assert ticks[-1] > 2**32


def test_in_energy_mode_every_mark_has_its_pulse_in_the_same_order_and_the_edges_are_the_clock(
    context: BenchContext,
) -> None:
    with driven(context, energy=True, infer_s=0.01) as (sut, device):
        assert (sut.info.clock, sut.info.details["timestamp_mode"]) == (
            EDGE_CLOCK,
            "energy",
        )
        device.pulses.clear()
        sut.do(Sync())
        sut.do(Idle(0.02))
        sut.do(Load(6), [sample(6)])
        done = sut.do(Query((6,), repeat=3, limit_s=5.0))
        assert answer(done.output) == 6
        assert [mark.phase for mark in done.marks] == [1, END]
        assert device.pulses == ["timestamp"] * 10 + ["start", "stop"]
        ticks = [mark.tick for mark in done.marks]
        assert (
            ticks[0] <= ticks[1]
        )  # when the host heard of begin and end: rough, and for no measurement


class Fickle(PublicDevice):
    """Prints every other stamp and pulses for the rest: no firmware, but a line that
    loses whole answers looks like it.
    """

    def _stamp(self, what: str) -> None:
        self.build = Build(energy=not self.build.energy)
        super()._stamp(what)


def test_a_device_that_tells_the_time_only_now_and_then_is_refused(
    context: BenchContext,
) -> None:
    with (
        Fickle(Build()) as device,
        pytest.raises(RemoteProtocolError, match="no time stamp"),
    ):
        sut = UartSut.open(UartSut.Settings(port=device.port, timeout_s=1.0), context)
        try:
            sut.do(Idle(0.01))
        finally:
            sut.close()


def test_a_lap_line_in_energy_mode_is_no_answer(context: BenchContext) -> None:
    with driven(context, energy=True) as (sut, device):
        sut.do(Load(0), [sample(0)])
        device.build = Build()
        with pytest.raises(RemoteProtocolError, match="incomplete"):
            sut.do(Query((0,), limit_s=5.0))


def test_a_reset_between_two_commands_is_counted_and_the_sample_loaded_again(
    context: BenchContext,
) -> None:
    with driven(context) as (sut, device):
        sut.do(Load(5), [sample(5)])
        device.boot()
        done = sut.do(Query((5,), limit_s=5.0))
        assert (done.restarts, answer(done.output)) == (1, 5)


def test_the_device_of_these_tests_has_the_quirks_of_the_public_one(
    context: BenchContext,
) -> None:
    with raw(context) as (line, device):
        heard(line, b"m-init-done\r\nm-ready\r\n")
        line.write(b"db load 4%")
        assert heard(line, b"m-ready") == b"m-[Expecting 4 bytes]\r\nm-ready\r\n"
        line.write(b"db " + b"01" * 6 + b"%")
        assert heard(line, b"m-ready") == b"m-load-done\r\nm-ready\r\n"
        line.write(b"db 0102%")
        assert heard(line, b"m-ready") == b"m-ready\r\n"
        assert device.behind_b == 2
        line.write(b"db " + b"1" * 100 + b"%")
        assert b"Insufficent" in heard(line, b"m-ready")  # 77 of the digits fit
        line.write(b"%")
        assert heard(line, b"m-ready") == b""
        assert device.crashed == "an empty command"


def test_results_beyond_32_bits_of_thousandths_are_refused(
    context: BenchContext,
) -> None:
    with driven(
        context, results=lambda scores: ",".join(["2147483.648"] * len(scores))
    ) as (sut, device):
        sut.do(Load(0), [sample(3)])
        with pytest.raises(RemoteProtocolError, match="beyond 32 bits"):
            sut.do(Query((0,), limit_s=5.0))
        assert not device.crashed


def test_no_lost_byte_of_a_public_device_gives_a_wrong_answer(
    context: BenchContext,
) -> None:
    named = 0
    for seed in range(8):
        with PublicDevice(Build(infer_s=0.0, pulse_s=0.0)) as device:
            settings = UartSut.Settings(
                port=device.port,
                timeout_s=0.3,
                faults=LineFaults(drop=0.002, seed=seed),
            )
            try:
                sut = UartSut.open(settings, context)
            except RigError:
                named += 1
                continue
            try:
                for number in range(6):
                    sut.do(Load(number), [sample(number)])
                    assert (
                        answer(sut.do(Query((number,), limit_s=1.0)).output) == number
                    )
            except RigError as error:
                assert error.cause
                named += 1
            finally:
                sut.close()
            assert device.crashed == ""
    assert named
