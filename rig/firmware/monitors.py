# SPDX-License-Identifier: Apache-2.0
"""Bench files of a board with each energy monitor that a project is made for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rig.errors import ConfigError, did_you_mean
from rig.firmware.project import Board


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorLines:
    """The lines of a bench file for a monitor: `settings` are those of the monitor,
    where {supply_v} stands for the board's voltage, `device` those that SYNC needs of
    the device. `limits` are facts about the monitor.
    """

    title: str
    kind: str
    settings: str
    #: The setting that names the instrument; asked for unless the only one is found.
    address: str
    address_needed: bool = True
    device: str = ""
    limits: tuple[str, ...] = ()


#: Of a JS320 too, whose wires and settings are these.
_JS220 = MonitorLines(
    title="Joulescope JS220",
    kind="joulescope",
    address="device",
    address_needed=False,
    settings=(
        '# Logic of 3.0 to 3.3 V; of another: reference = "external", with Vref'
        ' wired.\nreference = "3.3 V"\n'
    ),
    limits=(
        "It measures the current of another supply, and does not limit it.",
        "Its GPI inputs have the ground of the USB.",
    ),
)
_JS320_LIMITS = (
    "Never tried with an instrument: its limits of error are not stated, and those of a"
    " JS220 stand in their place until rig monitor check measures them.",
    "It needs pyjoulescope-driver 2.2.11 or newer, and firmware 1.1.3 or newer.",
)

#: By the name that `rig firmware new --monitor` takes.
MONITORS = {
    "js220": _JS220,
    "js320": replace(
        _JS220, title="Joulescope JS320", limits=(*_JS220.limits, *_JS320_LIMITS)
    ),
    "ppk2": MonitorLines(
        title="Nordic PPK2",
        kind="nordic_ppk2",
        address="port",
        settings=(
            'port = "/dev/ttyACM1"\nmode = "source"\nsupply_v = {supply_v}\nsync = 0\n'
        ),
        limits=(
            "The logic port has a supply of its own: without VCC its lines stand"
            " still.",
            "It gives 0.8 to 5.0 V, to 1 A; its accuracy is typically 10 %.",
        ),
    ),
    "lpm01a": MonitorLines(
        title="X-NUCLEO-LPM01A",
        kind="st_lpm01a",
        address="port",
        settings=(
            'port = "/dev/ttyACM1"\nsample_hz = 5_000\nevents = true\n'
            "supply_v = {supply_v}\n"
        ),
        # More than 20 periods of the events apart, and no multiple of one.
        device="sync_period_us = 20_123\n",
        limits=(
            "It gives 1.8 to 3.3 V, to 50 mA; from 59 mA on the session ends.",
            "Its inputs are for 3.3 V; below 3 V a level shifter is needed in SYNC.",
        ),
    ),
    "n6705": MonitorLines(
        title="Keysight N6705",
        kind="keysight_n6705",
        address="resource",
        settings=(
            "# Its address: rig scan, or the instrument's own menu.\n"
            'resource = "TCPIP::192.168.1.5::5025::SOCKET"\n'
            'sync = "voltage"\nsupply_v = {supply_v}\n'
        ),
        # A pulse of at least 2.5 records of 307.2 us.
        device="sync_hold_us = 800\nsync_period_us = 10_000\n",
        limits=(
            "An N6781A, N6782A or N6784A as channel 1 supplies; a second one logs"
            " SYNC.",
            "Wire sense to the terminals of the board, or it measures with the drop of"
            " the cables.",
        ),
    ),
}

_BENCH = """# {board}, monitor {title}: WIRING.md has the picture of the wires.
# `rig scan` lists serial ports and instruments; `rig probe` of this file says what
# works and what to try. The sounds are generated: no number is a result on a data set
# (docs/reference/ASC.md).
[bench]
name = "{name}"

[sut.uart]
port = "{port}"
pins_of = "{key}"
baud = 115_200
{device}
[monitor.{kind}]
{settings}
[scenario.single_stream]

[task.asc]
samples = 10
"""


def chosen(names: tuple[str, ...]) -> dict[str, MonitorLines]:
    """Return monitors by name, all for no name; raises ConfigError for another one."""
    for name in names:
        if name not in MONITORS:
            raise ConfigError(
                f"there is no monitor {name}",
                path="--monitor",
                try_next=(
                    f"{did_you_mean(name, MONITORS)}one of {', '.join(MONITORS)};"
                    " docs/how-to/MONITORS.md has the others"
                ),
            )
    return {name: MONITORS[name] for name in names or MONITORS}


def bench_name(board: str, monitor: str) -> str:
    """Return the name of a board's bench, and of its file without the ending."""
    return f"{board}-{monitor}"


def bench(name: str, board: Board, supply_v: float, monitor: str) -> str:
    """Return the bench file of a board, by its name, with a monitor."""
    lines = MONITORS[monitor]
    return _BENCH.format(
        board=board.title,
        title=lines.title,
        key=name,
        name=bench_name(name, monitor),
        port=board.port,
        device=lines.device,
        kind=lines.kind,
        settings=lines.settings.format(supply_v=supply_v),
    )
