# SPDX-License-Identifier: Apache-2.0
"""Settings of a simulated Joulescope: its true errors and its faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Unit, doc

from drivers.fields import (
    ClockError,
    CurrentGain,
    CurrentNoise,
    CurrentOffset,
    EdgeDelay,
    FedVoltage,
    NoiseSeed,
    SupplyShare,
    VoltageGain,
)
from rig.settings.declare import Count, Number


@dataclass(frozen=True, slots=True)
class JoulescopeFaults:
    """Faults of a simulated Joulescope, each once; ticks are 0.5 us from the first
    sample, 0 is never.

    Where samples are lost the ids of a JS220 or JS320 jump; a JS110's do not, and it
    logs a warning.
    """

    drop_at_tick: Annotated[
        int, Ge(0), Unit("ticks"), doc("Where samples begin to be lost.")
    ] = 0
    drop_ticks: Annotated[
        int,
        Ge(0),
        Unit("ticks"),
        doc("How much is lost; of a JS110 whole packets of 126 ticks."),
    ] = 0
    drop_signal: Annotated[
        str,
        doc('Signal that loses samples: "i", "v", "gpi" or "all"; a JS110 loses all.'),
    ] = "all"
    drop_unlogged: Annotated[bool, doc("A JS110 logs no warning of it.")] = False
    drop_filled: Annotated[
        bool,
        doc(
            "A JS110's host driver is 2.5: it fills up to 512 lost packets with no"
            " numbers."
        ),
    ] = False
    duplicate_at_tick: Annotated[
        int, Ge(0), Unit("ticks"), doc("The block that ends after it comes twice.")
    ] = 0
    gpi_late_ticks: Annotated[
        int, Ge(0), Unit("ticks"), doc("How much later the GPI begins.")
    ] = 0
    time_map_at_tick: Annotated[
        int,
        Ge(0),
        Unit("ticks"),
        doc("UTC is corrected by 1 ms and the rate by 5 ppm."),
    ] = 0
    nan_at_tick: Annotated[
        int, Ge(0), Unit("ticks"), doc("Where samples without a number begin.")
    ] = 0
    nan_samples: Annotated[Count, Ge(0), doc("How many have no number.")] = 0
    nan_signal: Annotated[str, doc('Signal that has the NaN: "i" or "v".')] = "i"
    mute: Annotated[str, doc("Signal that never comes.")] = ""
    refuse: Annotated[
        str,
        doc(
            "Topic that is not acknowledged; a JS110 acknowledges it and does not carry"
            " it out."
        ),
    ] = ""
    refuse_only: Annotated[
        tuple[Number, ...],
        doc("Which of the values sent to that topic are refused, from 1; none: all."),
    ] = ()
    unanswered: Annotated[
        bool, doc("A JS110 carries it out, and says so later than anybody waits.")
    ] = False
    misread: Annotated[str, doc("Topic that reads back another value.")] = ""
    misread_as: Annotated[Number, doc("The value that it reads back.")] = 0
    remove_at_tick: Annotated[
        int, Ge(0), Unit("ticks"), doc("When the instrument is unplugged.")
    ] = 0
    busy: Annotated[bool, doc("Another program has it.")] = False
    opens_once: Annotated[
        bool, doc("Another program has it from the second time on.")
    ] = False
    found_on: Annotated[bool, doc("The DUT's supply is on when it is opened.")] = False


@dataclass(frozen=True, slots=True)
class JoulescopeSimulatorSettings:
    """A simulated instrument and its true errors.

    `discards`: only where time goes by itself, as the driver then has to wait for it.
    """

    model: Annotated[
        Literal["js110", "js220", "js320"],
        doc("Model."),
    ] = "js220"
    serials: Annotated[
        tuple[str, ...],
        doc(
            "Serial numbers of all that are attached; the one that is opened measures."
        ),
    ] = ("000415",)
    beside: Annotated[
        tuple[str, ...],
        doc('Paths of others that are attached too, as "u/js110/000415".'),
    ] = ()
    fpga: Annotated[str, doc("Version of a JS220's or JS320's FPGA.")] = "1.3.3"
    clock_ppm: ClockError = 15.0
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    voltage_gain: VoltageGain = 0.0
    noise_a: CurrentNoise = 0.0
    supply_v: Annotated[
        float, Gt(0), Unit("V"), doc("Voltage that the DUT is fed with.")
    ] = 3.3
    share: SupplyShare = 1.0
    fed_v: FedVoltage = 0.0
    edge_delay_s: EdgeDelay = 0.0
    seed: NoiseSeed = 0
    sync_gpi: Annotated[Number, doc("Input that SYNC is wired to.")] = 0
    vref_wired: Annotated[bool, doc("Its Vref pin is wired, if it has one.")] = False
    discards: Annotated[
        bool,
        doc(
            "A stream that is switched off loses its unfinished block, as a real one"
            " does."
        ),
    ] = False
    faults: Annotated[JoulescopeFaults, doc("Simulated faults.")] = field(
        default_factory=JoulescopeFaults
    )
