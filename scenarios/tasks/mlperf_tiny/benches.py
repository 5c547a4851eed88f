# SPDX-License-Identifier: Apache-2.0
"""The bench files of `rig tiny`: one a mode, for each kind of device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rig.files import small_text
from rig.files.toml_text import of_value

MODES = ("performance", "accuracy", "energy")
#: Devices that are no serial port of a board.
BACKENDS = ("posix", "qemu", "virtual", "cpu")
_VIRTUAL = """[monitor.virtual]
sample_hz = 20_000
"""
# Times are those of this computer's own clock, which simulated current follows exactly.
_BESIDE_CPU = """[monitor.virtual]
sample_hz = 100_000
clock_ppm = 0.0
"""
_CPU = """[sut.cpu]
program = "integer"
power_w = { idle = 2.0, infer = 8.0, batch = 8.8 }
"""
NO_MONITOR = """# The device's own clock is trusted, and there is no energy.
[monitor.none]
"""
_BENCH = """\
# {mode} of MLPerf Tiny's {benchmark}, by `rig tiny`; `rig run` measures it again.
[bench]
name = "{benchmark}-{mode}"
trials = 1
seed = 1

{sut}
{monitor}
{tables}"""
_TENSORS = """\
[scenario.tiny]
mode = "{mode}"

[task.mlperf_tiny]
benchmark = "{benchmark}"
model = {model}
data = {data}
labels = {labels}
{source}"""


def bench(*, benchmark: str, mode: str, sut: str, monitor: str, tables: str) -> str:
    """Return a bench file: lines of device and monitor, scenario and task."""
    return _BENCH.format(
        benchmark=benchmark, mode=mode, sut=sut, monitor=monitor, tables=tables
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorTables:
    """Scenario and task of tensors; paths are relative to the bench's folder, or
    absolute.
    """

    benchmark: str
    model: str
    data: str
    labels: str
    source: str = ""

    def text(self, mode: str) -> str:
        """Return the tables of a mode."""
        return _TENSORS.format(
            mode=mode,
            benchmark=self.benchmark,
            model=of_value(self.model),
            data=of_value(self.data),
            labels=of_value(self.labels),
            source=f"source = {of_value(self.source)}\n" if self.source else "",
        )


def sut(on: str, image: str, machine: str) -> str:
    """Return the lines of a device: a backend, or a serial port."""
    match on:
        case "posix":
            # The virtual monitor samples slowly: a pulse lasts some samples.
            return process(image, "ppm = 60.0\nsync_hold_us = 400\n")
        case "qemu":
            return emulator(image, machine, "sync_hold_us = 400\n")
        case "virtual":
            return "[sut.virtual]\nsync_hold_us = 400\nsync_period_us = 20_030\n"
        case "cpu":
            return _CPU
    return board(on, "baud = 115_200\n")


def process(image: str, more: str) -> str:
    """Return the lines of the firmware as a process."""
    return f"[sut.posix]\nprogram = {of_value(image)}\n{more}"


def emulator(image: str, machine: str, more: str) -> str:
    """Return the lines of the firmware on an emulated board."""
    return (
        f"[sut.qemu]\nprogram = {of_value(image)}\n"
        f"machine = {of_value(machine)}\n{more}"
    )


def board(port: str, more: str) -> str:
    """Return the lines of a board at a serial port."""
    return f"[sut.uart]\nport = {of_value(port)}\n{more}"


def monitor(on: str, given: Path | None) -> str:
    """Return the lines of the monitor: those of the user's file, else a simulated one
    of a simulated device, else none.
    """
    if given is not None:
        return small_text.read(given)
    if on == "cpu":
        return _BESIDE_CPU
    return _VIRTUAL if on in BACKENDS else NO_MONITOR
