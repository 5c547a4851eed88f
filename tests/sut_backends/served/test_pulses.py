# SPDX-License-Identifier: Apache-2.0
"""Pulses around steps, on lines that stand in for RTS, DTR and GPIO."""

from __future__ import annotations

import sys
import time
from itertools import chain, pairwise
from types import ModuleType, SimpleNamespace

import pytest

from rig.errors import BenchError, ConfigError, LocalProtocolError
from rig.host.serial_port import SerialPort
from rig.interfaces.context import BenchContext
from rig.model.completion import BATCH, END, IDLE, SYNC
from rig.model.steps import Idle, Load, Query, Solve, Sync
from sut_backends.cpu.backend import CpuSut
from sut_backends.served.endpoints import LOOPBACK, TcpEndpoint
from sut_backends.served.pulses import PulsedSut
from sut_backends.served.sync_lines import open_sync_line
from sut_backends.uart.backend import UartSut
from tests.sut_backends.served.serving import echo, serving
from tests.sut_backends.uart import public_programs

HOLD_S = 200e-6


class Scope:
    """A line that stamps its edges, as a monitor would."""

    name = "scope"

    def __init__(self) -> None:
        self.falls_ns: list[int] = []
        self.level: bool | None = None
        self.closed = 0

    def set(self, level: bool) -> None:
        if self.level and not level:
            self.falls_ns.append(time.monotonic_ns())
        self.level = level

    def close(self) -> None:
        self.closed += 1


def pulsed(scope: Scope) -> PulsedSut:
    context = BenchContext(programs={"null": public_programs.program("null")})
    return PulsedSut(CpuSut.open(CpuSut.Settings(slots=4), context), scope, HOLD_S)


@pytest.mark.alone  # the pattern of SYNC is the host's pace
def test_every_mark_reported_to_the_host_is_an_edge_on_the_line_at_its_tick() -> None:
    scope = Scope()
    endpoint = TcpEndpoint(LOOPBACK, 0)
    with serving(lambda: pulsed(scope), endpoint) as (server, _):
        sut = UartSut.open(
            UartSut.Settings(port=endpoint.url, sync_hold_us=200), BenchContext()
        )
        info = sut.info
        assert info.has_sync_line and info.sync_hold_s == pytest.approx(HOLD_S)
        assert (info.tick_hz, info.streams, info.solves) == (
            1_000_000_000,
            False,
            False,
        )
        sut.do(Load(0), [b"abc"])
        steps = (
            Sync(),
            Idle(0.02),
            Query((0,), limit_s=10.0, repeat=3),
            Query((0,), limit_s=10.0, batch=True),
        )
        marks = list(chain.from_iterable(sut.do(step).marks for step in steps))
        assert isinstance(server.sut, PulsedSut)
        worst_ns = server.sut.worst_stamp_s * 1e9
        sut.close()
    phases = [mark.phase for mark in marks]
    assert phases == [SYNC] * 8 + [IDLE, END, 1, END, BATCH, END]
    assert len(scope.falls_ns) == len(marks)
    # One stamp lies between the other two of the same call.
    for mark, fall_ns in zip(marks, scope.falls_ns, strict=True):
        assert abs(mark.tick - fall_ns) <= worst_ns + 1
    apart_ms = [(late - early) / 1e6 for early, late in pairwise(scope.falls_ns[:5])]
    # the pattern of the host's 5 ms
    assert [round(ms / 5) for ms in apart_ms] == [1, 2, 1, 4]
    assert scope.level is True and scope.closed == 1


def test_searches_and_simulated_devices_are_not_pulsed() -> None:
    scope = Scope()
    sut = pulsed(scope)
    with pytest.raises(LocalProtocolError, match="inside of a step"):
        sut.do(Solve(0, 0.1, seed=1))
    sut.close()
    with pytest.raises(ConfigError, match="simulated"):
        PulsedSut(echo(), Scope(), HOLD_S)


@pytest.mark.parametrize(("name", "other"), [("rts", "cts"), ("dtr", "dsr")])
def test_a_modem_line_is_not_asserted_at_rest(name: str, other: str) -> None:
    port = SerialPort.open("loop://", 9600)
    line = open_sync_line(name, lambda: port)
    for level in (True, False, True):
        line.set(level)
        assert getattr(port._port, other) is not level
    line.close()
    port.close()


def test_a_gpio_line_is_requested_high_driven_and_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output: list[object] = []

    class Request:
        def set_value(self, number: int, value: str) -> None:
            output.append((number, value))

        def release(self) -> None:
            output.append("released")

    def request_lines(chip: str, consumer: str, config: dict[int, object]) -> Request:
        if chip != "/dev/gpiochip0":
            raise FileNotFoundError(chip)
        output.append((chip, config))
        return Request()

    module = ModuleType("gpiod")
    line = ModuleType("gpiod.line")
    line.Value = SimpleNamespace(ACTIVE="high", INACTIVE="low")  # type: ignore[attr-defined]
    line.Direction = SimpleNamespace(OUTPUT="out")  # type: ignore[attr-defined]
    module.line = line  # type: ignore[attr-defined]
    module.LineSettings = dict  # type: ignore[attr-defined]
    module.request_lines = request_lines  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gpiod", module)
    monkeypatch.setitem(sys.modules, "gpiod.line", line)
    opened = open_sync_line("gpio:/dev/gpiochip0:17", None)
    opened.set(False)
    opened.set(True)
    opened.close()
    opened.close()
    settings = {"direction": "out", "output_value": "high"}
    assert output == [
        ("/dev/gpiochip0", {17: settings}),
        (17, "low"),
        (17, "high"),
        "released",
    ]
    with pytest.raises(BenchError, match="cannot be had"):
        open_sync_line("gpio:/dev/gpiochip9:1", None)
    monkeypatch.setitem(sys.modules, "gpiod", None)
    with pytest.raises(BenchError, match="library gpiod"):
        open_sync_line("gpio:/dev/gpiochip0:17", None)


@pytest.mark.parametrize(
    "name", ["", "rts", "pin 5", "gpio:17", "gpio:/dev/gpiochip0:x"]
)
def test_other_names_of_lines_are_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        open_sync_line(name, None)
