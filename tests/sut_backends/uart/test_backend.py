# SPDX-License-Identifier: Apache-2.0
"""UartSut against the real firmware on a pseudo-terminal."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest

from rig.errors import (
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    LocalProtocolError,
    RemoteProtocolError,
    RigError,
    SutError,
)
from rig.interfaces.context import BenchContext
from rig.model.completion import END, IDLE, SYNC
from rig.model.steps import Idle, Load, Query, Sync
from rig.settings.check import checked
from sut_backends.hosted.posix import DutProcess
from sut_backends.lines.faults import FaultyLink, LineFaults
from sut_backends.lines.line import DutLine
from sut_backends.uart.backend import UartSut
from sut_backends.uart.connect import open_line
from sut_backends.uart.framed_dut import FramedDut
from sut_backends.uart.rates_to_try import USUAL_BAUDS
from sut_backends.uart.text_client import TextClient
from tests.sut_backends.framed import framed, run_slot

pytestmark = pytest.mark.posix

Start = Callable[..., DutProcess]
SAMPLE = bytes((number * 13 + number // 256) & 0xFF for number in range(2000))


@contextmanager
def opened(port: str, context: BenchContext, **settings: Any) -> Iterator[UartSut]:
    sut = UartSut.open(UartSut.Settings(port=port, **settings), context)
    try:
        yield sut
    finally:
        sut.close()


def test_load_run_idle_and_sync_in_the_framed_layer(
    start_dut: Start, context: BenchContext
) -> None:
    reported: list[tuple[str, bytes]] = []
    with opened(start_dut().port, context) as sut:
        # After opening, as a session does.
        context.listen(lambda direction, block: reported.append((direction, block)))
        info = sut.info
        assert (info.task, info.tick_hz, info.marks_phases, info.details["layer"]) == (
            "null",
            1_000_000,
            True,
            "framed",
        )
        assert info.sync_hold_s == pytest.approx(50e-6)
        for index in range(5):
            sample = bytes([index]) + SAMPLE
            sut.do(Load(index), [sample])
            done = sut.do(Query((index,), repeat=3, limit_s=5.0))
            assert done.output == sample[:64]
            assert [mark.phase for mark in done.marks] == [1, 2, END]
            assert (done.rx_in_window_b, done.iterations) == (0, 3)
        idle = sut.do(Idle(0.2))
        assert [mark.phase for mark in idle.marks] == [IDLE, END]
        assert idle.iterations == 0
        # No less than asked for; how much more is up to who else wants this machine.
        assert 200_000 <= idle.marks[1].tick - idle.marks[0].tick < 400_000
        burst = [mark.tick for mark in sut.do(Sync()).marks]
        since = [tick - burst[0] for tick in burst]
        due = [0, 5_000, 15_000, 20_000, 40_000, 45_000, 55_000, 60_000]
        assert all(
            wanted - 50 <= at < wanted + 100_000
            for at, wanted in zip(since, due, strict=True)
        ), since
    assert {direction for direction, _ in reported} == {"tx", "rx"}


def test_load_run_idle_and_sync_in_the_text_layer(
    start_dut: Start, context: BenchContext
) -> None:
    with opened(start_dut().port, context, layer="text") as sut:
        assert (sut.info.task, sut.info.marks_phases, sut.info.details["layer"]) == (
            "null",
            False,
            "text",
        )
        sut.do(Load(4), [(1000).to_bytes(4, "little") + (3000).to_bytes(4, "little")])
        done = sut.do(Query((4,), repeat=2, limit_s=5.0))
        assert done.output == (250).to_bytes(4, "little") + (750).to_bytes(4, "little")
        assert [mark.phase for mark in done.marks] == [1, END]
        idle = sut.do(Idle(0.1))
        assert idle.marks[1].tick - idle.marks[0].tick >= 100_000
        assert [mark.phase for mark in sut.do(Sync()).marks] == [SYNC] * 8
        with pytest.raises(LocalProtocolError, match="sample 5 is not loaded"):
            sut.do(Query((5,)))


def test_an_emulator_behind_a_port_is_called_simulated_where_the_bench_says_so(
    start_dut: Start, context: BenchContext
) -> None:
    port = start_dut().port
    for simulated in (False, True):
        with opened(port, context, simulated=simulated) as sut:
            assert sut.info.simulated is simulated


def test_samples_that_are_not_in_the_dut_and_queries_of_several_are_our_own_errors(
    start_dut: Start, context: BenchContext
) -> None:
    with opened(start_dut().port, context) as sut:
        for index in range(sut.info.slots + 1):
            sut.do(Load(index), [SAMPLE])
        with pytest.raises(LocalProtocolError, match="sample 0 is not loaded"):
            sut.do(Query((0,)))
        with pytest.raises(LocalProtocolError, match="2 samples"):
            sut.do(Query((1, 2)))
        with pytest.raises(
            LocalProtocolError,
            match=(
                f"a batch of {sut.info.slots + 1} samples, the DUT takes"
                f" {sut.info.slots}"
            ),
        ):
            sut.do(Query(tuple(range(sut.info.slots + 1)), batch=True))
        with pytest.raises(LocalProtocolError, match="has 40000 bytes"):
            sut.do(Load(9), [bytes(40_000)])
        assert sut.do(Query((2,))).output == SAMPLE[:64]


def test_one_fault_in_a_thousand_bytes_each_way_changes_no_result(
    start_dut: Start, context: BenchContext
) -> None:
    with opened(
        start_dut().port, context, faults=LineFaults(0.001, 0.001, 0.001, seed=7)
    ) as sut:
        assert isinstance(sut.line, FaultyLink)
        repeats = 0
        for index in range(20):
            sample = bytes([index]) + SAMPLE
            sut.do(Load(index), [sample])
            done = sut.do(Query((index,), limit_s=5.0))
            assert done.output == sample[:64]
            assert [mark.phase for mark in done.marks] == [1, 2, END]
            repeats += done.retransmissions
        repeats += sut.do(Idle(0.05)).retransmissions
        assert len(sut.do(Sync()).marks) == 8
        injected = sut.line.injected
        faults = ("dropped_b", "duplicated_b", "flipped_b")
        for way, fault in product(("tx", "rx"), faults):
            assert getattr(injected[way], fault)
        assert repeats > 10


def largest_remainders(count: int) -> list[int]:
    """Return 1, 2, .. `count` as thousandths of their sum that add up to 1000, as the
    firmware rounds them.
    """
    total = count * (count + 1) // 2
    floors = [number * 1000 // total for number in range(1, count + 1)]
    claims = sorted(range(count), key=lambda at: (-((at + 1) * 1000 % total), at))[
        : 1000 - sum(floors)
    ]
    return [floor + (at in claims) for at, floor in enumerate(floors)]


@pytest.mark.parametrize("seed", range(12))
def test_lost_and_doubled_bytes_in_the_text_layer_are_named_and_give_no_wrong_result(
    start_dut: Start, context: BenchContext, seed: int
) -> None:
    faults = LineFaults(drop=0.0015, duplicate=0.0015, seed=seed)
    numbers = b"".join((number * 1000).to_bytes(4, "little") for number in range(1, 17))
    answer = b"".join(
        thousandths.to_bytes(4, "little") for thousandths in largest_remainders(16)
    )
    try:
        with opened(
            start_dut().port, context, layer="text", timeout_s=0.5, faults=faults
        ) as sut:
            for index in range(20):
                sut.do(Load(index), [numbers])
                output = sut.do(Query((index,), limit_s=2.0)).output
                assert output == answer
    except (SutError, DeadlineError, RemoteProtocolError) as error:
        assert error.evidence
        return
    pytest.fail("no fault in 20 samples")


def test_a_dut_left_in_the_framed_layer_is_found_again(
    start_dut: Start, context: BenchContext
) -> None:
    dut = start_dut()
    for _ in range(3):
        sut = UartSut.open(UartSut.Settings(port=dut.port), context)
        sut.line.write(b"\x00\x05\x11")  # a host that died within a frame
        sut.line.close()
    with opened(dut.port, context) as sut:
        sut.do(Load(0), [SAMPLE])
        assert sut.do(Query((0,))).output == SAMPLE[:64]


def test_a_wrong_line_rate_is_named_and_probe_finds_the_right_one(
    start_dut: Start, context: BenchContext
) -> None:
    # Under a name that does not show that it is a pseudo terminal, which has no rate.
    port = f"alt://{start_dut('--baud', '9600').port}?class=Serial"
    with pytest.raises(
        (RemoteProtocolError, DeadlineError), match=r"line rate|silent"
    ) as caught:
        UartSut.open(UartSut.Settings(port=port, timeout_s=0.7), context)
    assert "9600" in caught.value.try_next
    findings = list(UartSut.probe(UartSut.Settings(port=port, timeout_s=0.7), context))
    assert [(finding.name, finding.ok) for finding in findings[:3]] == [
        ("port", True),
        ("answer", False),
        ("answer at 9600 baud", True),
    ]
    assert findings[2].try_next == "sut.uart.baud = 9600"
    tried = {finding.name for finding in findings[3:] if not finding.ok}
    assert tried == {
        f"answer at {baud} baud" for baud in USUAL_BAUDS if baud not in (9600, 115_200)
    }


def test_probe_goes_through_all_steps_of_a_good_dut(
    start_dut: Start, context: BenchContext
) -> None:
    findings = list(UartSut.probe(UartSut.Settings(port=start_dut().port), context))
    assert [finding.ok for finding in findings] == [True] * 12
    assert "posix" in findings[1].detail


def test_probe_says_what_to_do_about_a_missing_port(context: BenchContext) -> None:
    (finding,) = UartSut.probe(UartSut.Settings(port="/dev/does-not-exist"), context)
    assert not finding.ok
    assert finding.try_next


def test_the_line_rate_changes_and_comes_back(
    start_dut: Start, context: BenchContext
) -> None:
    dut = start_dut("--baud", "115200")
    with opened(dut.port, context, frame_baud=921_600) as sut:
        assert sut.info.details["baud"] == 921_600
        sut.do(Load(0), [SAMPLE])
        assert sut.do(Query((0,))).output == SAMPLE[:64]
    with opened(dut.port, context) as sut:
        assert sut.info.details["baud"] == 115_200
        sut.do(Load(0), [SAMPLE])


def test_a_dut_left_at_the_frame_rate_is_found_again(
    start_dut: Start, context: BenchContext
) -> None:
    dut = start_dut("--baud", "115200")
    UartSut.open(
        UartSut.Settings(port=dut.port, frame_baud=921_600), context
    ).line.close()
    with opened(dut.port, context, frame_baud=921_600, timeout_s=0.7) as sut:
        sut.do(Load(0), [SAMPLE])
        assert sut.do(Query((0,))).output == SAMPLE[:64]
    with opened(dut.port, context) as sut:
        assert sut.info.details["baud"] == 115_200


def test_a_line_rate_that_the_dut_refuses_leaves_the_old_one_and_is_noted(
    start_dut: Start, context: BenchContext
) -> None:
    with opened(
        start_dut("--baud", "115200").port, context, frame_baud=5_000_000
    ) as sut:
        assert sut.info.details["baud"] == 115_200
        assert "5000000" in sut.info.details["frame_baud_refused"]
        sut.do(Load(0), [SAMPLE])
        assert sut.do(Query((0,))).output == SAMPLE[:64]


class DeafAt:
    """A line that carries no byte at one rate, as a bridge may that cannot make it."""

    def __init__(self, line: DutLine, deaf_baud: int) -> None:
        self._line = line
        self._deaf_baud = deaf_baud
        self.name = line.name
        self.told_baud = line.baud

    @property
    def baud(self) -> int:
        return self.told_baud

    def read(self, timeout_s: float) -> bytes:
        block = self._line.read(timeout_s)
        return b"" if self.told_baud == self._deaf_baud else block

    def write(self, block: bytes) -> None:
        if self.told_baud != self._deaf_baud:
            self._line.write(block)

    def set_baud(self, baud: int) -> None:
        self.told_baud = baud
        self._line.set_baud(baud)

    def close(self) -> None:
        self._line.close()


def deaf_client(
    port: str, context: BenchContext, deaf_baud: int
) -> tuple[FramedDut, DeafAt]:
    line = DeafAt(open_line(port, UartSut.Settings(port=port), context), deaf_baud)
    text = TextClient(line)
    text.attention(2.0)
    assert text.frame()
    client = framed(line)
    client.hello(99)
    return client, line


def test_a_line_rate_that_does_not_work_falls_back(
    start_dut: Start, context: BenchContext
) -> None:
    client, line = deaf_client(start_dut("--baud", "115200").port, context, 921_600)
    switch = client.switch_baud(921_600)
    assert (switch.baud, line.baud) == (115_200, 115_200)
    assert "921600" in switch.refusal
    client.slots.put(0, SAMPLE)
    assert run_slot(client, 0).output == SAMPLE[:64]
    line.close()


def test_no_answer_at_either_rate_names_both(
    start_dut: Start, context: BenchContext
) -> None:
    dut = start_dut("--baud", "115200")
    client, line = deaf_client(dut.port, context, 921_600)
    set_baud = line.set_baud

    def move(baud: int) -> None:
        set_baud(baud)
        line._deaf_baud = baud

    line.set_baud = move  # type: ignore[method-assign]
    with pytest.raises(DeadlineError) as caught:
        client.switch_baud(921_600)
    assert "921600" in caught.value.evidence
    assert "115200" in caught.value.evidence
    line.close()


def test_a_busy_port_is_named(start_dut: Start, context: BenchContext) -> None:
    dut = start_dut()
    with opened(dut.port, context), pytest.raises(DeviceBusy):
        UartSut.open(UartSut.Settings(port=dut.port), context)


def test_a_missing_port_is_named(context: BenchContext) -> None:
    with pytest.raises(DeviceNotFound):
        UartSut.open(UartSut.Settings(port="/dev/does-not-exist"), context)


def test_a_silent_port_is_named_in_bounded_time(context: BenchContext) -> None:
    master, slave = os.openpty()
    started_s = time.monotonic()
    with pytest.raises(DeadlineError, match="silent") as caught:
        UartSut.open(UartSut.Settings(port=os.ttyname(slave), timeout_s=0.6), context)
    assert time.monotonic() - started_s < 2.0
    assert "0 bytes received" in caught.value.evidence
    assert "swap Tx and Rx" in caught.value.try_next
    os.close(master)
    os.close(slave)


def test_the_end_of_the_dut_is_a_lost_device(
    start_dut: Start, context: BenchContext
) -> None:
    dut = start_dut()
    with opened(dut.port, context) as sut:
        dut.close()
        with pytest.raises(DeviceLost):
            sut.do(Idle(0.1))


@pytest.mark.parametrize(
    "settings",
    [
        {"sync_count": 1},
        {"timeout_s": 0.0},
        {"frame_baud": -1},
        {"baud": 0},
        {"sync_hold_us": 70_000},
    ],
)
def test_settings_out_of_range_are_config_errors(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"sut\.uart\.{next(iter(settings))}: "):
        checked(UartSut.Settings(port="x", **settings), "sut.uart")


class Bridge:
    """A small TCP server in front of a pseudo-terminal."""

    def __init__(self, path: str) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"socket://127.0.0.1:{self._server.getsockname()[1]}"
        self._tty = os.open(path, os.O_RDWR | os.O_NOCTTY)
        self._stop, self._stopper = os.pipe()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        client, _ = self._server.accept()
        with client, selectors.DefaultSelector() as selector:
            for file in (client.fileno(), self._tty, self._stop):
                selector.register(file, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == self._stop:
                        return
                    if key.fd == self._tty:
                        client.sendall(os.read(self._tty, 4096))
                    elif block := client.recv(4096):
                        os.write(self._tty, block)
                    else:
                        selector.unregister(client.fileno())

    def hang_up(self) -> None:
        os.write(self._stopper, b"x")
        self._thread.join()

    def close(self) -> None:
        self.hang_up()
        self._server.close()
        for fd in (self._tty, self._stop, self._stopper):
            os.close(fd)


def test_a_socket_url_is_as_good_as_a_port_and_its_end_a_lost_device(
    start_dut: Start, context: BenchContext
) -> None:
    bridge = Bridge(start_dut().port)
    try:
        with opened(bridge.url, context) as sut:
            sut.do(Load(0), [SAMPLE])
            assert sut.do(Query((0,))).output == SAMPLE[:64]
            bridge.hang_up()
            with pytest.raises(DeviceLost):
                sut.do(Idle(0.1))
    finally:
        bridge.close()


def test_every_error_of_a_bad_line_is_one_of_ours(
    start_dut: Start, context: BenchContext
) -> None:
    for seed in range(6):
        try:
            with opened(
                start_dut().port,
                context,
                timeout_s=0.5,
                faults=LineFaults(0.03, 0.03, 0.03, seed),
            ) as sut:
                sut.do(Load(0), [SAMPLE])
                assert sut.do(Query((0,), limit_s=0.5)).output == SAMPLE[:64]
        except RigError as error:
            assert error.cause
