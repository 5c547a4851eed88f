# SPDX-License-Identifier: Apache-2.0
"""The shell of a simulated X-NUCLEO-LPM01A: its commands, their settings, and the
board's deliberate faults.

Commands: ST UM2269 Rev 6 section 4.3.2; error details, and events: what public clients
know of real boards. Behaviour that neither states is marked as a choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from annotated_types import Ge, Unit, doc
from numpy.typing import NDArray

from drivers.fields import (
    ClockError,
    CurrentGain,
    CurrentNoise,
    CurrentOffset,
    EdgeDelay,
    FedVoltage,
    NoiseSeed,
    SupplyShare,
)
from rig.settings.declare import Number, Ratio

_RATES = {
    "1": 1,
    "2": 2,
    "5": 5,
    "10": 10,
    "20": 20,
    "50": 50,
    "100": 100,
    "200": 200,
    "500": 500,
}
_RATES |= {
    "1k": 1000,
    "2k": 2000,
    "5k": 5000,
    "10k": 10_000,
    "20k": 20_000,
    "50k": 50_000,
    "100k": 100_000,
}
_STANDALONE = (
    "help",
    "echo",
    "powershield",
    "version",
    "range",
    "status",
    "htc",
    "hrc",
    "psrst",
)
_CHOICES = {
    "acqmode": ("dyn", "stat"),
    "funcmode": ("optim", "high"),
    "output": ("current", "energy"),
    "format": ("ascii_dec", "bin_hexa"),
    "trigsrc": ("sw", "d7"),
    "pwrend": ("on", "off"),
}
_NUMBERS = {
    "trigdelay": (0.0, 30.0),
    "currthre": (0.0, 10e-3),
    "currthres": (0.0, 50e-3),
}


@dataclass(frozen=True, slots=True)
class Lpm01aFaults:
    """Faults of a simulated LPM01A; places are bytes of the stream of the first
    acquisition, times seconds of each one, and below 0 is never.
    """

    lose_byte_at: Annotated[int, Unit("B"), doc("Place where bytes are lost.")] = -1
    lose_bytes: Annotated[int, Ge(0), Unit("B"), doc("How many are lost.")] = 1
    flip_byte_at: Annotated[
        int, Unit("B"), doc("Place of a byte that is changed.")
    ] = -1
    flip_mask: Annotated[Number, doc("Bits of it that are changed.")] = 0x10
    insert_byte_at: Annotated[int, Unit("B"), doc("Place where a byte is put in.")] = -1
    inserted: Annotated[Number, doc("The byte that is put in.")] = 0x41
    stale: Annotated[
        str,
        doc(
            'Output still running at the start: "streaming", "streaming'
            ' binary", "half line" or "summary".'
        ),
    ] = ""
    error_to: Annotated[
        str, doc("Beginning of a command that is answered by an error.")
    ] = ""
    error_detail: Annotated[str, doc("Text of that error.")] = "simulated refusal"
    no_answer_to: Annotated[
        str, doc("Beginning of a command that is not answered.")
    ] = ""
    no_effect_of: Annotated[
        str, doc("Beginning of a command that is acknowledged, but has no effect.")
    ] = ""
    unasked: Annotated[
        str, doc("Unasked text after a prompt, before every answer.")
    ] = ""
    only: Annotated[
        tuple[Number, ...],
        doc("Which of the times these commands come, from 1; none: all."),
    ] = ()
    load_rises_at_s: Annotated[float, Unit("s"), doc("The load rises.")] = -1.0
    overcurrent_at_s: Annotated[
        float, Unit("s"), doc("The current is too high.")
    ] = -1.0
    voltage_drop_at_s: Annotated[float, Unit("s"), doc("The voltage drops.")] = -1.0
    power_down_at_s: Annotated[
        float, Unit("s"), doc("The board tells of a power-down, as of an error.")
    ] = -1.0
    power_off_at_s: Annotated[
        float, Unit("s"), doc("The board tells of its supply, as `pwr off`.")
    ] = -1.0
    drops_supply_at_s: Annotated[
        float, Unit("s"), doc("The board switches its supply off without a message.")
    ] = -1.0
    ends_at_s: Annotated[float, Unit("s"), doc("The acquisition ends.")] = -1.0
    mute_at_s: Annotated[float, Unit("s"), doc("No data come after this time.")] = -1.0
    unplugged_at_s: Annotated[float, Unit("s"), doc("The board is unplugged.")] = -1.0
    event_skipped: Annotated[
        Number, doc("Number of an edge that is not reported.")
    ] = -1
    no_completion: Annotated[
        bool, doc("The end of an acquisition is not reported.")
    ] = False
    prompt: Annotated[str, doc("Prompt of the shell.")] = "PowerShield > "
    supply_found_on: Annotated[
        bool, doc("The supply is on when the board is opened.")
    ] = False
    old_error: Annotated[str, doc("Error from before, which `status` tells once.")] = ""
    calibration_error: Annotated[
        str, doc("Error whenever the voltage is set, which `status` tells once.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Lpm01aSimulatorSettings:
    """The board's true errors, and how it answers, on which manual and boards
    differ."""

    firmware: Annotated[str, doc("Version of the firmware.")] = "1.0.6"
    serial: Annotated[str, doc("Serial number.")] = "540619864-1110659081-4784204"
    clock_ppm: ClockError = 20.0
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    noise_a: CurrentNoise = 1e-6
    supply_v_error: Annotated[Ratio, doc("Relative error of the supply.")] = 0.0
    share: SupplyShare = 1.0
    fed_v: FedVoltage = 0.0
    edge_delay_s: EdgeDelay = 0.0
    seed: NoiseSeed = 0
    stamp: Annotated[str, doc("How a line with a time stamp begins.")] = "TimeStamp: "
    refusal: Annotated[str, doc("Answer to a command that is refused.")] = (
        "error {command}"
    )
    presence: Annotated[str, doc("Answer to `powershield`.")] = "ack powershield"
    status: Annotated[str, doc("Answer to `status`.")] = "ack status {said}"
    pwr_get: Annotated[str, doc("Answer to `pwr get`.")] = "ack pwr get {state}"
    bare: Annotated[
        str, doc("Commands that are answered without `ack` (UM2269 Rev 6, table 50).")
    ] = ""
    event: Annotated[str, doc("Last word of an edge's line.")] = "ris"
    faults: Annotated[Lpm01aFaults, doc("Simulated faults.")] = field(
        default_factory=Lpm01aFaults
    )


class ShellRefusal(Exception):
    """A command that the board answers with an error; the text is its detail."""


def number(text: str) -> float:
    """Read a number as the shell takes it: digits, then u, m or k, or a signed power of
    ten; raises Refused.
    """
    match = re.fullmatch(r"(\d+)(?:([umk])|([+-]\d+))?", text)
    if match is None:
        raise ShellRefusal(f"wrong numerical value '{text}'")
    if match[3] is None:
        power = {"u": -6, "m": -3, "k": 3, None: 0}[match[2]]
    else:
        power = int(match[3])
    return float(f"{match[1]}e{power}")


def reset_s(word: str) -> float:
    """Read how long `targrst` keeps the target off, 0 for ever (UM2269: 1 ms to 1
    s)."""
    seconds = number(word)
    if seconds and not 1e-3 <= seconds <= 1:
        raise ShellRefusal("value out of range [1m; 1]")
    return seconds


def decimal(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Write values as rows of `DDDDsEE\\r\\n`; without a sign: numbers below 0
    become 0."""
    positive = np.maximum(values, 1e-30)
    exponents = np.floor(np.log10(positive)).astype(np.int64) - 3
    mantissas = np.rint(positive / 10.0**exponents).astype(np.int64)
    over = mantissas >= 10_000
    mantissas[over], exponents[over] = 1000, exponents[over] + 1
    nothing = values < 1e-13
    mantissas[nothing], exponents[nothing] = 0, 0
    rows = np.empty((len(values), 9), dtype=np.uint8)
    for column, divisor in enumerate((1000, 100, 10, 1)):
        rows[:, column] = 48 + mantissas // divisor % 10
    rows[:, 4] = np.where(exponents > 0, ord("+"), ord("-"))
    rows[:, 5] = 48 + np.abs(exponents) // 10
    rows[:, 6] = 48 + np.abs(exponents) % 10
    rows[:, 7], rows[:, 8] = 13, 10
    return rows


class SimulatedShell:
    """The board's commands and their settings.

    `power` is the word of the last `pwr`; with `auto`, the default, an acquisition
    supplies the DUT. Choices: `off` keeps the supply off in an acquisition and after
    it, `pwrend on` does not restore a supply that was commanded on and dropped, and a
    board reset by `psrst` keeps its port, as over its UART, with the supply off, and is
    ready at once.
    """

    def __init__(self, settings: Lpm01aSimulatorSettings) -> None:
        self._settings = settings
        self.error = settings.faults.old_error
        self.power_up()

    def power_up(self) -> None:
        """Set everything as it is after power-up or `psrst`."""
        self.host = False
        self.sample_hz = 100
        self.supply_v = 3.3
        self.acquisition_s = 10.0
        self.set = {
            "acqmode": "dyn",
            "funcmode": "optim",
            "output": "current",
            "format": "ascii_dec",
            "trigsrc": "sw",
            "pwrend": "on",
        }
        self.events = False
        self.power = "auto"
        self.trigger_delay_s = 0.001

    def supply(self, command: str, on: bool) -> bool:
        """Check whether the supply is on after a command that was not refused."""
        name, _, arguments = command.partition(" ")
        if name in ("targrst", "psrst"):
            return False
        if name == "start":
            return on if self.power == "on" else self.power == "auto"
        if name == "pwr" and arguments.split()[0] in ("on", "off"):
            return arguments.split()[0] == "on"
        return on

    def supply_after(self, on: bool) -> bool:
        """Check whether the supply is on after an acquisition."""
        return self.set["pwrend"] == "on" and (on or self.power == "auto")

    def answer(self, command: str, supply_on: bool) -> tuple[str, ...]:
        """Return the lines of the answer; raises Refused."""
        reply = self._answer(command, supply_on)
        bare = self._settings.bare
        if bare and command.startswith(bare):
            return (reply[0].removeprefix("ack "), *reply[1:])
        return reply

    def _answer(self, command: str, supply_on: bool) -> tuple[str, ...]:
        name, _, arguments = command.partition(" ")
        words = arguments.split()
        if name == "echo":
            return (command,)
        if name == "status":
            status = f"error: {self.error}" if self.error else "ok"
            self.error = ""
            return (self._settings.status.format(said=status),)
        if not self.host and name not in _STANDALONE:
            raise ShellRefusal(
                "command available only when PowerShield is controlled by host"
            )
        if name in ("htc", "hrc"):
            self.host = name == "htc"
        elif name == "powershield":
            return (f"{self._settings.presence} {self._settings.serial}",)
        elif name == "version":
            return (f"ack version: {self._settings.firmware}",)
        elif name == "temp":
            return (f"ack {command} 28.0",)
        elif name == "pwr":
            return self._power(command, words, supply_on)
        elif name == "volt":
            return self._volt(command, words)
        else:
            self._configure(name, words)
        return (f"ack {command}",)

    def _power(
        self, command: str, words: list[str], supply_on: bool
    ) -> tuple[str, ...]:
        if self._version() < (1, 0, 2):
            raise ShellRefusal("unknown command")
        is_known = words and words[0] in ("auto", "on", "off", "get")
        if not is_known or words[1:] not in ([], ["nostatus"], ["status"]):
            raise ShellRefusal("wrong argument")
        if words[0] != "get":
            self.power = words[0]
            return (f"ack {command}",)
        return (self._settings.pwr_get.format(state="on" if supply_on else "off"),)

    def _volt(self, command: str, words: list[str]) -> tuple[str, ...]:
        if len(words) != 1:
            raise ShellRefusal("one argument is needed")
        if words[0] == "get":
            true_v = self.supply_v * (1 + self._settings.supply_v_error)
            return (
                (
                    f"ack {command}"
                    f" {decimal(np.array([true_v]))[0, :7].tobytes().decode()}"
                ),
            )
        volts = number(words[0])
        if not 1.8 <= volts <= 3.3:
            raise ShellRefusal("value out of range [1800m; 3300m]")
        self.supply_v = volts
        self.error = self._settings.faults.calibration_error
        return (f"ack {command}",)

    def _configure(self, name: str, words: list[str]) -> None:
        if name in ("help", "range", "lcd", "autotest", "calib", "stop"):
            return
        if name == "psrst":
            self.power_up()
            return
        if name == "start":
            self._start()
        elif name == "eventsrc":
            if self._version() < (1, 0, 6):
                raise ShellRefusal("unknown command")
            if words != [
                "d7",
                "fal",
            ]:  # a choice: the simulated world reports falling edges only
                raise ShellRefusal("simulated: d7 fal only")
            self.events = True
        elif len(words) != 1:
            raise ShellRefusal(
                "unknown command"
                if name not in (*_CHOICES, *_NUMBERS, "freq", "acqtime", "targrst")
                else "one argument is needed"
            )
        elif name in _CHOICES:
            if words[0] not in _CHOICES[name]:
                raise ShellRefusal(f"argument not among {', '.join(_CHOICES[name])}")
            self.set[name] = words[0]
        elif name in _NUMBERS:
            if not _NUMBERS[name][0] <= number(words[0]) <= _NUMBERS[name][1]:
                raise ShellRefusal("value out of range")
            if name == "trigdelay":
                self.trigger_delay_s = number(words[0])
        elif name == "targrst":
            reset_s(words[0])
        else:
            self._rate_or_time(name, words[0])

    def _rate_or_time(self, name: str, word: str) -> None:
        if name == "freq":
            if number(word) not in _RATES.values():
                raise ShellRefusal(f"value not among {', '.join(_RATES)}")
            self.sample_hz = round(number(word))
        elif name == "acqtime":
            seconds = 0.0 if word == "inf" else number(word)
            if seconds and not 100e-6 <= seconds <= 10:
                raise ShellRefusal("value out of range [100u; 10]")
            self.acquisition_s = seconds
        else:
            raise ShellRefusal("unknown command")

    def _start(self) -> None:
        if self.set["trigsrc"] != "sw" or self.set["acqmode"] != "dyn":
            raise ShellRefusal("simulated: trigger sw and mode dyn only")
        ascii_limit_s = {10_000: 1.0, 20_000: 0.5, 50_000: 0.0, 100_000: 0.0}.get(
            self.sample_hz
        )
        if (
            self.set["format"] == "ascii_dec"
            and ascii_limit_s is not None
            and not 0 < self.acquisition_s <= ascii_limit_s
        ):
            raise ShellRefusal(
                "acquisition time too long for this frequency and format"
            )

    def _version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self._settings.firmware.split("."))
