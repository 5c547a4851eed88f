# SPDX-License-Identifier: Apache-2.0
"""The drivers on their simulators in real time: what of the samples arrives, and what
of a core that takes, per thread.

Run it: `python -m benchmarks.live [SECONDS | --quick]`; 10 s for each row by default.
Linux only. Beside "busy", another Python thread never rests, as a GUI at its worst. The
simulators run in the same Python: one that the busy thread starves is late itself, and
the driver of a JS110 takes lateness that lasts for lost samples. So its busy row has
prepared blocks, handed over on time, and that of an LPM01A with 100 000 samples a
second a simulator in a process of its own, with a steady DUT. "late" is how much longer
than asked it took until all was on disk, the start of the recording included: one that
lags loses no sample here, where simulators wait, but on a desk.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.streams import PULSE_S, JoulescopeStreams
from drivers.joulescope.driver import Joulescope
from drivers.joulescope.link import DriverLink
from drivers.joulescope.recording import BlockPace, JoulescopeRecording, streams
from drivers.joulescope.sim.simulator import JoulescopeSimulatorSettings
from drivers.keysight_n6705.driver import KeysightN6705
from drivers.st_lpm01a.driver import StLpm01a
from rig.interfaces.context import BenchContext
from rig.simulation.world import NS_PER_S
from rig.trace.trace import Trace
from rig.trace.writer import TraceWriter

#: The threads of the drivers; a thread that is not Python's and began after the driver
#: is the trace library's.
_OWN = ("joulescope", "LPM01A", "keysight n6705 log")
_HORIZON_NS = NS_PER_S // 10
#: 30 mA at 3.3 V: an LPM01A ends a recording beyond 50 mA.
_HIGH_W = 0.1
#: The power of the DUT of a simulator in a process of its own.
_STEADY_W = 0.033
#: To start, to wait for the last block and to close the file take up to a second,
#: however long the recording is.
_LATE_S = 1.5
_LATE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """What one recording gave; CPU time in seconds per second."""

    name: str
    busy: bool
    asked_s: float
    samples: int
    gaps: int
    lost: int
    edges: str
    energy: str
    late_s: float
    rig: float
    library: float
    simulator: float

    @property
    def good(self) -> bool:
        """Return whether no sample was lost, or so late that it might be."""
        result, _, reported = self.edges.partition("/")
        return (
            not self.gaps
            and not self.lost
            and result == (reported or result)
            and self.late_s < _LATE_S + _LATE_SHARE * self.asked_s
        )


def table(seconds: float, all_kinds: bool = True) -> Iterator[Row]:
    """Yield a row for each instrument, alone and beside a busy thread; without
    `all_kinds` the Joulescopes beside it.
    """
    js110 = {
        "device": "simulator",
        "simulator": JoulescopeSimulatorSettings(model="js110"),
    }
    binary = {
        "port": "simulator",
        "format": "bin_hexa",
        "sample_hz": 100_000,
        "events": False,
    }
    for busy in (False, True) if all_kinds else (True,):
        yield _simulated(
            "JS220, simulated", Joulescope, {"device": "simulator"}, seconds, busy
        )
        yield (
            _prepared(seconds)
            if busy
            else _simulated("JS110, simulated", Joulescope, js110, seconds, busy)
        )
        if all_kinds:
            yield _simulated(
                "LPM01A ascii_dec, simulated",
                StLpm01a,
                {"port": "simulator"},
                seconds,
                busy,
            )
            yield (
                _apart(seconds, binary)
                if busy
                else _simulated(
                    "LPM01A bin_hexa, simulated", StLpm01a, binary, seconds, busy
                )
            )
            yield _simulated(
                "N6705, simulated",
                KeysightN6705,
                {"resource": "simulator"},
                seconds,
                busy,
            )


def shown(rows: Iterator[Row]) -> bool:
    """Print the table as its rows come; return whether no sample was lost."""
    print(
        f"{'instrument':<28} {'beside':<6} {'samples':>10} {'gaps':>4} {'lost':>4}"
        f" {'edges':>9} {'energy':>8} {'late':>6} {'driver':>7} {'library':>7}"
        f" {'together':>8} {'simulator':>9}"
    )
    good = True
    for row in rows:
        good = good and row.good
        print(
            f"{row.name:<28} {'busy' if row.busy else 'idle':<6} {row.samples:>10}"
            f" {row.gaps:>4} {row.lost:>4} {row.edges:>9} {row.energy:>8}"
            f" {row.late_s:>4.1f} s {row.rig:>7.2%} {row.library:>7.2%}"
            f" {row.rig + row.library:>8.2%} {row.simulator:>9.2%}"
        )
    return good


def _simulated(
    name: str, kind: Any, settings: dict[str, Any], seconds: float, busy: bool
) -> Row:
    bench = BenchContext()
    before = threads_s()
    world = bench.world
    began_ns = time.monotonic_ns()
    world.follow(
        lambda: time.monotonic_ns() - began_ns,
        lambda: time.monotonic_ns() - began_ns - _HORIZON_NS,
    )
    monitor = kind.open(kind.Settings(**settings), bench)
    falls: list[int] = []
    try:
        monitor.power(True)
        with tempfile.TemporaryDirectory() as folder, _busy(busy):
            asked_s = time.monotonic() + seconds
            with monitor.record(Path(folder)) as recording, used(before) as cpu:
                until_s = time.monotonic() + seconds
                while time.monotonic() < until_s:
                    _put(bench, True, 0.02, PULSE_S * 0.9)
                    falls.append(world.now_ns())
                    _put(bench, False, _HIGH_W, PULSE_S * 0.1)
                _put(bench, True, 0.02, PULSE_S * 0.9)
                recording.check()
            late_s = time.monotonic() - asked_s
            trace = Trace.open(Path(folder) / "trace.jls")
            edges = energy = "-"
            if monitor.info.sync != "none":
                edges = f"{len(trace.falls_s)}/{len(falls)}"
                true_j = world.true_energy_j(falls[0], falls[-1])
                seen_j = trace.energy_j(
                    float(trace.falls_s[0]), float(trace.falls_s[-1])
                )
                energy = f"{seen_j / true_j - 1:+.3%}"
    finally:
        monitor.close()
    return _row(
        name, busy, seconds, late_s, trace=trace, edges=edges, energy=energy, cpu=cpu
    )


def _put(bench: BenchContext, level: bool, power_w: float, duration_s: float) -> None:
    bench.world.put(bench.world.now_ns(), level, power_w)
    time.sleep(duration_s)


def _apart(seconds: float, settings: dict[str, Any]) -> Row:
    code = (
        "import sys; from benchmarks.simulated_lpm01a import serve; serve(sys.stdout)"
    )
    before = threads_s()
    with (
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
        ) as board,
        _ended(board),
    ):
        assert board.stdout is not None
        port = board.stdout.readline().split()[1]
        monitor = StLpm01a.open(
            StLpm01a.Settings(**settings | {"port": port}), BenchContext()
        )
        try:
            monitor.power(True)
            with tempfile.TemporaryDirectory() as folder, _busy(True):
                first_s = sum(threads_s(board.pid).values())
                asked_s = time.monotonic() + seconds
                with monitor.record(Path(folder)) as recording, used(before) as cpu:
                    time.sleep(seconds)
                    recording.check()
                late_s = time.monotonic() - asked_s
                cpu.simulator = sum(threads_s(board.pid).values()) - first_s
                trace = Trace.open(Path(folder) / "trace.jls")
                true_j = _STEADY_W * trace.duration_s
                energy = f"{trace.energy_j(0.0, trace.duration_s) / true_j - 1:+.3%}"
        finally:
            monitor.close()
    return _row(
        "LPM01A bin_hexa, apart",
        True,
        seconds,
        late_s,
        trace=trace,
        edges="-",
        energy=energy,
        cpu=cpu,
    )


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()


def _prepared(seconds: float) -> Row:
    prepared = JoulescopeStreams.prepare("js110")
    before = threads_s()
    source = _PreparedDriver(prepared, seconds)
    pace = BlockPace(
        lambda duration_ns: time.sleep(duration_ns / NS_PER_S),
        time.monotonic_ns,
        drains=False,
    )
    with tempfile.TemporaryDirectory() as name, _busy(True):
        folder = Path(name)

        def writer() -> TraceWriter:
            return TraceWriter(
                folder,
                sample_hz=prepared.sample_hz,
                edge_hz=2e6,
                source="prepared",
                serial="",
                about={},
            )

        link = DriverLink(source, "u/js110/prepared")
        recording = JoulescopeRecording(
            link,
            streams(0),
            writer,
            1,
            pace=pace,
            start_ns=NS_PER_S // 100,
            watch_loss=True,
            folder=folder,
        )
        asked_s = time.monotonic() + seconds
        with recording, used(before) as cpu:
            source.done.wait(seconds + 5)
            recording.check()
        late_s = time.monotonic() - asked_s
        trace = Trace.open(folder / "trace.jls")
        whole_j = trace.energy_j(0.0, trace.duration_s)
        energy = f"{whole_j / prepared.energy_j(seconds) - 1:+.3%}"
    return _row(
        "JS110, prepared blocks",
        True,
        seconds,
        late_s,
        trace=trace,
        edges=f"{len(trace.falls_s)}/{round(seconds / PULSE_S)}",
        energy=energy,
        cpu=cpu,
    )


class _PreparedDriver:
    """The part of pyjoulescope_driver.Driver that a recording needs, handing over each
    block at the time of its last sample.
    """

    def __init__(self, prepared: JoulescopeStreams, seconds: float) -> None:
        self._prepared = prepared
        self._seconds = seconds
        self._receivers: dict[str, Callable[[str, Any], None]] = {}
        self._values: dict[str, Any] = {}
        self._thread = threading.Thread(
            target=self._deliver, name="simulated joulescope, prepared"
        )
        self.done = threading.Event()

    def subscribe(
        self,
        topic: str,
        flags: Any,
        fn: Callable[[str, Any], None],
        timeout: float | None = None,
    ) -> None:
        self._receivers[topic] = fn

    def unsubscribe(
        self, topic: str, fn: Callable[[str, Any], None], timeout: float | None = None
    ) -> None:
        self._thread.join()

    def publish(self, topic: str, value: Any, timeout: float | None = None) -> None:
        self._values[topic] = value
        if value and len(self._receivers) == sum(
            bool(item) for item in self._values.values()
        ):
            self._thread.start()

    def query(self, topic: str, timeout: float | None = None) -> Any:
        return self._values[topic]

    def _deliver(self) -> None:
        topics = {
            topic.split("/!")[0].removeprefix("u/js110/prepared/"): topic
            for topic in self._receivers
        }
        names = {signal: topics[topic] for signal, topic in streams(0).items()}
        began_s = time.monotonic()
        for signal, block in self._prepared.blocks(self._seconds):
            size = len(block["data"]) * (
                8 if signal == "sync" else block["decimate_factor"]
            )
            due_s = began_s + (block["sample_id"] + size) / block["sample_rate"]
            if (left_s := due_s - time.monotonic()) > 0:
                time.sleep(left_s)
            self._receivers[names[signal]](names[signal], block)
        self.done.set()


@contextmanager
def _busy(busy: bool) -> Iterator[None]:
    """Let another thread compute in Python all the time."""
    stop = threading.Event()

    def work() -> None:
        count = 0
        while not stop.is_set():
            for number in range(1000):
                count += number

    thread = threading.Thread(target=work, name="busy")
    if busy:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if busy:
            thread.join()


@dataclass(slots=True)
class Used:
    """CPU time of this process while something ran, by whose threads used it, and how
    long that took; all in seconds.

    `ended`: of all threads that ended meanwhile.
    """

    rig: float = 0.0
    library: float = 0.0
    simulator: float = 0.0
    ended: float = 0.0
    elapsed: float = 0.0


@contextmanager
def used(before: Mapping[int, float]) -> Iterator[Used]:
    """Yield what will hold the times; `before` are the threads that ran before the
    driver was opened.
    """
    result = Used()
    first = threads_s()
    began = (time.process_time(), time.monotonic())
    yield result
    result.ended, result.elapsed = (
        time.process_time() - began[0],
        time.monotonic() - began[1],
    )
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    for number, cpu_s in threads_s().items():
        name = names.get(number, "")
        cpu_s = cpu_s - first.get(number, 0.0)
        result.ended -= cpu_s
        if name in _OWN:
            result.rig += cpu_s
        elif "simulat" in name:
            result.simulator += cpu_s
        elif not name and number not in before:
            result.library += cpu_s


def threads_s(process: int | str = "self") -> dict[int, float]:
    """Return the CPU time of each thread of a process, also of those that Python does
    not know."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    result = {}
    for task in tasks:
        with suppress(OSError):  # a thread may end while its neighbours are being read
            result[int(task.name)] = (
                int((task / "schedstat").read_text().split()[0]) / NS_PER_S
            )
    return result


def _row(
    name: str,
    busy: bool,
    asked_s: float,
    late_s: float,
    trace: Trace,
    edges: str,
    energy: str,
    cpu: Used,
) -> Row:
    lost = sum(gap.stop - gap.start for gap in trace.gaps)
    shares = (item / cpu.elapsed for item in (cpu.rig, cpu.library, cpu.simulator))
    return Row(
        name,
        busy,
        asked_s,
        trace.length,
        len(trace.gaps),
        lost,
        edges,
        energy,
        late_s,
        *shares,
    )


def main() -> int:
    """Print the table; return the exit code: 1 where a sample was lost or late."""
    parser = argparse.ArgumentParser(description="drivers on simulators in real time")
    parser.add_argument("seconds", type=float, nargs="?", default=10.0)
    parser.add_argument("--quick", action="store_true", help="one second, fewer rows")
    options = parser.parse_args()
    seconds = 1.0 if options.quick else options.seconds
    return 0 if shown(table(seconds, all_kinds=not options.quick)) else 1


if __name__ == "__main__":
    sys.exit(main())
