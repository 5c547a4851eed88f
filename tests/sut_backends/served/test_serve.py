# SPDX-License-Identifier: Apache-2.0
"""A served device and the ordinary host: bad lines, a second host, hosts and backends
that go."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rig.errors import BenchError, ConfigError, DeviceLost, RigError, SutError
from rig.host.stop import Stop, pause
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo, SystemUnderTest
from rig.model.completion import Completion
from rig.model.origin import Origin, Origins
from rig.model.steps import Idle, Load, Query, Solve, Step, Sync
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.cpu.backend import CpuSut
from sut_backends.lines.faults import LineFaults
from sut_backends.served.capabilities import capabilities
from sut_backends.served.endpoints import BUSY, LOOPBACK, PtyEndpoint, TcpEndpoint
from sut_backends.shim.messages import Flag, More
from sut_backends.uart.backend import UartSut
from tests.sut_backends.served.serving import echo, serving
from tests.sut_backends.uart import public_programs

SAMPLE = bytes(range(200)) * 5


def host(url: str, **settings: object) -> UartSut:
    return UartSut.open(
        UartSut.Settings(port=url, simulated=True, **settings),  # type: ignore[arg-type]
        BenchContext(),
    )


def cpu() -> CpuSut:
    context = BenchContext(programs={"moody": public_programs.program("moody")})
    return CpuSut.open(CpuSut.Settings(slots=4), context)


def test_a_line_that_loses_doubles_and_flips_bytes_spoils_no_output() -> None:
    faults = LineFaults(drop=0.001, duplicate=0.001, flip=0.001, seed=3)
    endpoint = PtyEndpoint()
    with serving(echo, endpoint):
        sut = host(endpoint.url, faults=faults)
        repeated = 0
        for number in range(8):
            sample = bytes([number]) * 1000
            sut.do(Load(number), [sample])
            done = sut.do(Query((number,), limit_s=10.0))
            assert done.output == sample[:64]
            repeated += done.retransmissions
        assert repeated > 0
        sut.close()


def test_a_second_host_learns_that_the_device_is_busy_and_the_first_notices_nothing():
    endpoint = TcpEndpoint(LOOPBACK, 0)
    with serving(echo, endpoint):
        first = host(endpoint.url)
        first.do(Load(0), [SAMPLE])
        with pytest.raises(RigError) as refused:
            host(endpoint.url)
        assert BUSY.decode().split("[")[1].split("]")[0] in str(refused.value)
        assert first.do(Query((0,), limit_s=10.0)).output == SAMPLE[:64]
        first.close()
        second = host(endpoint.url)
        assert second.do(Idle(0.01)).iterations == 0
        second.close()


def test_a_host_that_dies_in_a_session_leaves_a_device_for_the_next_one() -> None:
    for endpoint in (TcpEndpoint(LOOPBACK, 0), PtyEndpoint()):
        with serving(echo, endpoint):
            lost = host(endpoint.url)
            lost.do(Load(0), [SAMPLE])
            lost.line.close()  # as a killed process does, without any other message
            again = host(endpoint.url)
            with pytest.raises(RigError, match="not loaded"):
                again.do(Query((0,), limit_s=10.0))
            again.do(Load(0), [SAMPLE])
            assert again.do(Query((0,), limit_s=10.0)).output == SAMPLE[:64]
            again.close()


def test_a_backend_that_is_killed_is_a_device_that_restarts_and_the_step_is_done_again():
    endpoint = TcpEndpoint(LOOPBACK, 0)
    with serving(cpu, endpoint) as (server, reported):
        sut = host(endpoint.url)
        sut.do(Load(5), [b"\x01right"])
        assert isinstance(server.sut, CpuSut)
        os.kill(server.sut._process.pid, signal.SIGKILL)
        done = sut.do(Query((5,), limit_s=10.0))
        assert (done.output, done.restarts) == (b"r", 1)
        assert "the device restarts: the process of the program is gone" in reported[0]
        sut.close()


def test_a_backend_that_dies_of_an_input_each_time_is_lost_and_named() -> None:
    endpoint = TcpEndpoint(LOOPBACK, 0)
    with serving(cpu, endpoint):
        sut = host(endpoint.url)
        sut.do(Load(0), [b"fdies"])  # "f" is 102: the program ends itself
        with pytest.raises(DeviceLost, match="twice"):
            sut.do(Query((0,), limit_s=10.0))
        sut.close()


class Place:
    """A place that is lost in the first query, and the backends that were opened in
    it; a Stop asks whether it is lost.
    """

    def __init__(self, *, stays_lost: bool) -> None:
        self.backends: list[SystemUnderTest] = []
        self.stop = Stop()
        self.stop.guard(self._look)
        self._stays_lost = stays_lost
        self._is_lost = False

    def _look(self) -> BenchError | None:
        if not self._is_lost:
            return None
        self._is_lost = self._stays_lost
        return BenchError("the place is lost")

    def open(self) -> SystemUnderTest:
        self.backends.append(sut := echo())
        if len(self.backends) == 1:
            do = sut.do

            def lose(step: Step, payloads: Sequence[bytes] = ()) -> Completion:
                if isinstance(step, Query):
                    self._is_lost = True
                    pause(0.0)  # a wait of the backend is the first that notices it
                return do(step, payloads)

            sut.do = lose  # type: ignore[method-assign]
        return sut


def test_a_place_that_a_request_finds_lost_ends_the_server() -> None:
    place = Place(stays_lost=True)
    endpoint = PtyEndpoint()
    with (
        pytest.raises(BenchError, match="the place is lost"),
        serving(place.open, endpoint, place.stop) as (_, reported),
    ):
        sut = host(endpoint.url)
        sut.do(Load(0), [SAMPLE])
        with pytest.raises(RigError):  # no answer
            sut.do(Query((0,), limit_s=0.2))
    assert len(place.backends) == 1 and not reported


def test_a_server_is_stopped_also_after_a_request_caught_what_a_wait_raised() -> None:
    place = Place(stays_lost=False)
    endpoint = PtyEndpoint()
    with serving(place.open, endpoint, place.stop) as (_, reported):
        sut = host(endpoint.url)
        sut.do(Load(0), [SAMPLE])
        assert sut.do(Query((0,), limit_s=10.0)).restarts == 1
        assert reported[0].startswith("the device restarts: the place is lost")
        sut.close()


def test_what_a_program_refuses_or_fails_at_has_its_code_and_words() -> None:
    endpoint = TcpEndpoint(LOOPBACK, 0)
    with serving(cpu, endpoint):
        sut = host(endpoint.url)
        with pytest.raises(SutError, match="not this one"):
            sut.do(Load(0), [b"d refused"])
        sut.do(Load(1), [b"e fails"])
        with pytest.raises(SutError, match="of no use"):
            sut.do(Query((1,), limit_s=10.0))
        sut.close()


class Limited:
    """A backend that can load and run, and no more."""

    def __init__(self, **facts: object) -> None:
        self.info = SutInfo("limited", "limited", False, 1_000_000, "null", **facts)

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        return Completion(())

    def close(self) -> None:
        """Have no effect."""


def test_what_a_backend_cannot_has_no_flag_and_the_host_refuses_it_itself() -> None:
    endpoint = PtyEndpoint()
    with serving(lambda: Limited(has_sync_line=False), endpoint):
        sut = UartSut.open(UartSut.Settings(port=endpoint.url), BenchContext())
        info = sut.info
        assert (info.batch_max, info.solves, info.streams) == (0, False, False)
        assert (info.has_sync_line, info.simulated) == (False, False)
        sut.do(Load(0), [SAMPLE])
        for step in (Query((0,), batch=True), Solve(0, 0.1, seed=1)):
            with pytest.raises(RigError, match=r"batch|search"):
                sut.do(step)
        with pytest.raises(SutError, match="counts no iterations"):
            sut.do(Query((0,), limit_s=10.0))
        with pytest.raises(SutError, match="bursts have 0 pulses"):
            sut.do(Sync())
        with pytest.raises(SutError, match="unknown message type"):
            sut.self_test()
        sut.close()


def test_pulses_of_a_simulated_device_are_no_sync_line_and_it_says_that_it_is_simulated():
    info = echo().info
    assert info.has_sync_line and Flag.SYNC_LINE not in capabilities(info).flags
    assert Flag.SYNC_LINE in capabilities(replace(info, simulated=False)).flags
    modelled = replace(info, simulated=False, origins=Origins(energy=Origin.MODELLED))
    assert More.SIMULATED in capabilities(modelled).more
    endpoint = PtyEndpoint()
    with serving(echo, endpoint), pytest.raises(ConfigError, match="simulated"):
        UartSut.open(UartSut.Settings(port=endpoint.url), BenchContext())


def test_a_device_without_a_clock_of_its_own_is_not_served() -> None:
    with pytest.raises(ConfigError, match="no time"):
        capabilities(Limited(clock=EDGE_CLOCK).info)


def test_a_port_that_is_taken_is_named_before_anything_is_opened() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BenchError, match=str(port)):
            TcpEndpoint(LOOPBACK, port)
