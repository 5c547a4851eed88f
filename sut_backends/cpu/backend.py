# SPDX-License-Identifier: Apache-2.0
"""This computer's processor as a system under test: the conventional baseline, a task's own program
in a process of its own.

There is no SYNC wire: the marks are stamped with CLOCK_MONOTONIC, by which the processor's energy
counters are read as well.
"""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

from annotated_types import Ge, Unit, doc

from rig.errors import BenchError, ConfigError, LocalProtocolError, SutError
from rig.interfaces.context import BenchContext
from rig.interfaces.cpu_program import Program
from rig.interfaces.sut import SutInfo
from rig.model.completion import DECIDED, END, IDLE, SYNC, Completion, Mark
from rig.model.pace import Pace
from rig.model.steps import Idle, Load, Query, Solve, Step, Stream, Sync
from rig.settings.declare import Count, Number, Or
from rig.stop import pause
from sut_backends.cpu.imagined_sync_wire import ImaginedWire
from sut_backends.cpu.process import CpuProcess
from sut_backends.cpu.worker import THRESHOLDS_MAX
from sut_backends.hosted.sync_wire import Power
from sut_backends.uart.slots import Slots

_LOAD_S = 20.0
#: A burst: count, period, and multiples of the period after each pulse (docs/PROTOCOL.md section
#: 4).
_PULSES = 8
_PERIOD_S = 0.002003
_PATTERN = (1, 2, 1, 4)
_REFUSED = 1
_FAILED = 2


class CpuSut:
    """A task's program on this computer's processor."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The program, where it runs, and what a simulated monitor sees of it."""

        program: Annotated[str, doc("Which of the task's programs; empty: its first.")] = ""
        core: Annotated[
            Number,
            Or(-1, "wherever the scheduler puts it"),
            Ge(0),
            doc("Core of the CPU that it runs on."),
        ] = -1
        threads: Annotated[Count, Ge(1), doc("Threads of the numerical library.")] = 1
        slots: Annotated[Count, Ge(1), doc("Samples that are kept.")] = 64
        sync_hold_us: Annotated[
            int,
            Ge(1),
            Unit("us"),
            doc("Length of an imagined SYNC pulse; marks of a search or stream lie two apart."),
        ] = 50
        power_w: Annotated[Power, doc("What a simulated monitor sees drawn.")] = field(
            default_factory=Power
        )

    def __init__(
        self,
        settings: Settings,
        name: str,
        program: Program,
        process: CpuProcess,
        wire: ImaginedWire,
    ) -> None:
        self._process, self._wire, self._slots = process, wire, Slots(settings.slots)
        self._closed = False
        about = process.about
        self._apart_ns = 2000 * settings.sync_hold_us
        details = about | {
            "pinned": settings.core >= 0,
            "threads": settings.threads,
            "governor": _governor(about["cores"]),
            "garbage_collector": "off inside a query or a stream",
            "program": name,
            "knows_thresholds": about["searches"],
            "entry": program.entry,
            "simulated_power_w": dataclasses.asdict(settings.power_w),
        }
        self._info = SutInfo(
            name=f"{_processor()}, {name}",
            kind="cpu",
            simulated=False,
            tick_hz=1_000_000_000,
            task=program.task,
            model=program.model,
            firmware=f"{program.entry}, {about['python']}, numpy {about['numpy']}",
            link="pipe",
            slots=settings.slots,
            batch_max=settings.slots if about["phases"] else 0,
            streams=bool(about["phases"]),
            solves=about["searches"],
            thresholds_max=THRESHOLDS_MAX if about["searches"] else 0,
            has_sync_line=False,
            sync_hold_s=settings.sync_hold_us * 1e-6,
            clock="CLOCK_MONOTONIC",
            details=details,
        )

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Return False: this host is the device."""
        return False

    @staticmethod
    def pace(settings: Settings) -> Pace:
        """Return that there is no line, and that only the program knows what a query takes."""
        return Pace(wired=False)

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Start the program; ConfigError where the task has none of that name or the core does not
        exist.
        """
        _refuse_core(settings)
        name = settings.program or next(iter(context.programs), "")
        if name not in context.programs:
            raise ConfigError(
                f"this task has no program {name!r} for a CPU"
                if name
                else "this task has no program for a CPU",
                path="sut.cpu.program",
                try_next=f"one of {', '.join(context.programs)}"
                if context.programs
                else "another task, or another SUT",
            )
        context.state.program = name
        process = CpuProcess(context.programs[name], settings.core, settings.threads)
        wire = ImaginedWire(context.world, settings.power_w, settings.sync_hold_us * 1000)
        return cls(settings, name, context.programs[name], process, wire)

    @property
    def info(self) -> SutInfo:
        """Return what the processor and its program are."""
        return self._info

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step with the program, in its own process."""
        match step:
            case Load():
                return self._load(step.index, payloads[0])
            case Idle():
                return self._idle(step.duration_s)
            case Sync():
                return self._sync()
            case Query():
                return self._run(step)
            case Solve():
                return self._solve(step)
            case Stream():
                return self._stream(step, payloads)
            case _:
                raise LocalProtocolError(
                    f"a program on a CPU cannot do a step of kind {step.kind!r}"
                )

    def _load(self, index: int, payload: bytes) -> Completion:
        """Hand the payload to the process, which converts it to what its program wants, untimed."""
        slot = self._slots.take(index)
        _good(self._process.ask({"op": "load", "slot": slot}, payload, _LOAD_S))
        self._slots.keep(slot, index)
        return Completion(())

    def _idle(self, duration_s: float) -> Completion:
        """Wait; the process waits for its next request, the program and its data in memory."""
        start = self._wire.pulse(IDLE)
        pause(duration_s)
        return Completion((start, self._wire.pulse(END)), iterations=0)

    def _sync(self) -> Completion:
        """Stamp a burst of marks, of which only simulated monitors see pulses."""
        marks = []
        for pulse in range(_PULSES):
            marks.append(self._wire.pulse(SYNC))
            pause(_PERIOD_S * _PATTERN[pulse % len(_PATTERN)])
        return Completion(tuple(marks), iterations=0)

    def _run(self, query: Query) -> Completion:
        """Run each phase over the samples of the query, `repeat` times; of a batch all phases of
        each sample, `repeat` rounds.
        """
        if not self._process.about["phases"]:
            raise LocalProtocolError(
                "this program searches, and has no phases to run",
                try_next="[scenario.optimization]",
            )
        slots = [self._slots.find(index) for index in query.indices]
        with self._wire.busy():
            request = {"op": "run", "slots": slots, "repeat": query.repeat, "batch": query.batch}
            told, output = _good(self._process.ask(request, b"", query.limit_s))
            marks = tuple(Mark(phase, tick) for phase, tick in told["marks"])
            self._wire.tell(marks)
        return Completion(marks, output, iterations=query.repeat * len(slots))

    def _solve(self, step: Solve) -> Completion:
        """Search until the target is met or the time is over, as the program can: a sampler may
        overrun its time-out.
        """
        if not self._info.solves:
            raise LocalProtocolError(
                "this program runs phases, and does not search", try_next="[scenario.single_stream]"
            )
        if len(step.thresholds) > THRESHOLDS_MAX:
            raise LocalProtocolError(
                f"{len(step.thresholds)} thresholds in one search, {THRESHOLDS_MAX} can be marked"
            )
        order = {
            "seed": step.seed,
            "timeout_ns": round(1e9 * step.timeout_s),
            "target": step.target,
            "thresholds": step.thresholds,
            "apart_ns": self._apart_ns,
        }
        request = {"op": "solve", "slot": self._slots.find(step.index), "order": order}
        with self._wire.busy():
            told, output = _good(self._process.ask(request, b"", step.timeout_s + step.limit_s))
            marks = tuple(Mark(phase, tick) for phase, tick in told["marks"])
            self._wire.tell(marks)
        return Completion(marks, output, iterations=1, known=tuple(told["known"]))

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream by CLOCK_MONOTONIC; windows for which there are no slots go over the pipe
        while it plays.

        What was loaded before is gone then.
        """
        sizes_b = [len(window) for window in windows]
        self._refuse_stream(step, sizes_b)
        count = self._info.slots
        self._slots = Slots(self._info.slots)
        for slot, window in enumerate(windows[:count]):
            _good(self._process.ask({"op": "load", "slot": slot}, window, _LOAD_S))
        signal = {
            "sizes_b": sizes_b,
            "slots": count,
            "hop": step.hop,
            "window": step.window,
            "sample_hz": step.sample_hz,
            "apart_ns": self._apart_ns,
        }
        rest = (windows[number] for number in range(count, len(windows)))
        limit_s = (len(windows) * step.hop + step.window) / step.sample_hz + step.limit_s
        with self._wire.busy():
            told, output = _good(
                self._process.feed({"op": "stream", "signal": signal}, rest, limit_s)
            )
            marks = tuple(Mark(phase, tick) for phase, tick in told["marks"])
            self._wire.tell(marks)
        answered = sum(mark.phase == DECIDED for mark in marks)
        return Completion(marks, output, iterations=answered, faults=tuple(told["faults"]))

    def _refuse_stream(self, step: Stream, sizes_b: Sequence[int]) -> None:
        slots = self._info.slots
        count = len(sizes_b)
        if not self._info.streams:
            raise LocalProtocolError(
                "this program searches, and listens to no stream",
                try_next="[scenario.optimization]",
            )
        if not count or 0 in sizes_b:
            raise LocalProtocolError("a stream needs windows, of a byte or more each")
        if step.preloaded and count > slots:
            raise LocalProtocolError(
                f"a preloaded stream of {count} windows, {slots} slots",
                try_next="sut.cpu.slots, a shorter stream, a longer hop, or one that is not "
                "preloaded",
            )
        if slots < 2 <= count:
            raise LocalProtocolError(
                "with one slot no window is taken in while another is played",
                try_next="sut.cpu.slots = 2 or more",
            )

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self._process.close()
            self._wire.close()


def _good(answer: tuple[dict[str, Any], bytes]) -> tuple[dict[str, Any], bytes]:
    if "error" in answer[0]:
        refused = answer[0]["refused"]
        raise SutError(
            "the program refuses this" if refused else "the program failed",
            code=_REFUSED if refused else _FAILED,
            evidence=answer[0]["error"],
        )
    return answer


def _refuse_core(settings: CpuSut.Settings) -> None:
    if settings.core < 0:
        return
    if not hasattr(os, "sched_getaffinity"):
        raise BenchError(
            "this operating system does not pin a process to a core", try_next="sut.cpu.core = -1"
        )
    allowed = sorted(os.sched_getaffinity(0))
    if settings.core not in allowed:
        raise ConfigError(
            f"core {settings.core} is not ours to use",
            path="sut.cpu.core",
            try_next=f"one of {allowed}, or -1",
        )


def _processor() -> str:
    """Return the processor's name as Linux reports it, else the machine's kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _governor(cores: list[int]) -> str:
    """Return what decides the frequency of the first core; "not readable" where the kernel does not
    report it.
    """
    path = Path(f"/sys/devices/system/cpu/cpu{cores[0] if cores else 0}/cpufreq/scaling_governor")
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return "not readable"
