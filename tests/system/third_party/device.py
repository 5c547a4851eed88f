# SPDX-License-Identifier: Apache-2.0
"""A device of a third party: it lives in virtual time, and pulls SYNC low for a
millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from rig.interfaces.context import BenchContext
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.sut import SutInfo
from rig.model.completion import END, IDLE, SYNC, Completion, Mark
from rig.model.steps import Idle, Load, Query, Step, Sync

_NS_PER_S = 1_000_000_000
_TICK_HZ = 1_000_000
_PULSE_S = 1e-3
_IDLE_W = 0.010
_BUSY_W = 0.030
_COUNT_S = 0.02


class Device(Backend):
    """Counts the bits of a payload in a fiftieth of a second."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """It has no settings."""

    def __init__(self, context: BenchContext) -> None:
        self._world = context.world
        self._answer = context.reference
        self._payload = b""
        self._world.put(self._world.now_ns(), True, _IDLE_W)

    @staticmethod
    def simulates(settings: Settings) -> bool:
        return True

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        return cls(context)

    @property
    def info(self) -> SutInfo:
        return SutInfo(
            name="bit counter",
            kind="acme_device",
            simulated=True,
            tick_hz=_TICK_HZ,
            task="acme_bits",
            sync_hold_s=_PULSE_S,
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        match step:
            case Sync():
                periods_s = (0.005, 0.010, 0.005, 0.020)
                marks = [
                    self._mark(SYNC, _IDLE_W, period_s) for period_s in 2 * periods_s
                ]
                return Completion(tuple(marks), iterations=0)
            case Idle(duration_s=duration_s):
                marks = [
                    self._mark(IDLE, _IDLE_W, duration_s),
                    self._mark(END, _IDLE_W, 0.005),
                ]
                return Completion(tuple(marks), iterations=0)
            case Load():
                self._payload = payloads[0]
                self._world.advance(_NS_PER_S // 100)
                return Completion(())
            case Query():
                assert self._answer is not None
                marks = [
                    self._mark(1, _BUSY_W, _COUNT_S),
                    self._mark(END, _IDLE_W, 0.005),
                ]
                return Completion(
                    tuple(marks), self._answer(self._payload), iterations=1
                )
            case _:
                raise NotImplementedError(step)

    def close(self) -> None:
        pass

    def _mark(self, phase: int, power_w: float, duration_s: float) -> Mark:
        """Drop SYNC, and draw so much power for so long."""
        now_ns = self._world.now_ns()
        self._world.put(now_ns, False, power_w)
        self._world.put(now_ns + round(_PULSE_S * _NS_PER_S), True, power_w)
        self._world.advance(round(duration_s * _NS_PER_S))
        return Mark(phase, now_ns * _TICK_HZ // _NS_PER_S)
