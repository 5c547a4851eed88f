# SPDX-License-Identifier: Apache-2.0
"""A virtual system under test: nothing runs, virtual time passes, and the truth about it is known."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Self

from rig.errors import ConfigError, DeadlineError, LocalProtocolError
from rig.plan import Query
from rig.sut import BATCH, END, IDLE, SYNC, Completion, Mark, SutInfo
from rig.table import Table
from rig.virtual import NS_PER_S

#: Multiples of the SYNC period after each pulse: docs/PROTOCOL.md section 4.
_PATTERN = (1, 2, 1, 4)


@dataclass(frozen=True, slots=True)
class PhaseModel:
    """One phase of the device: its duration (s), its power (W), and the relative standard deviation of both."""

    duration_s: float
    power_w: float
    variation: float = 0.005


class VirtualSut:
    """A device that only exists in virtual time, with phases of known length and power; simulated."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The device's clock (offset in ticks, rate error in ppm), its phases, its idle power, how often it answers wrongly, and
        how many samples it holds."""

        tick_hz: int = 1_000_000
        clock_offset_ticks: int = 123_456_789
        clock_ppm: float = 40.0
        idle_w: float = 0.012
        preprocess: PhaseModel = field(default_factory=lambda: PhaseModel(0.018, 0.035))
        infer: PhaseModel = field(default_factory=lambda: PhaseModel(0.042, 0.045))
        error_rate: float = 0.0
        sync_hold_us: int = 50
        sync_count: int = 8
        sync_period_us: int = 2_003  # no multiple of a sampling period: the pulses of a burst fall on different parts of one
        load_s: float = 0.002
        slots: int = 1

    def __init__(self, settings: Settings, table: Table) -> None:
        if settings.tick_hz < 1:
            raise ConfigError(f"{settings.tick_hz} ticks per second", path="sut.virtual.tick_hz", try_next="1 or more")
        if settings.slots < 1:
            raise ConfigError(f"{settings.slots} slots", path="sut.virtual.slots", try_next="1 or more")
        if table.reference is None:
            raise ConfigError("this task has no reference answers, so a virtual device cannot run it", path="sut.virtual")
        self._settings, self._world, self._reference = settings, table.world, table.reference
        self._random = random.Random(f"virtual-sut-{table.seed}")
        self._loaded: dict[int, bytes] = {}
        self._info = SutInfo(
            name="virtual device",
            kind="virtual",
            simulated=True,
            tick_hz=settings.tick_hz,
            task="any",
            slots=settings.slots,
            batch_max=settings.slots,
            sync_hold_s=settings.sync_hold_us / 1e6,
            details={"clock_ppm": settings.clock_ppm},
        )
        self._rest_until_ns(self._world.now_ns())

    @classmethod
    def open(cls, settings: Settings, table: Table) -> Self:
        """Put the device on the table."""
        return cls(settings, table)

    @property
    def info(self) -> SutInfo:
        """Return what the device is."""
        return self._info

    def load(self, index: int, payload: bytes) -> None:
        """Keep the payload, in place of the oldest one where there is no slot left; takes load_s."""
        self._loaded.pop(index, None)
        while len(self._loaded) >= self._settings.slots:
            del self._loaded[next(iter(self._loaded))]
        self._loaded[index] = payload
        self._world.advance(round(self._settings.load_s * NS_PER_S))

    def idle(self, duration_s: float) -> Completion:
        """Do nothing for a while."""
        marks = [self._mark(IDLE, self._settings.idle_w, duration_s), self._mark(END, self._settings.idle_w, 0.001)]
        return Completion(tuple(marks), iterations=0)

    def sync(self) -> Completion:
        """Give a burst of pulses."""
        settings = self._settings
        marks = []
        for pulse in range(settings.sync_count):
            period_us = settings.sync_period_us * _PATTERN[pulse % len(_PATTERN)]
            marks.append(self._mark(SYNC, settings.idle_w, period_us * 1e-6))
        return Completion(tuple(marks), iterations=0)

    def run(self, query: Query) -> Completion:
        """Go through the phases and answer as the task's reference does, or wrongly at the error rate."""
        missing = [index for index in query.indices if index not in self._loaded]
        if missing:
            raise LocalProtocolError(f"samples {missing} are queried but not loaded")
        began_ns = self._world.now_ns()
        marks, completed = self._batch(query) if query.batch else self._phases(query)
        took_s = (self._world.now_ns() - began_ns) / NS_PER_S
        marks.append(self._mark(END, self._settings.idle_w, 0.001))
        if took_s > query.limit_s:
            raise DeadlineError("end of the query", query.limit_s, evidence=f"the virtual device takes {took_s:.3g} s for it")
        output = b"".join(self._answer(self._loaded[index]) for index in query.indices)
        return Completion(tuple(marks), output, iterations=completed)

    def _phases(self, query: Query) -> tuple[list[Mark], int]:
        marks, completed = [], 0
        for number, phase in enumerate((self._settings.preprocess, self._settings.infer), start=1):
            durations_s = [phase.duration_s * self._vary(phase) for _ in range(query.repeat * len(query.indices))]
            marks.append(self._mark(number, phase.power_w * self._vary(phase), sum(durations_s)))
            completed = len(durations_s)
        return marks, completed

    def _batch(self, query: Query) -> tuple[list[Mark], int]:
        """Go through all phases sample by sample: the power changes with each, SYNC stays as it is."""
        settings, completed = self._settings, 0
        marks = [self._mark(BATCH, settings.idle_w, 0.0)]
        for _ in range(query.repeat * len(query.indices)):
            for phase in (settings.preprocess, settings.infer):
                self._world.put(self._world.now_ns(), True, phase.power_w * self._vary(phase))
                self._world.advance(round(phase.duration_s * self._vary(phase) * NS_PER_S))
            completed += 1
        return marks, completed

    def close(self) -> None:
        """Take the device off the table."""
        self._loaded = {}

    def _answer(self, payload: bytes) -> bytes:
        right = self._reference(payload)
        if self._random.random() >= self._settings.error_rate:
            return right
        return right[4:] + right[:4]

    def _vary(self, phase: PhaseModel) -> float:
        return max(1.0 + self._random.gauss(0.0, phase.variation), 0.1)

    def _mark(self, phase: int, power_w: float, duration_s: float) -> Mark:
        """Drop SYNC now, draw `power_w` from here on, let `duration_s` pass; the pulse is over well before that."""
        now_ns = self._world.now_ns()
        hold_ns = self._settings.sync_hold_us * 1000
        self._world.put(now_ns, False, power_w)
        self._world.put(now_ns + hold_ns, True, power_w)
        self._world.advance(max(round(duration_s * NS_PER_S), 2 * hold_ns))
        return Mark(phase, self._tick(now_ns))

    def _tick(self, now_ns: int) -> int:
        settings = self._settings
        elapsed = int(now_ns * settings.tick_hz * (1 + settings.clock_ppm * 1e-6) / NS_PER_S)
        return settings.clock_offset_ticks + elapsed

    def _rest_until_ns(self, now_ns: int) -> None:
        self._world.put(now_ns, True, self._settings.idle_w)
