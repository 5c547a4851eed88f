# SPDX-License-Identifier: Apache-2.0
"""Settings and faults of the simulated instrument."""

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
from rig.settings.declare import Count, Number, Or


@dataclass(frozen=True, slots=True)
class SimulatorFaults:
    """Faults of the simulated N6705; none by default."""

    refuse: Annotated[
        str, doc("Header, in short form, of a command that is refused.")
    ] = ""
    refuse_error: Annotated[str, doc("Error that it is refused with.")] = (
        '-222,"Data out of range"'
    )
    no_effect_of: Annotated[
        str,
        doc("Header, in short form, of a command that is accepted, but has no effect."),
    ] = ""
    settle_s: Annotated[
        float,
        Ge(0),
        Unit("s"),
        doc("An output that is switched on sooner after the supply was set stays off."),
    ] = 0.0
    read_back_of: Annotated[str, doc("Query that is answered by `read_back`.")] = ""
    read_back: Annotated[str, doc("Answer to that query.")] = ""
    idn: Annotated[str, doc("Answer to *IDN?")] = ""
    option: Annotated[str, doc("Answer to the query for options.")] = ""
    keeps_byte_order: Annotated[
        bool, doc("Records are little-endian, also when another byte order is set.")
    ] = False
    output_on: Annotated[
        tuple[Number, ...], doc("Channels whose output is found on.")
    ] = ()
    output_stays_off: Annotated[bool, doc("No output goes on.")] = False
    no_minmax: Annotated[
        bool, doc("Modules with one converter know no minimum and maximum.")
    ] = False
    stuck: Annotated[
        Count, Ge(0), doc("Parameters of other channels that are always logged.")
    ] = 0
    stuck_hidden: Annotated[bool, doc("No query reports them.")] = False
    drop_at_s: Annotated[
        float,
        Gt(0),
        Or(0, "never"),
        Unit("s"),
        doc("The connection ends, by the time of the log."),
    ] = 0.0
    stays_away: Annotated[bool, doc("The instrument does not answer after that.")] = (
        False
    )
    lose_at_s: Annotated[
        float, Gt(0), Or(0, "never"), Unit("s"), doc("Records are overwritten.")
    ] = 0.0
    lose_records: Annotated[Count, Ge(0), doc("How many are overwritten.")] = 0
    lose_of: Annotated[
        tuple[Number, ...], doc("Channels whose records are overwritten.")
    ] = (1, 2)
    lose_error: Annotated[str, doc("Entry of the error queue at that time.")] = ""
    overload_at_s: Annotated[
        float, Gt(0), Or(0, "never"), Unit("s"), doc("Records are overloads.")
    ] = 0.0
    overload_records: Annotated[Count, Ge(0), doc("How many are overloads.")] = 0
    overload_of: Annotated[
        Literal["current", "voltage", "sync"], doc("Quantity that is overloaded.")
    ] = "current"
    overload_as: Annotated[
        Literal["9.9E37", "-9.9E37", "9.91E37", "NaN"],
        doc("How: 9.9E37 is infinity and 9.91E37 no number in SCPI."),
    ] = "9.9E37"
    columns_swapped: Annotated[bool, doc("Voltage comes before current.")] = False
    trip_at_s: Annotated[
        float,
        Gt(0),
        Or(0, "never"),
        Unit("s"),
        doc("The over-voltage protection switches the output off."),
    ] = 0.0
    no_records_as: Annotated[
        Literal["block", "line", "9.91E37"],
        doc(
            "How it says that there are no records yet: a block, a line without"
            " anything, NaN."
        ),
    ] = "block"
    short_block_at: Annotated[
        Number, doc("Fetch that is cut short, of those with records; 0: none.")
    ] = 0
    late: Annotated[
        str, doc("Header of a message whose answer comes only with that to the next.")
    ] = ""
    late_at: Annotated[Number, doc("Which of these messages, from 1.")] = 1
    mute: Annotated[bool, doc("This connection gives no more data.")] = False
    garbled_lap: Annotated[
        Number, doc("Edge from the IO manager that is garbled; 0: none.")
    ] = 0
    lost_lap: Annotated[
        Number, doc("Edge from the IO manager that is lost; 0: none.")
    ] = 0
    extra_lap: Annotated[
        Number, doc("Edge from the IO manager that comes twice; 0: none.")
    ] = 0
    unplugged_lap: Annotated[
        Number, doc("Edge at which the IO manager is unplugged; 0: none.")
    ] = 0


@dataclass(frozen=True, slots=True)
class N6705SimulatorSettings:
    """The instrument's true errors."""

    modules: Annotated[tuple[str, ...], doc("Models of the modules, by channel.")] = (
        "N6781A",
        "N6781A",
    )
    clock_ppm: ClockError = 15.0
    gain: CurrentGain = 0.0
    offset_a: CurrentOffset = 0.0
    voltage_gain: VoltageGain = 0.0
    noise_a: CurrentNoise = 4e-6
    sync_noise_v: Annotated[
        float, Ge(0), Unit("V"), doc("Standard deviation of one sample of SYNC.")
    ] = 0.9e-3
    sync_high_v: Annotated[float, Unit("V"), doc("The SYNC line at rest.")] = 3.3
    point_s: Annotated[
        float,
        Or(0, "SYNC is averaged exactly"),
        Gt(0),
        Unit("s"),
        doc("Distance of the converter's points that a mean is made of."),
    ] = 20.48e-6
    trigger_s: Annotated[
        float,
        Ge(0),
        Unit("s"),
        doc("Time from an edge at the trigger input to the log."),
    ] = 5e-6
    fifo_s: Annotated[float, Gt(0), Unit("s"), doc("Length of the buffer.")] = 20.0
    io_manager_ppm: Annotated[
        float, Gt(-1e6), Unit("ppm"), doc("How fast the IO manager's clock is.")
    ] = 40.0
    share: SupplyShare = 1.0
    fed_v: FedVoltage = 0.0
    edge_delay_s: EdgeDelay = 0.0
    seed: NoiseSeed = 0
    faults: Annotated[SimulatorFaults, doc("Simulated faults.")] = field(
        default_factory=SimulatorFaults
    )
