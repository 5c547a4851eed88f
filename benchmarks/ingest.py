# SPDX-License-Identifier: Apache-2.0
"""Speed of the energy monitors: from blocks as the instruments deliver them to the
energy of windows. All data are simulated.

Run it: `python -m benchmarks.ingest [--quick] [--hour]`, on Linux: some minutes;
seconds; a quarter of an hour and 61 GB of disk. Times are CPU time of the whole
process, the trace library's thread included, pinned to one core; the median of several
rounds. Not included: USB and the maker's driver, and making the prepared blocks. The
rig stores two floats and SYNC, as power is their product; one row stores it too. Ratios
are what can be compared: absolute times are this machine's.

Half of the CPU time of all steps is the trace library's own thread. The aim of 40 MS/s
on one core counts all threads, so it can be met only where the library alone does
clearly more; docs/decisions/2026-11-21-forty-million.md tells of two machines.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyjls
from numpy.typing import NDArray

from benchmarks import live, peer
from benchmarks.streams import PULSE_S, TICK_HZ, JoulescopeStreams, lpm01a
from drivers.joulescope.block import StreamBlock
from drivers.joulescope.models import RequestedSettings, of_path, promised, readable
from drivers.joulescope.stream_merger import Lanes
from drivers.keysight_n6705.driver import KeysightN6705
from drivers.st_lpm01a.binary import BinaryParser
from drivers.st_lpm01a.stream import AsciiParser
from drivers.st_lpm01a.stream_items import SampleBlock, StreamEdge
from rig.interfaces.context import BenchContext
from rig.simulation.world import NS_PER_S
from rig.trace.trace import TRACE, Trace
from rig.trace.writer import TraceWriter
from rig.uncertainty.window_effects import ranges_a

AIM_MS = 40.0
AIM_SHARE = 0.10
#: Of the rig's choice for fast signals (rig/trace/writer.py).
_BLOCK = 32_768
_SUMMARY = 1024
#: A signal that traces of the rig do not have.
_POWER = 4
_PEER_SAMPLES = 1_000_000


@dataclass(frozen=True, slots=True)
class Times:
    """What one step took: CPU time of the process, of that the calling thread's, and
    wall time, in seconds.
    """

    cpu: float
    own: float
    wall: float


@dataclass(frozen=True, slots=True)
class Ingest:
    """An instrument's `samples` of `seconds`, `values` stored for each, and the times
    of each step in each round.
    """

    name: str
    samples: int
    seconds: float
    values: int
    rounds: list[dict[str, Times]]

    def cpu_s(self, step: str, own: bool = False) -> float:
        """Return the median of a step."""
        return median(item[step].own if own else item[step].cpu for item in self.rounds)

    def sums_s(self, kind: str) -> list[float]:
        """Return a kind of time of all steps together, for each round."""
        sums = []
        for steps in self.rounds:
            sums.append(sum(getattr(times, kind) for times in steps.values()))
        return sums

    @property
    def whole_s(self) -> float:
        """Return the median of all steps together."""
        return median(self.sums_s("cpu"))

    @property
    def whole_ms(self) -> float:
        """Return millions of samples per second of CPU time, all steps together."""
        return self.samples / self.whole_s / 1e6

    @property
    def own_ms(self) -> float:
        """Return millions of samples per second of the rig's thread, all steps
        together."""
        return self.samples / median(self.sums_s("own")) / 1e6

    @property
    def wall_ms(self) -> float:
        """Return millions of samples per second that passes, all steps together."""
        return self.samples / median(self.sums_s("wall")) / 1e6


class Stopwatch:
    """Keeps the times of named steps."""

    def __init__(self) -> None:
        self.times: dict[str, Times] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Take the times of the block inside."""
        began = time.process_time(), time.thread_time(), time.perf_counter()
        yield
        ended = time.process_time(), time.thread_time(), time.perf_counter()
        self.times[name] = Times(
            *(stop - start for start, stop in zip(began, ended, strict=True))
        )


@contextmanager
def one_core() -> Iterator[None]:
    """Run this thread, and threads that it starts, on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


class _PowerToo(TraceWriter):
    """Stores a third float, power as an instrument streams it, which the rig does not;
    the waveform is that of streams.py.
    """

    def __init__(self, folder: Path, power: NDArray[np.float32], **known: Any) -> None:
        super().__init__(folder, **known)
        self._power = power
        self._writer.signal_def(
            signal_id=_POWER,
            source_id=1,
            signal_type=pyjls.SignalType.FSR,
            data_type="f32",
            sample_rate=round(self.sample_hz),
            name="power",
            units="W",
            samples_per_data=_BLOCK,
            sample_decimate_factor=_SUMMARY,
        )

    def analog(
        self, current_a: NDArray[Any], voltage_v: NDArray[Any], *, unreadable: str = ""
    ) -> None:
        at = self.samples
        first = at % round(2 * self.sample_hz)
        super().analog(current_a, voltage_v, unreadable=unreadable)
        self._writer.fsr_f32(_POWER, at, self._power[first : first + len(current_a)])


def joulescope(
    model: str, seconds: float, rounds: int, power_too: bool = False
) -> Ingest:
    """Take a Joulescope's blocks through the driver's merging, the trace, its edges and
    integrals; checks the energy.
    """
    prepared = JoulescopeStreams.prepare(model)
    kept = (
        partial(_PowerToo, power=prepared.current * prepared.voltage)
        if power_too
        else TraceWriter
    )
    blocks = list(prepared.blocks(seconds))
    kind = of_path(f"u/{model}/1")
    wanted = RequestedSettings(0, "3.3 V", "auto", "15 V")
    limits_a = ranges_a(promised(kind, wanted))
    believed = readable(kind, wanted)
    result = []
    for _ in range(rounds):
        watch = Stopwatch()
        with tempfile.TemporaryDirectory() as name:
            with watch.step("merge, write"):
                about = {"simulated": True}
                with kept(
                    Path(name),
                    sample_hz=prepared.sample_hz,
                    edge_hz=TICK_HZ,
                    source=model,
                    serial="",
                    about=about,
                ) as writer:
                    lanes = Lanes(writer, prepared.sample_ticks)
                    for signal, message in blocks:
                        block = StreamBlock.of(message)
                        lanes.feed(
                            signal,
                            (
                                believed[signal].believed(block)
                                if signal in believed
                                else block
                            ),
                        )
                    lanes.finish()
            trace, energy_j = _read(Path(name), watch, limits_a)
        require(energy_j, prepared.energy_j(PULSE_S) * (len(trace.falls_s) - 1), 1e-3)
        require(len(trace.falls_s), round(seconds / PULSE_S), 0)
        result.append(watch.times)
    name = f"Joulescope {model.upper()}{', power stored too' if power_too else ''}"
    return Ingest(
        name, trace.length, seconds, 2 + power_too + prepared.sample_ticks, result
    )


def powershield(output: str, sample_hz: int, seconds: float, rounds: int) -> Ingest:
    """Take an LPM01A's bytes through the driver's parser, the trace, its events and
    integrals; checks the energy.
    """
    pieces, charge_c = lpm01a(output, sample_hz, seconds)
    result = []
    for _ in range(rounds):
        watch = Stopwatch()
        with tempfile.TemporaryDirectory() as name:
            with (
                watch.step("parse, write"),
                TraceWriter(
                    Path(name),
                    sample_hz=sample_hz,
                    edge_hz=sample_hz / 2,
                    source="LPM01A",
                    serial="",
                    about={},
                    sync_kind="stamps",
                ) as writer,
            ):
                parser = (
                    AsciiParser(sample_hz, 1.0)
                    if output == "ascii_dec"
                    else BinaryParser(sample_hz, 1.0)
                )
                for piece in pieces:
                    for item in parser.feed(piece):
                        if isinstance(item, SampleBlock):
                            writer.analog(item.values, np.full(len(item.values), 3.3))
                        elif isinstance(item, StreamEdge):
                            writer.stamp((item.at + 0.5) / sample_hz)
            trace, _ = _read(Path(name), watch, [0.05, 1.0])
            require(trace.energy_j(0.0, trace.duration_s), 3.3 * charge_c, 1e-3)
        result.append(watch.times)
    return Ingest(f"LPM01A {output}", trace.length, seconds, 2, result)


def keysight(seconds: float) -> Ingest:
    """Record the simulated N6705 in virtual time and count only the time of the
    driver's and the trace library's threads.
    """
    bench = BenchContext()
    before = live.threads_s()
    watch = Stopwatch()
    monitor = KeysightN6705.open(KeysightN6705.Settings(resource="simulator"), bench)
    try:
        monitor.power(True)
        with tempfile.TemporaryDirectory() as name:
            with live.used(before) as cpu, monitor.record(Path(name)):
                for _ in range(round(seconds / PULSE_S)):
                    for level, power_w, share in ((False, 0.2, 0.1), (True, 0.02, 0.9)):
                        bench.world.put(bench.world.now_ns(), level, power_w)
                        bench.world.advance(round(PULSE_S * share * NS_PER_S))
            trace, _ = _read(Path(name), watch, ranges_a(monitor.info.accuracy))
    finally:
        monitor.close()
    times = {"fetch, write": Times(cpu.ended, 0.0, cpu.elapsed), **watch.times}
    return Ingest(
        "Keysight N6705 (V, I, SYNC)", trace.length, trace.duration_s, 3, [times]
    )


def three_floats(seconds: float, rounds: int) -> list[Times]:
    """Write three floats and a line at one rate with the trace library alone: without
    merging or a view.
    """
    prepared = JoulescopeStreams.prepare("js110")
    power = prepared.current * prepared.voltage
    signals = ((1, prepared.current), (2, prepared.voltage), (3, power))
    result = []
    for _ in range(rounds):
        watch = Stopwatch()
        with tempfile.TemporaryDirectory() as name, watch.step("write"):
            writer = pyjls.Writer(f"{name}/trace.jls")
            writer.source_def(
                source_id=1, name="x", vendor="", model="", version="", serial_number=""
            )
            for number, kind in [(number, "f32") for number, _ in signals] + [
                (10, "u1")
            ]:
                writer.signal_def(
                    signal_id=number,
                    source_id=1,
                    signal_type=pyjls.SignalType.FSR,
                    data_type=kind,
                    sample_rate=TICK_HZ,
                    name=f"s{number}",
                    samples_per_data=_BLOCK,
                    sample_decimate_factor=_SUMMARY,
                )
            for at in range(0, round(seconds * TICK_HZ), 100_000):
                first = at % (2 * TICK_HZ)
                for number, values in signals:
                    writer.fsr_f32(number, at, values[first : first + 100_000])
                writer.fsr(10, at, prepared.packed[first // 8 : first // 8 + 12_500])
            writer.close()
        result.append(watch.times["write"])
    return result


def peers(ingests: Sequence[Ingest]) -> Iterator[tuple[str, float, Ingest]]:
    """Yield name and samples per second of CPU time of the loops over single samples,
    and the ingest to compare them with.
    """
    streams = JoulescopeStreams.prepare("js220")
    levels = np.unpackbits(streams.packed[: _PEER_SAMPLES // 4], bitorder="little")[::2]
    watch = Stopwatch()
    with one_core(), watch.step("loop"):
        energy_j, events, _ = peer.joulescope(
            streams.current[:_PEER_SAMPLES],
            streams.voltage[:_PEER_SAMPLES],
            levels,
            streams.sample_hz,
        )
    truth_j = (
        float(
            streams.current[:_PEER_SAMPLES].astype(np.float64)
            @ streams.voltage[:_PEER_SAMPLES]
        )
        / streams.sample_hz
    )
    require(energy_j, truth_j, 1e-3)
    require(events, round(_PEER_SAMPLES / streams.sample_hz / PULSE_S), 0)
    yield (
        "sums sample by sample (power_manager_js220.py)",
        _PEER_SAMPLES / watch.times["loop"].cpu,
        ingests[0],
    )
    pieces, charge_c = lpm01a("ascii_dec", 5_000, _PEER_SAMPLES / 5_000)
    text = b"".join(pieces).decode()
    with one_core(), watch.step("loop"):
        total, events = peer.lpm01a(text)
    require(total / 5_000, charge_c, 1e-3)
    yield (
        "line by line (power_manager_lpm.py)",
        _PEER_SAMPLES / watch.times["loop"].cpu,
        ingests[3],
    )


def require(got: float, expected: float, relative: float) -> None:
    """Stop where a result is wrong: a fast wrong answer is none."""
    if abs(got - expected) > relative * abs(expected):
        raise SystemExit(f"wrong result: {got}, not {expected}")


def _read(
    folder: Path, watch: Stopwatch, limits_a: Sequence[float]
) -> tuple[Trace, float]:
    """Find edges and integrate from each fall to the next, as a session does; return
    the trace and the energy of all windows.
    """
    with watch.step("find edges"):
        trace = Trace.open(folder / TRACE)
    bounds_s = (
        trace.falls_s.tolist()
        if len(trace.falls_s)
        else np.arange(0.0, trace.duration_s, PULSE_S).tolist()
    )
    with watch.step("integrate"):
        integrals = trace.integrals(
            list(pairwise(bounds_s)), limits_a, steps_at_ends=True
        )
    return trace, sum(integral.energy_j for integral in integrals)


def show_ingests(ingests: Sequence[Ingest]) -> None:
    """Print a table of the steps of each instrument."""
    print(
        f"{'instrument, step':<44} {'MS/s of CPU':>12} {'M values/s':>11} "
        f"{'of a core at full rate':>23}"
    )
    for ingest in ingests:
        rate_mhz = ingest.samples / ingest.seconds / 1e6
        print(f"{ingest.name}, {rate_mhz:g} MS/s, {ingest.values} values a sample")
        for step, times in ingest.rounds[0].items():
            _show_step(ingest, f"  {step}", ingest.cpu_s(step))
            if times.own and step == next(iter(ingest.rounds[0])):
                own_s = ingest.cpu_s(step, own=True)
                _show_step(ingest, "    of that, the rig's thread", own_s)
                _show_step(
                    ingest,
                    "    of that, the trace library's thread",
                    ingest.cpu_s(step) - own_s,
                )
        _show_step(ingest, "  whole", ingest.whole_s)
        sums = ingest.sums_s("cpu")
        slowest, fastest = max(sums), min(sums)
        if len(ingest.rounds) > 1:
            print(
                f"    rounds from {ingest.samples / slowest / 1e6:.1f} to "
                f"{ingest.samples / fastest / 1e6:.1f} MS/s"
            )


def _show_step(one: Ingest, name: str, cpu_s: float) -> None:
    rate_ms = one.samples / cpu_s / 1e6
    print(
        f"{name:<44} {rate_ms:>12.2f} {rate_ms * one.values:>11.1f}"
        f" {cpu_s / one.seconds:>22.2%}"
    )


def verdicts(
    ingests: Sequence[Ingest],
    spread: Sequence[Ingest],
    alone: tuple[Sequence[Times], Sequence[Times]],
    seconds: float,
) -> list[tuple[str, bool | None]]:
    """Return the aims of speed: a line each, and whether it is met; None for further
    rows.

    `spread` are the first of `ingests` once more, with a core for each thread; `alone`
    is the library alone, on one core and so.
    """
    three = ingests[2]
    about = (
        f"{AIM_MS:g} MS/s on one core, {three.name}, three floats and SYNC, all steps: "
        f"{three.whole_ms:.1f}"
    )
    result: list[tuple[str, bool | None]] = [(about, three.whole_ms >= AIM_MS)]
    for item, wide in zip(ingests, spread, strict=False):
        first_ms = item.samples / item.cpu_s("merge, write") / 1e6
        result += [
            (
                (
                    f"{AIM_MS:g} MS/s on one core, {item.name}, two floats and SYNC,"
                    f" all steps: {item.whole_ms:.1f}"
                ),
                item.whole_ms >= AIM_MS,
            ),
            (
                (
                    f"  without integrals: {first_ms:.1f}; of the rig's thread alone,"
                    f" all steps: {item.own_ms:.1f}"
                ),
                None,
            ),
            (f"  time that passes, a core for each: {wide.wall_ms:.1f}", None),
        ]
    narrow_ms = seconds * TICK_HZ / median(times.cpu for times in alone[0]) / 1e6
    wide_ms = seconds * TICK_HZ / median(times.wall for times in alone[1]) / 1e6
    result += [
        (
            (
                "  the trace library alone, three floats and SYNC, on one core:"
                f" {narrow_ms:.1f}"
            ),
            None,
        ),
        (f"  time that passes, a core for each of its threads: {wide_ms:.1f}", None),
    ]
    for item, wide in zip(ingests, spread, strict=False):
        ratios = (
            f"{item.whole_ms / narrow_ms:.2f}; a core for each thread:"
            f" {wide.wall_ms / wide_ms:.2f}"
        )
        result.append(
            (
                f"  {item.name}, all steps, times these rates, on one core: {ratios}",
                None,
            )
        )
    for item in ingests[:2]:
        share = item.whole_s / item.seconds
        result.append(
            (
                (
                    f"under {AIM_SHARE:.0%} of a core at full rate, {item.name}, all"
                    f" steps: {share:.1%}"
                ),
                share < AIM_SHARE,
            )
        )
    return result


def main() -> int:
    """Print the tables; exit code 1 when an aim is not met: speed, samples lost or
    late, memory that grows.
    """
    options = argparse.ArgumentParser(
        description="speed of the energy monitors, on simulated data"
    )
    options.add_argument(
        "--quick",
        action="store_true",
        help="seconds: one round of little data, Joulescopes only in real time",
    )
    options.add_argument(
        "--hour",
        action="store_true",
        help="memory over one simulated hour: 61 GB of disk, some minutes",
    )
    asked = options.parse_args()
    # To open a trace takes the library some 60 ms (a queue of 64 MiB), however long it
    # becomes.
    seconds = 2.0 if asked.quick else 60.0
    slow_s = 2.0 if asked.quick else 20.0
    rounds = 1 if asked.quick else 5
    print(
        "Ingest of prepared blocks, simulated; CPU time of the process on one core,"
        " medians of rounds\n"
    )
    with one_core():
        ingests = [joulescope(model, seconds, rounds) for model in ("js220", "js110")]
        ingests.append(joulescope("js110", seconds, rounds, power_too=True))
        ingests += [
            powershield("ascii_dec", 5_000, 3 * slow_s, rounds),
            powershield("bin_hexa", 100_000, slow_s, rounds),
        ]
        three = three_floats(seconds, rounds)
    alone = three, three_floats(seconds, rounds)
    spread = [joulescope(model, seconds, rounds) for model in ("js220", "js110")]
    ingests.append(keysight(2.0 if asked.quick else 120.0))
    show_ingests(ingests)
    print(
        "  N6705: CPU time of the driver's own threads, beside the simulated instrument"
        " in virtual time\n"
    )
    print(
        "Loops over single samples in Python, as the runner of mlcommons/tiny has them"
        f" at {peer.REVISION[:7]}, on the same data"
    )
    for name, rate_hz, item in peers(ingests):
        ratio = item.samples / item.whole_s / rate_hz
        first = item.samples / item.cpu_s(next(iter(item.rounds[0]))) / rate_hz
        print(f"  {name:<46} {rate_hz / 1e6:>5.2f} MS/s of CPU")
        print(
            f"    this rig, {item.name}: {first:.3g} times as many to the trace on"
            f" disk, {ratio:.3g} times with all steps"
        )
    print(
        "  The loops keep one sum a millisecond (JS220), or 5000 values a second"
        " (LPM01A), in memory; the rig all on disk.\n"
    )
    print("In real time; driver, library and simulator in CPU time per second")
    kept = live.shown(
        live.table(1.0 if asked.quick else 10.0, all_kinds=not asked.quick)
    )
    print("\nMemory", flush=True)
    minutes = "60" if asked.hour else "0.1" if asked.quick else "5"
    command = [sys.executable, "-m", "benchmarks.memory", minutes]
    constant = not subprocess.run(command, check=False).returncode
    print("\nAims")
    aims = [
        *verdicts(ingests, spread, alone, seconds),
        ("no sample lost or late in real time, also beside a busy thread", kept),
    ]
    aims.append((f"constant memory over {minutes} simulated minutes", constant))
    return concluded(aims)


def concluded(aims: Sequence[tuple[str, bool | None]]) -> int:
    """Print what became of each aim; return the exit code, 1 where one is not met."""
    for text, met in aims:
        print(f"  {'' if met is None else 'met' if met else 'NOT met':<8} {text}")
    return int(any(met is False for _, met in aims))


if __name__ == "__main__":
    sys.exit(main())
