# SPDX-License-Identifier: Apache-2.0
"""Bring-up, step by step: what works between here and the DUT, what does not, and what to try next."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from rig.errors import DeadlineError, ProtocolError, RigError
from rig.plan import Query
from rig.sut import Completion
from rig.table import Table
from sut_backends.shim.text import ATTENTION_S, USUAL_BAUDS, TextClient
from sut_backends.uart import UartSut, open_line

_SAMPLE_B = 16
_IDLE_S = 0.1


@dataclass(frozen=True, slots=True)
class Check:
    """One step: whether it worked, what was seen, and what to try next where it did not."""

    check: str
    ok: bool
    detail: str
    try_next: str = ""


def probe(settings: UartSut.Settings, table: Table) -> list[Check]:
    """Try port, answer, layer, timer, load and run in this order; stop at the first that fails. Raises nothing of RigError."""
    checks: list[Check] = []
    try:
        open_line(settings.port, settings, table).close()
    except RigError as error:
        return [_failed("the port opens", error)]
    checks.append(Check("the port opens", True, f"{settings.port} at {settings.baud} baud"))
    try:
        sut = UartSut.open(settings, table)
    except (DeadlineError, ProtocolError) as error:
        return [*checks, _failed("the DUT answers", error), *_other_bauds(settings, table)]
    except RigError as error:
        return [*checks, _failed("the DUT answers", error)]
    try:
        info = sut.info
        checks.append(Check("the DUT answers", True, f"{info.name}, {info.firmware}; {info.link}; runs {info.task or info.model}"))
        checks.append(_sync_line(info.has_sync_line, info.details.get("sync_pin", "")))
        checks += _steps(sut)
    finally:
        sut.close()
    return checks


def _steps(sut: UartSut) -> list[Check]:
    sample = bytes(min(_SAMPLE_B, sut.info.slot_bytes or _SAMPLE_B))
    steps: list[tuple[str, Callable[[], Completion | None]]] = [
        ("the timer runs", lambda: sut.idle(_IDLE_S)),
        ("SYNC pulses", sut.sync),
        ("a sample loads", lambda: sut.load(0, sample)),
        ("a query runs", lambda: sut.run(Query((0,), limit_s=10.0))),
    ]
    checks: list[Check] = []
    for name, step in steps:
        try:
            checks.append(Check(name, True, _said(step(), sut.info.tick_hz)))
        except RigError as error:
            return [*checks, _failed(name, error)]
    return checks


def _said(completion: Completion | None, tick_hz: int) -> str:
    if completion is None:
        return "acknowledged"
    marks = completion.marks
    span_s = (marks[-1].tick - marks[0].tick) / tick_hz
    return f"{len(marks)} marks over {span_s:.6f} s of the DUT's time, {completion.retransmissions} frames sent again"


def _sync_line(exists: bool, pin: str) -> Check:
    if exists:
        return Check("the DUT has a SYNC line", True, pin or "the firmware does not say at which pin")
    return Check("the DUT has a SYNC line", False, "its firmware says no", "give its port a mark() and a pin")


def _other_bauds(settings: UartSut.Settings, table: Table) -> list[Check]:
    checks = []
    for baud in USUAL_BAUDS:
        if baud != settings.baud:
            checks.append(_at(dataclasses.replace(settings, baud=baud), table))
    return checks


def _at(settings: UartSut.Settings, table: Table) -> Check:
    name = f"the DUT answers at {settings.baud} baud"
    try:
        line = open_line(settings.port, settings, table)
    except RigError as error:
        return _failed(name, error)
    try:
        device = TextClient(line, settings.timeout_s).attention(2 * ATTENTION_S)
        return Check(name, True, device, f"--set sut.uart.baud={settings.baud}")
    except RigError as error:
        return _failed(name, error)
    finally:
        line.close()


def _failed(name: str, error: RigError) -> Check:
    detail = f"{error.cause} ({error.evidence})" if error.evidence else error.cause
    return Check(name, False, detail, error.try_next)
