# SPDX-License-Identifier: Apache-2.0
"""The bench files of `rig tiny`: one a mode, for each kind of device."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rig.files import small_text

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
_NO_MONITOR = """# The device's own clock is trusted, and there is no energy.
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
[scenario.tiny]
mode = "{mode}"

[task.mlperf_tiny]
benchmark = "{benchmark}"
model = {model}
data = {data}
labels = {labels}
{source}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyBench:
    """Contents of the bench files; paths are relative to their folder, or absolute."""

    benchmark: str
    sut: str
    monitor: str
    model: str
    data: str
    labels: str
    source: str = ""

    def text(self, mode: str) -> str:
        """Return the bench file of a mode."""
        return _BENCH.format(
            mode=mode,
            benchmark=self.benchmark,
            sut=self.sut,
            monitor=self.monitor,
            model=json.dumps(self.model),
            data=json.dumps(self.data),
            labels=json.dumps(self.labels),
            source=f"source = {json.dumps(self.source)}\n" if self.source else "",
        )


def sut(on: str, image: str, machine: str) -> str:
    """Return the lines of a device: a backend, or a serial port."""
    match on:
        case "posix":
            # The virtual monitor samples slowly: a pulse lasts some samples.
            return (
                f"[sut.posix]\nprogram = {json.dumps(image)}\nppm = 60.0\n"
                "sync_hold_us = 400\n"
            )
        case "qemu":
            return (
                f"[sut.qemu]\nprogram = {json.dumps(image)}\n"
                f"machine = {json.dumps(machine)}\nsync_hold_us = 400\n"
            )
        case "virtual":
            return "[sut.virtual]\nsync_hold_us = 400\nsync_period_us = 20_030\n"
        case "cpu":
            return _CPU
    return f"[sut.uart]\nport = {json.dumps(on)}\nbaud = 115_200\n"


def monitor(on: str, given: Path | None) -> str:
    """Return the lines of the monitor: those of the user's file, else a simulated one
    of a simulated device, else none.
    """
    if given is not None:
        return small_text.read(given)
    if on == "cpu":
        return _BESIDE_CPU
    return _VIRTUAL if on in BACKENDS else _NO_MONITOR
