# SPDX-License-Identifier: Apache-2.0
"""The image of a Raspberry Pi Pico in rp2040js, the same that is flashed: its SYNC is
a pin that the emulator watches, not a message of the firmware.

Times are those of an emulator that counts the cycles of the processor, not those of
its memories, and no results of a device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Unit, doc

from rig.firmware.rp2040js import BRIDGE, INSTALL
from rig.interfaces.context import BenchContext
from rig.model.need import Need, NeedKind
from rig.simulation.world import World
from sut_backends.hosted.guest_sync_wire import GuestWire
from sut_backends.hosted.qemu import (
    EmulatedSettings,
    EmulatedSut,
    EmulatorProcess,
    refuse_text,
)
from sut_backends.hosted.sync_wire import Power


@dataclass(frozen=True, slots=True)
class PicoPower:
    """Power of the simulated Pico."""

    sleep: Annotated[float, Ge(0), Unit("W"), doc("While its processor sleeps.")] = (
        0.010
    )
    run: Annotated[float, Ge(0), Unit("W"), doc("While it runs.")] = 0.030


class Rp2040jsSut(EmulatedSut):
    """The firmware on a Raspberry Pi Pico emulated by rp2040js, with its SYNC pin;
    simulated.
    """

    kind = "rp2040js"
    example = "pico"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Settings(EmulatedSettings):
        """The image, and what runs the emulator."""

        machine: Annotated[Literal["pico"], doc("Board.")] = "pico"
        emulator: Annotated[str, doc("Program that runs rp2040js.")] = "node"
        power_w: Annotated[PicoPower, doc("Power that it draws.")] = field(
            default_factory=PicoPower
        )

        def __post_init__(self) -> None:
            refuse_text(self.layer, "sut.rp2040js.layer")

    @staticmethod
    def emulators(settings: Settings, program: Path) -> Sequence[Need]:
        """Return node, and the package that it runs."""
        node = Need(NeedKind.PROGRAM, settings.emulator)
        script = (str(BRIDGE), "-kernel", str(program))
        return (node, dataclasses.replace(node, try_next=INSTALL, script=script))

    @staticmethod
    def process(settings: Settings, program: Path) -> EmulatorProcess:
        """Start rp2040js."""
        return EmulatorProcess(
            settings.emulator, settings.machine, program, None, BRIDGE
        )

    @staticmethod
    def wire(
        settings: Settings, fd: int, context: BenchContext, origin_ns: int
    ) -> GuestWire:
        """Return the reader of the SYNC pin."""
        return PinWire(fd, context.world, settings.power_w, origin_ns)

    @staticmethod
    def details(settings: Settings) -> dict[str, Any]:
        """Return board and power."""
        return {
            "machine": settings.machine,
            "power_w": dataclasses.asdict(settings.power_w),
        }


class PinWire(GuestWire):
    """Read the lines of rig/firmware/rp2040js.cjs: the level of a pin and whether the
    processor runs, in emulated nanoseconds.
    """

    def __init__(
        self, fd: int, world: World, power_w: PicoPower, origin_ns: int
    ) -> None:
        self._pico_w = power_w
        super().__init__(fd, world, Power(idle=power_w.run), origin_ns)

    def _understand(self, kind: str, numbers: list[int]) -> None:
        """Take `T ns` or `L ns level running`; raise ValueError for another line."""
        time_ns = self._origin_ns + numbers[0]
        if (kind, len(numbers)) == ("T", 1):
            self._tell(time_ns)
        elif (kind, len(numbers)) == ("L", 3):
            _, level, running = numbers
            power_w = self._pico_w.run if running else self._pico_w.sleep
            self._put(time_ns, bool(level), power_w)
        else:
            raise ValueError(kind)
