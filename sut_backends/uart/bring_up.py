# SPDX-License-Identifier: Apache-2.0
"""Bring-up of the connection to a DUT, step by step, with advice where a step fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Protocol

from rig.errors import DeadlineError, ProtocolError, RigError, SutError
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SutInfo, SystemUnderTest
from rig.model.completion import Completion
from rig.model.finding import Finding
from rig.model.steps import Idle, Load, Query, Solve, Step, Sync
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.shim.messages import ErrorCode
from sut_backends.uart.connect import PortSettings, open_line
from sut_backends.uart.rates_to_try import USUAL_BAUDS, no_rate
from sut_backends.uart.self_test import SelfTested
from sut_backends.uart.text_client import ATTENTION_S, GarbledAnswer, TextClient

_SAMPLE_B = 16
_IDLE_S = 0.1
_LIMIT_S = 10.0
_SEARCH_S = 0.05


class Probed(SystemUnderTest, Protocol):
    """A DUT on a UART that can be brought up."""

    def self_test(self) -> SelfTested | None:
        """Let the DUT test itself; None where it speaks the text layer."""


def probe(
    settings: PortSettings, context: BenchContext, open_sut: Callable[[], Probed]
) -> Iterator[Finding]:
    """Try port, answer, SYNC line, timer, burst, load, run, self-test in this order, to
    the first that fails. Raise no RigError.
    """
    try:
        open_line(settings.port, settings, context).close()
    except RigError as error:
        yield _failed("port", error)
        return
    yield Finding("port", True, f"{settings.port} opens")
    try:
        sut = open_sut()
    except RigError as error:
        yield _failed("answer", error)
        if _may_be_the_rate(error, settings.port):
            for baud in USUAL_BAUDS:
                if baud != settings.baud:
                    yield _at(dataclasses.replace(settings, baud=baud), context)
        return
    try:
        yield from examine(sut, sut.info, context.sample, sync_needed=context.monitored)
    finally:
        sut.close()


def _may_be_the_rate(error: RigError, port: str) -> bool:
    """Check whether another line rate may help. A port without a rate is not tried: an
    emulator may use the rate that is set there, and garble its answers.
    """
    if isinstance(error, GarbledAnswer):
        return True
    return isinstance(error, DeadlineError | ProtocolError) and not no_rate(port)


def examine(
    sut: Probed,
    info: SutInfo,
    sample: bytes,
    *,
    own_time: bool = False,
    sync_needed: bool = True,
) -> Iterator[Finding]:
    """Try the steps after the answer, on an open DUT, up to the first that fails.

    `info` is the device's report about itself; `sample` a payload it must accept, or
    empty; `own_time` states that an emulator's time passes in it, not this host's;
    `sync_needed`, that a monitor is to see its SYNC line.
    """
    yield from _about(info, sync_needed)
    yield from _steps(sut, info, sample, own_time)


def _about(info: SutInfo, sync_needed: bool) -> Iterator[Finding]:
    yield Finding(
        "answer",
        True,
        f"{info.name}, {info.firmware}; {info.link}; runs {info.task or info.model}",
    )
    if info.has_sync_line:
        yield Finding(
            "SYNC line",
            True,
            info.details.get("sync_pin") or "the firmware does not say at which pin",
        )
    elif not sync_needed:
        yield Finding(
            "SYNC line",
            True,
            "the firmware says that there is none, and no monitor needs one",
        )
    else:
        yield Finding(
            "SYNC line",
            False,
            "the firmware says that there is none",
            "give its port a mark() and a pin",
        )


def _steps(
    sut: Probed, info: SutInfo, given: bytes, own_time: bool
) -> Iterator[Finding]:
    sample = given or bytes(min(_SAMPLE_B, info.slot_bytes or _SAMPLE_B))
    steps: list[tuple[str, Step, tuple[bytes, ...]]] = [
        ("timer", Idle(_IDLE_S), ()),
        ("SYNC pulses", Sync(), ()),
        ("load", Load(0), (sample,)),
        ("query", Query((0,), limit_s=_LIMIT_S), ()),
    ]
    if info.solves:
        steps[-1] = ("search", Solve(0, _SEARCH_S, seed=1, limit_s=_LIMIT_S), ())
    stateful = info.details.get("stateful") is True
    if stateful:
        steps.pop()
    for name, step, payloads in steps:
        try:
            yield Finding(name, True, _summary(sut.do(step, payloads), info))
        except RigError as error:
            failed = _failed(name, error)
            yield _other_image(failed, info) if name == "load" else failed
            return
    if stateful:
        yield Finding(
            "query",
            True,
            "skipped: this workload answers in a stream alone, which rig run begins",
        )
    yield from _self_test(sut, info.simulated, own_time)


def _self_test(sut: Probed, simulated: bool, own_time: bool) -> Iterator[Finding]:
    try:
        tested = sut.self_test()
    except SutError as error:
        if error.code != ErrorCode.TYPE:
            yield _failed("self-test", error)
        else:
            yield Finding(
                "self-test",
                True,
                "skipped: this firmware has none; the steps above are all that was"
                " tried",
            )
        return
    except RigError as error:
        yield _failed("self-test", error)
        return
    if tested is None:
        yield Finding(
            "self-test",
            True,
            "skipped: there is none in the text layer; the steps above are all that was"
            " tried",
        )
    else:
        yield from tested.findings(simulated, own_time=own_time)


def _summary(completion: Completion, info: SutInfo) -> str:
    marks = completion.marks
    if not marks:
        return "acknowledged"
    span_s = (marks[-1].tick - marks[0].tick) / info.tick_hz
    if info.clock == EDGE_CLOCK:
        return (
            f"{len(marks)} pulses within {span_s:.3f} s of the host's time: the DUT,"
            " built for energy mode, tells none"
        )
    return (
        f"{len(marks)} marks over {span_s:.6f} s of the DUT's time, "
        f"{completion.retransmissions} frames retransmitted"
    )


def _at(settings: PortSettings, context: BenchContext) -> Finding:
    name = f"answer at {settings.baud} baud"
    try:
        line = open_line(settings.port, settings, context)
    except RigError as error:
        return _failed(name, error)
    try:
        device = TextClient(line, settings.timeout_s).attention(2 * ATTENTION_S)
        return Finding(name, True, device, f"sut.uart.baud = {settings.baud}")
    except RigError as error:
        return _failed(name, error)
    finally:
        line.close()


def _other_image(failed: Finding, info: SutInfo) -> Finding:
    """Say what to try where the image may be that of another workload."""
    if failed.try_next:
        return failed
    runs = info.task or info.model
    try_next = f"it runs {runs}: flash the image of the bench's [task.*], if another"
    return dataclasses.replace(failed, try_next=try_next, see="other-workload")


def _failed(name: str, error: RigError) -> Finding:
    return Finding(name, False, error.with_evidence, error.try_next, see=error.see)
