# SPDX-License-Identifier: Apache-2.0
"""Settings of a simulated PPK2: its true errors and its faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Interval, Unit, doc

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
from rig.settings.declare import Count, Number, Ratio


@dataclass(frozen=True, slots=True)
class Ppk2Faults:
    """Faults of a simulated PPK2; places are samples of the first measurement, times
    seconds of it, and below 0 is never.
    """

    lose_at: Annotated[Number, doc("Sample where samples are lost.")] = -1
    lose_samples: Annotated[Count, Ge(0), doc("How many are lost.")] = 1
    lose_byte_at: Annotated[
        int, Unit("B"), doc("Byte of the stream where bytes are lost.")
    ] = -1
    lose_bytes: Annotated[int, Ge(0), Unit("B"), doc("How many are lost.")] = 1
    flip_at: Annotated[Number, doc("Sample whose word is changed.")] = -1
    flip_mask: Annotated[Number, doc("Bits of it that are changed.")] = 1 << 18
    saturate_at: Annotated[
        Number, doc("Sample where the converter is at its end.")
    ] = -1
    saturate_samples: Annotated[Count, Ge(0), doc("For how many it is.")] = 1
    no_range_at: Annotated[Number, doc("Sample with a range that does not exist.")] = -1
    unplugged_at_s: Annotated[float, Unit("s"), doc("It is unplugged.")] = -1.0
    mute_at_s: Annotated[float, Unit("s"), doc("No data come after this time.")] = -1.0
    stale_b: Annotated[
        int, Ge(0), Unit("B"), doc("Bytes that an earlier measurement has left.")
    ] = 0
    late_stale_b: Annotated[
        int, Ge(0), Unit("B"), doc("The same, that come with the first samples.")
    ] = 0
    streaming: Annotated[bool, doc("It measures when it is opened.")] = False
    supply_found_on: Annotated[bool, doc("The supply is on when it is opened.")] = False
    logic_stuck: Annotated[
        Literal["", "low", "high"],
        doc("The logic port has no supply: all of its lines stand still."),
    ] = ""
    disobeys: Annotated[
        tuple[Number, ...], doc("Commands that it hears and does not carry out.")
    ] = ()
    metadata_cut_b: Annotated[
        int, Unit("B"), doc("Where its metadata is cut off; below 0 it is whole.")
    ] = -1
    not_numbers: Annotated[
        tuple[str, ...], doc('Constants that are "-nan", as "S4".')
    ] = ()
    is_shell: Annotated[bool, doc("This port is the one with the shell.")] = False


@dataclass(frozen=True, slots=True)
class Ppk2SimulatorSettings:
    """A simulated PPK2 and its true errors."""

    clock_ppm: ClockError = 10.0
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    noise_a: CurrentNoise = 0.0
    down: Annotated[
        Ratio,
        Interval(gt=0, le=1),
        doc("Part of a range's end below which that range is entered from above."),
    ] = 0.8
    spike: Annotated[
        Ratio,
        doc("Part that the first sample after a switch of range shows too much."),
    ] = 0.0
    supply_v_error: Annotated[Ratio, doc("Error of the voltage of its supply.")] = 0.0
    share: SupplyShare = 1.0
    fed_v: FedVoltage = 0.0
    edge_delay_s: EdgeDelay = 0.0
    sync: Annotated[
        Number, Interval(ge=0, le=7), doc("Line that SYNC is wired to.")
    ] = 0
    calibrated: Annotated[Number, doc("Its flag Calibrated.")] = 0
    user_gain: Annotated[Ratio, Ge(0), doc("Gain that a user stored in it.")] = 1.0
    seed: NoiseSeed = 0
    faults: Annotated[Ppk2Faults, doc("Simulated faults.")] = field(
        default_factory=Ppk2Faults
    )
