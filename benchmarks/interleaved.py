# SPDX-License-Identifier: Apache-2.0
"""Time of 50 ASC samples x 5 trials at 921 600 baud: trial by trial after a guard and
by GO, and interleaved, where each sample is loaded once.

Run it: `python -m benchmarks.interleaved [--quick]`; two and a half minutes. Three
sessions of the rig in one run, with `[sut.uart]`, no monitor, and the POSIX firmware
(`make firmware`) on a simulated line of 921 600 baud and 1 ms each way
(benchmarks/paced_line.py). Wall time from the first step to the last, as waiting is
compared. After it the time of a whole run of 16 240 samples is COMPUTED from the mean
load and the mean query of this run, with a device that takes 65 ms for each query in
place of this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.paced_line import PacedLine
from rig.model.steps import Load, Query, Step
from rig.session.session import open_bench
from rig.store.events import Event, StepBegun, StepDone
from sut_backends.hosted.posix import DutProcess
from sut_backends.shim.messages import CapsMessage, More
from sut_backends.uart.framed_dut import FramedDut

PROGRAM = Path(__file__).resolve().parents[1] / "firmware" / "build" / "posix" / "asc"
BAUD = 921_600
DELAY_S = 0.001
TRIALS = 5
#: NeuroBench's whole test split, and a query of the device for which the run of it is
#: computed.
WHOLE = 16_240
DEVICE_S = 0.065
BENCH = """
[bench]
name = "interleaved"
trials = 5

[sut.uart]
port = "{port}"
baud = {baud}
simulated = true

[monitor.none]

[scenario.single_stream]
idle_s = 0.05
warmup = 1
interleaved = {interleaved}

[task.asc]
samples = {samples}
"""


@dataclass
class Times:
    """A subscriber that sums up how long the steps of each kind took, to their end or,
    of loads, to the begin of the next one.
    """

    seconds: dict[type[Step], float] = field(default_factory=dict)
    counts: dict[type[Step], int] = field(default_factory=dict)
    device_s: float = 0.0
    tick_hz: int = 1
    _begun: tuple[type[Step], float] | None = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, StepDone):
            marks = event.done.completion.marks
            if isinstance(event.done.step, Query):
                self.device_s += (marks[-1].tick - marks[0].tick) / self.tick_hz
            self._end()
        if isinstance(event, StepBegun):
            self._end()
            kind = type(event.step)
            self._begun = (kind, time.monotonic())

    def _end(self) -> None:
        if self._begun is not None:
            kind, begun_s = self._begun
            self.seconds[kind] = (
                self.seconds.get(kind, 0.0) + time.monotonic() - begun_s
            )
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self._begun = None

    def mean_s(self, kind: type[Step]) -> float:
        """Return the mean time of a step of a kind."""
        return self.seconds[kind] / self.counts[kind]

    @property
    def asked_s(self) -> float:
        """Return the time of all loads and queries."""
        return self.seconds[Load] + self.seconds[Query]


@contextmanager
def without_go() -> Iterator[None]:
    """Have the host act as an older one, which does not know the firmware's GO."""
    hello = FramedDut.hello

    def unknown(dut: FramedDut, nonce: int) -> CapsMessage:
        caps = hello(dut, nonce)
        dut.caps = replace(caps, more=caps.more & ~More.GO)
        return dut.caps

    FramedDut.hello = unknown  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        FramedDut.hello = hello  # type: ignore[method-assign]


def session(samples: int, *, interleaved: bool) -> Times:
    """Run a session, which must be valid, and return its times."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    device = DutProcess(PROGRAM, [], nowhere)
    times = Times()
    try:
        with (
            TemporaryDirectory() as root,
            PacedLine(device.port, BAUD, DELAY_S) as line,
        ):
            bench_file = Path(root) / "bench.toml"
            order = "true" if interleaved else "false"
            bench_file.write_text(
                BENCH.format(
                    port=line.path, baud=BAUD, samples=samples, interleaved=order
                )
            )
            with open_bench(bench_file) as bench:
                times.tick_hz = bench.sut.info.tick_hz
                result = bench.run(TRIALS, Path(root) / "sessions", [times])
            if problems := [
                trial.problems for trial in result.trials if trial.problems
            ]:
                raise RuntimeError(f"invalid: {problems[0]}")
    finally:
        device.close()
        os.close(nowhere)
    return times


def around_s(times: Times) -> float:
    """Return a query's time beyond the time in the device, by its own clock."""
    return times.mean_s(Query) - times.device_s / times.counts[Query]


def whole_h(times: Times, loads: int) -> float:
    """Return the computed hours of a whole run with so many loads of each sample."""
    query_s = around_s(times) + DEVICE_S
    return WHOLE * (loads * times.mean_s(Load) + TRIALS * query_s) / 3600


def main() -> int:
    """Print the table; return the exit code: 1 where interleaving saves no time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two seconds of audio")
    samples = 2 if parser.parse_args().quick else 50
    with without_go():
        guarded = session(samples, interleaved=False)
    rows = (
        ("trial by trial, behind a guard", guarded, TRIALS),
        ("trial by trial, by GO", session(samples, interleaved=False), TRIALS),
        ("interleaved, by GO", session(samples, interleaved=True), 1),
    )
    print(
        f"{samples} seconds of audio x {TRIALS} trials, {BAUD} baud, {DELAY_S * 1e3:g}"
        " ms each way (simulated line); wall time of loads and queries"
    )
    for name, times, loads in rows:
        print(
            f"{name}: {times.asked_s:.1f} s: {times.counts[Load]} loads of"
            f" {1e3 * times.mean_s(Load):.1f} ms, {times.counts[Query]} queries of"
            f" {1e3 * times.mean_s(Query):.1f} ms, {1e3 * around_s(times):.1f} of them"
            f" around the device's own; COMPUTED for {WHOLE} x {TRIALS} with"
            f" {1e3 * DEVICE_S:g} ms a query in the device:"
            f" {whole_h(times, loads):.1f} h"
        )
    return 0 if rows[2][1].asked_s < rows[1][1].asked_s else 1


if __name__ == "__main__":
    sys.exit(main())
