# SPDX-License-Identifier: Apache-2.0
"""A monitor of a third party: when the recording ends, it samples the device's power."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo, Recording
from rig.interfaces.plugin_classes import Driver
from rig.trace.writer import TraceWriter
from rig.uncertainty.accuracy import Accuracy, Range

_SAMPLE_HZ = 20_000
_SUPPLY_V = 3.0
_NS_PER_S = 1_000_000_000


class Meter(Driver):
    """A meter without noise."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """It has no settings."""

    def __init__(self, context: BenchContext) -> None:
        self._world = context.world

    @staticmethod
    def simulates(settings: Settings) -> bool:
        return True

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        return cls(context)

    @property
    def info(self) -> MonitorInfo:
        promised = Accuracy(
            current=(Range(1.0, 0.001, 0.0),),
            voltage=(Range(10.0, 0.001, 0.0),),
            clock_ppm=10.0,
            source="made up",
            verified=True,
        )
        return MonitorInfo(
            name="third-party meter",
            kind="acme_meter",
            simulated=True,
            sample_hz=_SAMPLE_HZ,
            edge_hz=_SAMPLE_HZ,
            accuracy=promised,
        )

    def power(self, on: bool) -> None:
        self._world.supply_on = on

    @contextmanager
    def record(self, folder: Path) -> Iterator[Recording]:
        start_ns = self._world.now_ns()
        self._world.wait(_NS_PER_S // 100)
        writer = TraceWriter(
            folder,
            sample_hz=_SAMPLE_HZ,
            edge_hz=_SAMPLE_HZ,
            source="third-party meter",
            serial="1",
            about={"monitor": "acme_meter", "simulated": True},
        )
        with writer:
            yield _Untroubled()
            self._sample(writer, start_ns)

    def close(self) -> None:
        self.power(False)

    def _sample(self, writer: TraceWriter, start_ns: int) -> None:
        states = self._world.states()
        period_ns = _NS_PER_S // _SAMPLE_HZ
        at_ns = np.arange(start_ns, self._world.now_ns(), period_ns) + period_ns // 2
        position = (
            np.searchsorted([state.time_ns for state in states], at_ns, side="right")
            - 1
        )
        power_w = np.array([state.power_w for state in states])[position]
        writer.analog(power_w / _SUPPLY_V, np.full(len(position), _SUPPLY_V))
        writer.sync(np.array([state.level for state in states], np.uint8)[position])


class _Untroubled:
    def check(self) -> None:
        pass
