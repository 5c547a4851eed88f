# SPDX-License-Identifier: Apache-2.0
"""The Joulescope models: ranges, topics of their settings, and limits of error.

Topics: jetperch/joulescope_driver, src/devices/js110, js220 and js320, and the maker's
UI (joulescope_ui/devices/jsdrv).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from drivers.joulescope.block import Readable
from drivers.joulescope.link import Setting
from drivers.joulescope.stream_merger import CURRENT, TICK_HZ, VOLTAGE
from rig.errors import ConfigError
from rig.uncertainty.accuracy import Accuracy, Range

_FULL_SCALE_A = {
    "18 µA": 18e-6,
    "180 µA": 180e-6,
    "1.8 mA": 1.8e-3,
    "18 mA": 18e-3,
    "180 mA": 0.18,
    "2 A": 2.0,
    "10 A": 10.0,
}
_FULL_SCALE_V = {"2 V": 2.0, "5 V": 5.0, "15 V": 15.0}
#: Beyond its range a converter stands still at a number that looks like any other:
#: js110_sample_processor.c applies its calibration to 14 bits and no limit; of 3 V in
#: its 2 V range a JS220 showed 2.2 V (github.com/jetperch/pyjoulescope_ui/issues/175).
#: So values above the nominal end of a range are not used. Three ranges of a JS110 end
#: below their names: 16 383 counts are 9.27 A, 14.4 V and 4.2 V in the calibration that
#: joulescope_driver tests with (test/devices/js110/js110_cal_test.c).
_JS110_ENDS = {"10 A": 9.0, "15 V": 14.0, "5 V": 4.0}
#: Its zero lies a sixth (current) or a fourteenth (15 V) of the counts above the
#: lowest: so far down they go, in parts of the end.
_JS110_BELOW = {CURRENT: 0.2, VOLTAGE: 0.05}


@dataclass(frozen=True, slots=True)
class RequestedSettings:
    """Settings that a bench file asks of the instrument: the GPI that carries SYNC, its
    logic reference, and the ranges.
    """

    gpi: int
    reference: str
    current_range: str
    voltage_range: str


class InstrumentModel(ABC):
    """A model's settings, in the order of writing."""

    name: ClassVar[str]
    sample_ticks: ClassVar[int]
    gpis: ClassVar[tuple[int, ...]]
    references: ClassVar[tuple[str, ...]]
    current_ranges: ClassVar[dict[str, int]]
    voltage_ranges: ClassVar[tuple[str, ...]]
    edge_s: ClassVar[float]
    accuracy_source: ClassVar[str]
    #: Counts of `sample_id` in a tick of this driver, of 0.5 us.
    tick_counts: ClassVar[int] = 1
    #: Year of the source of the limits; 0 where there is none.
    year: ClassVar[int] = 0
    #: Topics of versions; a JS110's host driver does not ask for any.
    versions: ClassVar[tuple[str, ...]] = ()
    #: Versions that a session's folder gets a note about: topic, the first without the
    #: fault, name and text of the note.
    noted: ClassVar[tuple[str, tuple[int, int, int], str, str]] = (
        "",
        (0, 0, 0),
        "",
        "",
    )
    #: The topic whose value "off" disconnects the supply.
    supply_topic: ClassVar[str]
    #: Whether the host driver also acknowledges commands that fail, with the failure in
    #: its log alone.
    refuses_in_log: ClassVar[bool] = False
    #: Limits of the offset by range.
    offsets_a: ClassVar[dict[str, float]]

    @abstractmethod
    def supply(self, on: bool, wanted: RequestedSettings) -> list[Setting]:
        """Return what connects or disconnects the DUT's supply; connected, it also
        selects the range.
        """

    @abstractmethod
    def settings(self, wanted: RequestedSettings) -> list[Setting]:
        """Return everything else that the measurement depends on; all streams are
        off."""

    def optional(self, wanted: RequestedSettings) -> list[Setting]:
        """Return settings that only newer firmware has."""
        return []

    @abstractmethod
    def gain(self, current_range: str) -> float:
        """Return the limit of the gain error in a range."""


def streams_off(*more: str) -> list[Setting]:
    """Return what ends every stream, also those another program has left on: too many
    of them stop all data.
    """
    return [
        (f"s/{name}/ctrl", 0) for name in ("i", "v", "p", "i/range", "stats", *more)
    ]


class Js220(InstrumentModel):
    """JS220: current and voltage at 1 MHz, SYNC at 2 MHz; the hardware measures through
    its range switches.
    """

    name = "JS220"
    sample_ticks = 2
    gpis = (0, 1, 2, 3, 7)
    references = ("external", "3.3 V")
    current_ranges: ClassVar = {
        "10 A": 129,
        "180 mA": 130,
        "18 mA": 132,
        "1.8 mA": 136,
        "180 µA": 144,
        "18 µA": 160,
    }
    voltage_ranges = ("auto", "15 V", "2 V")
    #: Delay between GPI and analog path, not documented by the maker: an allowance, to
    #: be measured by a loopback.
    edge_s = 2e-6
    accuracy_source = (
        "10 A range: 0.25 % and 1.5 mA, said by the maker in"
        " github.com/jetperch/pyjoulescope_ui/issues/182 (2023-04-24), read; NOT from"
        " the data sheet: all other ranges are assumed at 0.3 %, with a tenth of the"
        " offset for each range down; voltage 0.3 % and clock 50 ppm are assumed; noise"
        " and steps are not stated. Give a calibration file for real work"
    )
    year = 2023
    versions = ("c/fw/version", "c/hw/version", "s/fpga/version")
    #: Older FPGA images tell the time of a sample wrongly (CHANGELOG of
    #: joulescope_driver, 1.7.1 to 1.9.1); edges do not depend on it.
    noted = (
        "s/fpga/version",
        (1, 3, 3),
        "fpga_note",
        "before 1.3.3 the instrument's UTC can be wrong; the trace runs on its counter"
        " and is not",
    )
    supply_topic = "s/i/range/mode"
    #: Of the 10 A range, and a tenth of it for each range down (assumed: the shunts
    #: grow tenfold).
    offsets_a: ClassVar = {
        "10 A": 1.5e-3,
        "180 mA": 1.5e-3 / 10,
        "18 mA": 1.5e-3 / 100,
        "1.8 mA": 1.5e-3 / 1000,
        "180 µA": 1.5e-3 / 10_000,
        "18 µA": 1.5e-3 / 100_000,
    }

    def supply(self, on: bool, wanted: RequestedSettings) -> list[Setting]:
        """Return the mode of the current range: off is open."""
        if not on:
            return [("s/i/range/mode", "off")]
        if wanted.current_range == "auto":
            return [("s/i/range/mode", "auto")]
        return [
            ("s/i/range/select", self.current_ranges[wanted.current_range]),
            ("s/i/range/mode", "manual"),
        ]

    def settings(self, wanted: RequestedSettings) -> list[Setting]:
        """Return rates, limits of the ranging, reference and voltage range.

        `h/i_scale` and `h/v_scale` are left alone: they start at 1 with every driver
        object, and writing them spoils the statistics (the host driver reads the f32 it
        has made of the value as f64).
        """
        return [
            *streams_off(*(f"gpi/{number}" for number in self.gpis)),
            ("h/fs", TICK_HZ),
            ("h/fp", 20),
            ("h/filter", 0),
            *self._inputs(wanted),
        ]

    def _inputs(self, wanted: RequestedSettings) -> list[Setting]:
        """Return limits of the ranging, reference and voltage range."""
        voltage: list[Setting] = [("s/v/range/mode", "auto")]
        if wanted.voltage_range != "auto":
            voltage = [
                ("s/v/range/select", {"15 V": 0, "2 V": 1}[wanted.voltage_range]),
                ("s/v/range/mode", "manual"),
            ]
        reference = {"external": 0, "3.3 V": 1}[wanted.reference]
        return [
            ("s/i/range/min", 0),
            ("s/i/range/max", 5),
            *voltage,
            ("c/gpio/vref", reference),
        ]

    def optional(self, wanted: RequestedSettings) -> list[Setting]:
        """Return the filters of firmware 1.3.0 and later, and the trigger as an input
        where it carries SYNC.
        """
        trigger: list[Setting] = [("c/trigger/dir", 0)] if wanted.gpi == 7 else []
        return [("s/dwn2/mode", 0), ("s/gpi/+/dwnN/mode", 0), *trigger]

    def gain(self, current_range: str) -> float:
        """Return 0.25 % for 10 A, 0.3 % assumed for the others."""
        return 0.0025 if current_range == "10 A" else 0.003


class Js320(Js220):
    """JS320: rates, ranges and inputs of a JS220, on a counter of 16 MHz; it decimates
    its inputs on command.

    From src/devices/js320/js320_drv.c of joulescope_driver 2.3.4 and
    joulescope_ui/devices/jsdrv/js320.py; never run with an instrument.
    """

    name = "JS320"
    tick_counts = 8
    year = 0
    accuracy_source = (
        "not stated: no data sheet of the JS320 was read; the limits that this driver"
        " has for a JS220, whose ranges it has, stand in their place, most of them"
        " assumed. Give a calibration file for real work"
    )
    #: CHANGELOG of joulescope_driver, 2.3.0.
    noted = (
        "c/fw/version",
        (1, 1, 3),
        "fw_note",
        "before 1.1.3 the current of some JS320 stands still at 2.2 A, and"
        " before 1.1.2 a sample at a switch of the range can be wrong",
    )

    def settings(self, wanted: RequestedSettings) -> list[Setting]:
        """Return rates, limits of the ranging, reference and voltage range.

        `h/fs` is that of current and voltage alone. The inputs are sampled at 16 MHz;
        of each 8 samples the first is sent.
        """
        return [
            *streams_off(*(f"gpi/{number}" for number in self.gpis)),
            ("h/fs", TICK_HZ // self.sample_ticks),
            ("h/fp", 20),
            ("s/gpi/+/dwnN/mode", "first"),
            ("s/gpi/+/dwnN/N", self.tick_counts),
            *self._inputs(wanted),
        ]

    def optional(self, wanted: RequestedSettings) -> list[Setting]:
        """Return the converters' own streams off, ranging without a guess, and the
        trigger as an input where it carries SYNC.
        """
        trigger: list[Setting] = [("c/trigger/dir", 0)] if wanted.gpi == 7 else []
        return [
            ("s/adc/0/ctrl", 0),
            ("s/adc/1/ctrl", 0),
            ("s/i/range/predict", 0),
            *trigger,
        ]


class Js110(InstrumentModel):
    """JS110: current, voltage and SYNC at 2 MHz; SYNC travels in the lowest bit of the
    converter's words.
    """

    name = "JS110"
    sample_ticks = 1
    gpis = (0, 1)
    references = (
        "1.8 V",
        "2.1 V",
        "2.5 V",
        "2.7 V",
        "3.0 V",
        "3.3 V",
        "3.6 V",
        "5.0 V",
    )
    current_ranges: ClassVar = {
        "10 A": 1,
        "2 A": 2,
        "180 mA": 4,
        "18 mA": 8,
        "1.8 mA": 16,
        "180 µA": 32,
        "18 µA": 64,
    }
    voltage_ranges = ("15 V", "5 V")
    edge_s = 0.5e-6
    accuracy_source = (
        "2 A range: 0.3 % and 1.5 mA, said by the maker in"
        " forum.joulescope.com/t/current-value-changes-with-current-range/388 after"
        " page 12 of the JS110 User's Guide, read second-hand; NOT from the data sheet:"
        " 10 A is assumed at 1 % and 7.5 mA, lower ranges at 0.3 % with a tenth of the"
        " offset for each; voltage 0.3 % and clock 50 ppm are assumed; noise and steps"
        " are not stated. Give a calibration file for real work"
    )
    supply_topic = "s/i/range/select"
    #: Of the 2 A range, a tenth of it for each range down, and five times it for 10 A
    #: (both assumed).
    offsets_a: ClassVar = {
        "10 A": 7.5e-3,
        "2 A": 1.5e-3,
        "180 mA": 1.5e-4,
        "18 mA": 1.5e-5,
        "1.8 mA": 1.5e-6,
        "180 µA": 1.5e-7,
        "18 µA": 1.5e-8,
    }
    refuses_in_log = True

    def supply(self, on: bool, wanted: RequestedSettings) -> list[Setting]:
        """Return the range of the current: off is open."""
        auto = (
            128
            if wanted.current_range == "auto"
            else self.current_ranges[wanted.current_range]
        )
        return [("s/i/range/select", auto if on else 0)]

    def settings(self, wanted: RequestedSettings) -> list[Setting]:
        """Return rate, suppression, reference, voltage range, and the sources of the
        lowest bits.

        `s/i/range/mode` selects the values that the host driver puts in place of the up
        to 9 samples (4.5 us) of a JS110's range switch: 2, a line between the samples
        about them, where it may switch, as "nan" would make every window with a switch
        a gap; 3, no number, in a fixed range, where a switch is a fault that must be
        seen.
        """
        millivolt = round(float(wanted.reference.removesuffix(" V")) * 1000)
        return [
            *streams_off("gpi/0", "gpi/1", "sstats"),
            ("h/fs", TICK_HZ),
            ("s/i/range/mode", 2 if wanted.current_range == "auto" else 3),
            ("s/i/range/pre", 1),
            ("s/i/range/win", 2),
            ("s/i/range/post", 1),
            ("s/v/range/select", {"15 V": 0, "5 V": 1}[wanted.voltage_range]),
            ("s/extio/voltage", millivolt),
            # The GPI streams decode these bits: left "normal", they would show the
            # converter's noise as edges.
            ("s/i/lsb_src", 2 if wanted.gpi == 0 else 0),
            ("s/v/lsb_src", 3 if wanted.gpi == 1 else 0),
        ]

    def gain(self, current_range: str) -> float:
        """Return 0.3 %, and 1 % assumed for 10 A."""
        return 0.01 if current_range == "10 A" else 0.003


_MODELS: dict[str, InstrumentModel] = {
    model.name: model for model in (Js110(), Js220(), Js320())
}


def of_path(path: str) -> InstrumentModel:
    """Return the model of a device path, as u/js220/000415; raises ConfigError for one
    this driver does not know.
    """
    name = path.split("/")[1].upper()
    if name in _MODELS:
        return _MODELS[name]
    known = ", ".join(_MODELS)
    raise ConfigError(
        f"{path} is none of {known}",
        path="monitor.joulescope.device",
        evidence=f"{name}: it is unknown",
        try_next=f"name one of {known}; rig scan lists what is attached",
    )


def named(text: str) -> InstrumentModel:
    """Return the model that a text names, of an instrument or its path; a JS220 where
    it names none."""
    found = (name for name in _MODELS if name in text.upper())
    return _MODELS[next(found, Js220.name)]


def require(model: InstrumentModel, wanted: RequestedSettings) -> None:
    """Raise ConfigError for a setting that the model does not have."""
    _require(model, "gpi", wanted.gpi, model.gpis)
    _require(model, "reference", wanted.reference, model.references)
    current_ranges = ("auto", *model.current_ranges)
    _require(model, "current_range", wanted.current_range, current_ranges)
    _require(model, "voltage_range", wanted.voltage_range, model.voltage_ranges)


def _require(
    model: InstrumentModel, key: str, value: object, allowed: Collection[object]
) -> None:
    if value not in allowed:
        raise ConfigError(
            f"a {model.name} has no {value!r}",
            path=f"monitor.joulescope.{key}",
            try_next=f"one of {', '.join(map(str, allowed))}",
        )


def readable(model: InstrumentModel, wanted: RequestedSettings) -> dict[str, Readable]:
    """Return the valid readings of current and voltage: in the highest range in use."""
    limits = {}
    currents = [*model.current_ranges]
    voltages = [each for each in model.voltage_ranges if each != "auto"]
    signals = (
        (CURRENT, _FULL_SCALE_A, currents, wanted.current_range),
        (VOLTAGE, _FULL_SCALE_V, voltages, wanted.voltage_range),
    )
    for signal, scale, ranges, chosen in signals:
        name = max(ranges, key=scale.__getitem__) if chosen == "auto" else chosen
        js110 = model.name == "JS110"
        end = _JS110_ENDS.get(name, scale[name]) if js110 else scale[name]
        limits[signal] = Readable(
            name, -_JS110_BELOW[signal] * end if js110 else -end, end
        )
    return limits


def promised(model: InstrumentModel, wanted: RequestedSettings) -> Accuracy:
    """Return the limits of error in the ranges that may be in use, ascending."""
    currents = (
        model.current_ranges
        if wanted.current_range == "auto"
        else [wanted.current_range]
    )
    voltages = (
        [each for each in model.voltage_ranges if each != "auto"]
        if wanted.voltage_range == "auto"
        else [wanted.voltage_range]
    )
    current = []
    for name in sorted(currents, key=_FULL_SCALE_A.__getitem__):
        gain = model.gain(name)
        current.append(Range(_FULL_SCALE_A[name], gain, model.offsets_a[name]))
    voltage = []
    for name in sorted(voltages, key=_FULL_SCALE_V.__getitem__):
        full_v = _FULL_SCALE_V[name]
        voltage.append(Range(full_v, 0.003, 0.001 * full_v))
    return Accuracy(
        current=tuple(current),
        voltage=tuple(voltage),
        clock_ppm=50.0,
        source=model.accuracy_source,
        year=model.year,
        verified=False,
        edge_s=model.edge_s,
    )
