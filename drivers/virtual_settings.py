# SPDX-License-Identifier: Apache-2.0
"""Settings of the virtual energy monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval, Unit, doc

from drivers.fields import (
    CurrentGain,
    CurrentNoise,
    CurrentOffset,
    EdgeDelay,
    FedVoltage,
    StartTime,
    SupplyShare,
    VoltageGain,
)
from rig.settings.declare import PathText, Ratio


@dataclass(frozen=True, slots=True)
class VirtualMonitorSettings:
    """Rate, supply, errors of the instrument, and its maker's limits of error."""

    sample_hz: Annotated[
        int, Interval(ge=1_000, le=1_000_000), Unit("Hz"), doc("Sampling rate.")
    ] = 200_000
    supply_v: Annotated[float, Gt(0), Unit("V"), doc("Voltage of the supply.")] = 3.3
    clock_ppm: Annotated[
        float,
        Interval(gt=-100_000, lt=100_000),
        Unit("ppm"),
        doc("How fast the instrument's clock is."),
    ] = -25.0
    start_s: StartTime = 0.01
    noise_a: CurrentNoise = 20e-6
    lsb_a: Annotated[float, Ge(0), Unit("A"), doc("Step of its converter.")] = 1e-6
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    voltage_gain: VoltageGain = 0.0
    voltage_offset_v: Annotated[
        float, Unit("V"), doc("Offset error of the voltage.")
    ] = 0.0
    low_a: Annotated[
        float,
        Ge(0),
        Unit("A"),
        doc("Currents below this are measured in a lower range."),
    ] = 0.0
    low_gain: Annotated[Ratio, doc("Gain error of the lower range.")] = 0.0
    low_offset_a: Annotated[
        float, Unit("A"), doc("Offset error of the lower range.")
    ] = 0.0
    edge_jitter_s: Annotated[
        float,
        Ge(0),
        Unit("s"),
        doc("Standard deviation of the moment at which SYNC is seen."),
    ] = 0.0
    edge_delay_s: EdgeDelay = 0.0
    share: SupplyShare = 1.0
    fed_v: FedVoltage = 0.0
    supply_wire: Annotated[
        Literal["wired", "open", "unfed"],
        doc("Its output: wired to the DUT, open, or without a supply before it."),
    ] = "wired"
    sync_wire: Annotated[
        Literal["wired", "open", "inverted"],
        doc("Its SYNC input: wired to the DUT, open, or inverted by a level shifter."),
    ] = "wired"
    sync_high_v: Annotated[
        float, Gt(0), Unit("V"), doc("Voltage of the DUT's SYNC line at rest.")
    ] = 3.3
    sync_threshold_v: Annotated[
        float, Gt(0), Unit("V"), doc("Voltage from which on its SYNC input reads high.")
    ] = 1.65
    gain_limit: Annotated[
        Ratio, Ge(0), doc("Promised limit of the gain error of the current.")
    ] = 0.002
    offset_limit_a: Annotated[
        float,
        Ge(0),
        Unit("A"),
        doc("Promised limit of the offset error of the current."),
    ] = 5e-6
    voltage_gain_limit: Annotated[
        Ratio, Ge(0), doc("Promised limit of the gain error of the voltage.")
    ] = 0.001
    clock_limit_ppm: Annotated[
        float, Ge(0), Unit("ppm"), doc("Promised limit of the error of its clock.")
    ] = 50.0
    calibration: Annotated[
        PathText, doc("File of limits of error, in place of those promised here.")
    ] = ""
