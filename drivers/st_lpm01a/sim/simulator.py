# SPDX-License-Identifier: Apache-2.0
"""A simulated X-NUCLEO-LPM01A on a pseudo terminal: bytes in, bytes out, as on the
board's USB port.

Framing of replies: what public clients assert of real boards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from drivers.st_lpm01a.sim.shell import (
    Lpm01aFaults,
    Lpm01aSimulatorSettings,
    ShellRefusal,
    SimulatedShell,
    reset_s,
)
from drivers.st_lpm01a.sim.stream import Lpm01aAcquisition
from drivers.terminal_device import TerminalDevice
from rig.errors import ConfigError
from rig.interfaces.context import BenchContext
from rig.simulation.world import NS_PER_S

__all__ = ["Lpm01aFaults", "Lpm01aSimulator", "Lpm01aSimulatorSettings"]

_TX_B = (
    # samples that the board holds back before it stops sampling; the real size is not
    # documented
    32_768
)
_FRAMES_S = 0.004  # four of full-speed USB: in real time no packet goes out more often
_END_OF_LINE = b"\r\n"


class Lpm01aSimulator(TerminalDevice):
    """One simulated board in a thread of its own. `supply` is called at every change of
    the supply."""

    _measurement: Lpm01aAcquisition | None

    def __init__(
        self,
        settings: Lpm01aSimulatorSettings,
        context: BenchContext,
        supply: Callable[[bool], None] = lambda on: None,
    ) -> None:
        super().__init__("LPM01A", context.world, _FRAMES_S)
        self._settings = settings
        self._supply = supply
        self._random = np.random.default_rng([context.seed, settings.seed])
        self._shell = SimulatedShell(settings)
        self._acquisitions = 0
        self._struck_times = 0
        self._back_on_ns: int | None = None  # after `targrst`
        self._switch(settings.faults.supply_found_on)
        self._shell.power = "on" if settings.faults.supply_found_on else "auto"
        self._begin_stale(settings.faults.stale)
        self._thread.start()

    def _begin_stale(self, stale: str) -> None:
        left = {
            "": b"",
            "half line": b"409-07\r\n6410-0",
            "summary": (
                b"\r\nend\r\n\r\nsummary beg\r\n0000-00\r\n6409-07\r\nsummary end\r\n"
            ),
            "streaming": b"409-07\r\n" + b"6409-07\r\n" * 3000,
            "streaming binary": b"\xa0" + b"\x52\xa0" * 3000,
        }
        if stale not in left:
            raise ConfigError(
                f"{stale!r}",
                path="monitor.st_lpm01a.simulator.faults.stale",
                try_next=f"one of {', '.join(left)}",
            )
        self._tx += left[stale]
        if stale.startswith("streaming"):
            # Who started it had the supply as it was found.
            self._shell.power = "on" if self._world.supply_on else "off"
            self._shell.set["format"] = "bin_hexa" if "binary" in stale else "ascii_dec"
            self._start()

    @property
    def _busy(self) -> bool:
        return self._back_on_ns is not None or super()._busy

    def _switch(self, on: bool) -> None:
        if self._world.supply_on != on:
            self._supply(on)
            if self._measurement is not None:
                self._measurement.switched(self._world.now_ns(), on)
        self._world.supply_on = on
        true_share = 1 + self._settings.supply_v_error
        self._world.supply_v = self._shell.supply_v * true_share

    def _obey_received(self) -> None:
        *lines, incomplete = bytes(self._rx).replace(b"\r", b"\n").split(b"\n")
        self._rx = bytearray(incomplete)
        for line in lines:
            if line.strip():
                self._obey(line.decode("ascii", "replace").strip())

    def _obey(self, command: str) -> None:
        faults = self._settings.faults
        if faults.unasked and self._measurement is None:
            self._say(faults.unasked)
        if self._struck(faults.no_answer_to, command):
            return
        if self._struck(faults.no_effect_of, command):
            self._say(f"ack {command}")
            return
        try:
            if self._struck(faults.error_to, command):
                raise ShellRefusal(faults.error_detail)
            if command == "stop" and self._measurement is not None:
                # It is answered by the end of the stream alone (mlcommons/tiny: "stop
                # does not ack").
                self._measurement.stop_ns = self._world.now_ns()
                return
            if command == "start" and self._measurement is not None:
                raise ShellRefusal("acquisition on going")
            answer = self._shell.answer(command, self._world.supply_on)
        except ShellRefusal as refusal:
            self._say(
                self._settings.refusal.format(command=command),
                f"Error detail: {refusal}",
            )
            return
        self._power(command)
        binary = (
            self._measurement.interject(command, self._world.supply_on)
            if self._measurement is not None
            else b""
        )
        if binary:
            self._tx += binary
        else:
            self._say(*answer)
        if command == "start":
            self._start()

    def _power(self, command: str) -> None:
        """Switch the supply as a command says that was not refused."""
        on = self._shell.supply(command, self._world.supply_on)
        if command == "psrst":
            self._drop_acquisition()
        elif command.startswith("targrst"):
            now_ns = self._world.now_ns()
            away_s = reset_s(command.split()[1])
            self._back_on_ns = now_ns + round(away_s * NS_PER_S) if away_s else None
        elif command.startswith("pwr o"):
            self._back_on_ns = None
        self._switch(on)
        if self._back_on_ns is not None and self._measurement is not None:
            self._measurement.switched(self._back_on_ns, True)

    def _drop_acquisition(self) -> None:
        self._measurement = None
        self._back_on_ns = None
        self._tx.clear()

    def _struck(self, beginning: str, command: str) -> bool:
        if not beginning or not command.startswith(beginning):
            return False
        self._struck_times += 1
        only = self._settings.faults.only
        return not only or self._struck_times in only

    def _say(self, *lines: str) -> None:
        text = "\r\n".join((self._settings.faults.prompt + lines[0], *lines[1:]))
        # Everything is followed by an empty line but the echo.
        self._tx += f"\r\n{text}\r\n".encode() + (
            b"" if lines[0].startswith("echo ") else _END_OF_LINE
        )

    def _start(self) -> None:
        self._acquisitions += 1
        faults = self._settings.faults
        if self._acquisitions > 1:
            faults = replace(
                faults, lose_byte_at=-1, flip_byte_at=-1, insert_byte_at=-1
            )
        self._measurement = Lpm01aAcquisition(
            replace(self._settings, faults=faults),
            self._shell,
            self._world,
            self._random,
        )
        self._tx += self._measurement.begin()

    def _sample(self) -> None:
        if self._back_on_ns is not None and self._world.now_ns() >= self._back_on_ns:
            self._back_on_ns = None
            self._switch(True)
        acquisition = self._measurement
        if acquisition is None or len(self._tx) >= _TX_B:
            return
        self._tx += acquisition.advance()
        faults = self._settings.faults
        self._strike(faults, acquisition.elapsed_s)
        if 0 <= faults.drops_supply_at_s <= acquisition.elapsed_s:
            self._switch(False)
        if acquisition.over:
            self._measurement = None
            self._switch(self._shell.supply_after(self._world.supply_on))
            self._tx += acquisition.end()
