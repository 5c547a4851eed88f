# SPDX-License-Identifier: Apache-2.0
"""Checks of the supply, off and on: the monitor alone feeds the DUT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rig.interfaces.monitor import MonitorInfo
from rig.model.finding import Finding
from rig.trace.trace import Trace
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.unwired import may_be_one_sided, one_sided, unwired_j
from rig.uncertainty.window_effects import ranges_a
from rig.units import quantity

_OTHERS = (
    "unplug USB, debug probe, UART adapter and SYNC, one after the other: each of them"
    " may feed the device, a UART or SYNC through its pins (docs/how-to/MONITORS.md);"
    " then look at jumpers that join supplies"
)
_SIGMAS = 3.0
#: Largest current in either direction while the supply is off: the leakage of an
#: instrument, less than any device draws.
_OFF_A = 100e-6


@dataclass(frozen=True, slots=True)
class Reading:
    """Mean voltage, current and power of a supply.

    `still_v` and `still_a` are the largest voltage and current that cannot be
    distinguished from zero; `powerless`: the power cannot be distinguished from that
    without any wire.
    """

    voltage_v: float
    current_a: float
    power_w: float
    still_v: float
    powerless: bool
    still_a: float = 0.0

    @classmethod
    def of(cls, trace: Trace, accuracy: Accuracy) -> Reading | None:
        """Return the means over a whole trace; None where it is empty, or has lost too
        many samples."""
        if trace.duration_s <= 0 or trace.lost_between(0.0, trace.duration_s) is None:
            return None
        (integral,) = trace.integrals(
            [(0.0, trace.duration_s)], ranges_a(accuracy), bridged=True
        )
        duration_s = integral.duration_s
        samples = max(integral.duration_s * trace.sample_hz, 1.0)
        voltage_v = integral.volt_s / duration_s
        current_a = integral.charge_c / duration_s
        powerless = integral.energy_j <= unwired_j(integral, accuracy, trace.sample_hz)
        if not powerless and may_be_one_sided(integral, accuracy):
            powerless = one_sided(trace.power_w(0.0, duration_s)[1], integral, accuracy)
        return cls(
            voltage_v=voltage_v,
            current_a=current_a,
            power_w=integral.energy_j / duration_s,
            still_v=_still(accuracy.voltage, voltage_v, samples),
            powerless=powerless,
            still_a=_still(accuracy.current, current_a, samples),
        )


def off(name: str, reading: Reading | None, info: MonitorInfo) -> Finding:
    """Judge a supply that is off: its voltage cannot be distinguished from zero, and
    next to no current flows in either direction.
    """
    if reading is None:
        return Finding(name, True, "nothing could be read")
    detail = in_words(reading, info)
    if info.reads_voltage and abs(reading.voltage_v) > reading.still_v:
        return Finding(
            name,
            False,
            f"{detail}: another cable feeds the device",
            _OTHERS,
            see="voltage-with-the-supply-off",
        )
    if (info.reads_voltage or info.switches) and abs(reading.current_a) > max(
        reading.still_a, _OFF_A
    ):
        backwards = "into the instrument: another cable feeds the device"
        forwards = (
            "out of a supply that is off: the instrument did not switch, or another"
            " feeds it"
        )
        return Finding(
            name,
            False,
            f"{detail} {backwards if reading.current_a < 0 else forwards}",
            _OTHERS,
            see="current-with-the-supply-off",
        )
    return Finding(
        name,
        True,
        (
            f"{detail}: no voltage of another cable"
            if info.reads_voltage
            else f"{detail} (the voltage is not measured)"
        ),
    )


def unanswered(name: str, answer: str) -> Finding:
    """Judge the answers of a device with its supply off: it must be silent."""
    if not answer:
        return Finding(name, True, "the device does not answer")
    return Finding(
        name,
        False,
        f"{answer} answers without its supply: another cable or its pins feed it, and"
        " what flows there is not measured",
        _OTHERS,
        see="answers-with-the-supply-off",
    )


def on(
    name: str, supplies: Mapping[str, tuple[Reading | None, MonitorInfo]]
) -> list[Finding]:
    """Judge supplies that are on, of a device that answers: voltage and power must
    differ from those without any wire. `supplies` are the reading and the monitor of
    each rail.

    Of several supplies, one may deliver no power.
    """
    drawn = any(
        reading is not None and not reading.powerless
        for reading, _ in supplies.values()
    )
    findings = []
    for rail, (reading, info) in supplies.items():
        title = f"{name} of {rail}" if rail else name
        findings.append(_supplied(title, reading, info, drawn=drawn))
    return findings


def _supplied(
    title: str, reading: Reading | None, info: MonitorInfo, *, drawn: bool
) -> Finding:
    """Judge one supply; `drawn`: any of them delivers power."""
    if reading is None:
        return Finding(title, True, "nothing could be read")
    detail = in_words(reading, info)
    if info.reads_voltage and abs(reading.voltage_v) <= reading.still_v:
        hint = (
            "switch on what feeds the monitor; is the device wired behind it, and the"
            " right way round?"
        )
        return Finding(
            title, False, f"{detail}: there is no voltage", hint, see="no-voltage"
        )
    if not reading.powerless:
        return Finding(title, True, detail)
    if drawn:
        other = "nothing is drawn from it, another rail feeds the device"
        return Finding(title, True, f"{detail}: {other}")
    cause = (
        "no more than an open input may show: another cable feeds the device, or its"
        " current takes another way"
    )
    hint = f"{_OTHERS}; where it draws so little, another instrument"
    return Finding(title, False, f"{detail}, {cause}", hint, see="power-too-low")


def in_words(reading: Reading, info: MonitorInfo) -> str:
    """Return voltage and current, or the power, in words."""
    # A voltage that is neither read nor set is not stated.
    if not info.reads_voltage and not info.switches:
        return quantity(reading.power_w, "W")
    return f"{in_volts(reading, info)}, {quantity(reading.current_a, 'A')}"


def in_volts(reading: Reading, info: MonitorInfo) -> str:
    """Return the voltage, and whether it was measured."""
    voltage = quantity(reading.voltage_v, "V")
    return voltage if info.reads_voltage else f"{voltage} as it was set"


def _still(ranges: tuple[Range, ...], value: float, samples: float) -> float:
    """Return the largest value of a mean over so many samples that cannot be
    distinguished from zero.
    """
    row = next((row for row in ranges if abs(value) <= row.up_to), ranges[-1])
    return row.offset + row.lsb / 2 + _SIGMAS * row.noise / math.sqrt(samples)
