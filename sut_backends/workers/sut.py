# SPDX-License-Identifier: Apache-2.0
"""A SUT whose steps a worker does: one forwarder for every kind of step.

There is no SYNC wire: the marks are stamped with CLOCK_MONOTONIC in the worker, by
which counters of this computer are read as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rig.errors import LocalProtocolError, SutError
from rig.host.pseudo_terminal import refuse_windows
from rig.host.stop import pause
from rig.interfaces.context import BenchContext
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.sut import HOST_CLOCK, SutInfo
from rig.model.completion import DECIDED, END, IDLE, SYNC, Completion, Mark
from rig.model.need import Need
from rig.model.steps import Idle, Load, Query, Solve, Step, Stream, Sync
from rig.simulation.world import NS_PER_S
from sut_backends.uart.slots import SlotMap
from sut_backends.workers.imagined_sync_wire import ImaginedWire
from sut_backends.workers.inside.protocol import (
    Done,
    LoadRequest,
    Refusal,
    RunRequest,
    SolveRequest,
    StreamRequest,
)
from sut_backends.workers.inside.search import THRESHOLDS_MAX, Order
from sut_backends.workers.inside.stream import Signal
from sut_backends.workers.process import Worker
from sut_backends.workers.settings import WireSettings

_LOAD_S = 20.0
#: A burst: count, period, and multiples of the period after each pulse
#: (docs/reference/PROTOCOL.md section 4).
_PULSES = 8
_PERIOD_S = 0.002003
_PATTERN = (1, 2, 1, 4)
_REFUSED = 1
_FAILED = 2


class WorkerSut(Backend):
    """A program in a worker, as a system under test; `info` describes it."""

    def __init__(
        self,
        info: SutInfo,
        worker: Worker,
        context: BenchContext,
        settings: WireSettings,
    ) -> None:
        """Complete `info`, whose firmware is the program's name, by the worker's."""
        hold_ns = settings.sync_hold_us * 1000
        about = worker.about
        firmware = f"{info.firmware}, {about.python}, numpy {about.numpy}"
        self._info = replace(
            info,
            firmware=firmware,
            link="pipe",
            slots=settings.slots,
            has_sync_line=False,
            sync_hold_s=settings.sync_hold_us * 1e-6,
            clock=HOST_CLOCK,
        )
        self._process = worker
        power_w = settings.power_w.of_task(context)
        self._wire = ImaginedWire(context.world, power_w, hold_ns)
        self._slots = SlotMap(settings.slots)
        self._closed = False
        self._apart_ns = 2 * hold_ns

    @classmethod
    def simulates(cls, settings: Any) -> bool:
        """Return False: the program runs on the device."""
        return False

    @classmethod
    def needs(cls, settings: Any, context: BenchContext) -> Sequence[Need]:
        """Raise ConfigError where there is no interpreter for the worker, and on
        Windows."""
        refuse_windows("a worker")
        cls.interpreter(settings, context)
        return ()

    @classmethod
    def interpreter(cls, settings: Any, context: BenchContext) -> str:
        """Return the interpreter of the worker, empty for the rig's own; ConfigError
        where there is none."""
        return ""

    @classmethod
    def restated(cls, settings: Any, info: SutInfo) -> SutInfo:
        """Return the clock that the ticks count: no setting chooses another one."""
        return replace(info, tick_hz=NS_PER_S, clock=HOST_CLOCK)

    @property
    def info(self) -> SutInfo:
        """Description of the processor and its program."""
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
        """Hand the payload to the process, which converts it to what its program wants,
        untimed."""
        slot = self._slots.take(index)
        _good(self._process.ask(LoadRequest(slot), payload, _LOAD_S))
        self._slots.keep(slot, index)
        return Completion(())

    def _idle(self, duration_s: float) -> Completion:
        """Wait; the process waits for its next request, the program and its data in
        memory."""
        start = self._wire.pulse(IDLE)
        pause(duration_s)
        return Completion((start, self._wire.pulse(END)), iterations=0)

    def _sync(self) -> Completion:
        """Stamp a burst of marks; only simulated monitors see pulses of them."""
        marks = []
        for pulse in range(_PULSES):
            marks.append(self._wire.pulse(SYNC))
            pause(_PERIOD_S * _PATTERN[pulse % len(_PATTERN)])
        return Completion(tuple(marks), iterations=0)

    def _run(self, query: Query) -> Completion:
        """Run each phase over the samples of the query, `repeat` times; of a batch all
        phases of each sample, `repeat` rounds.
        """
        if not self._process.about.phases:
            raise LocalProtocolError(
                "this program searches, and has no phases to run",
                try_next="[scenario.optimization]",
            )
        slots = [self._slots.find(index) for index in query.indices]
        with self._wire.busy():
            request = RunRequest(slots, query.repeat, query.batch)
            done, output = _good(self._process.ask(request, b"", query.limit_s))
            marks = tuple(Mark(phase, tick) for phase, tick in done.marks)
            self._wire.tell(marks)
        return Completion(marks, output, iterations=query.repeat * len(slots))

    def _solve(self, step: Solve) -> Completion:
        """Search until the target is met or the time is over, as the program can: a
        sampler may overrun its time-out.
        """
        if not self._info.solves:
            raise LocalProtocolError(
                "this program runs phases, and does not search",
                try_next="[scenario.single_stream]",
            )
        if len(step.thresholds) > THRESHOLDS_MAX:
            raise LocalProtocolError(
                f"{len(step.thresholds)} thresholds in one search, {THRESHOLDS_MAX} can"
                " be marked"
            )
        order = Order(
            seed=step.seed,
            timeout_ns=round(1e9 * step.timeout_s),
            target=step.target,
            thresholds=list(step.thresholds),
            apart_ns=self._apart_ns,
        )
        request = SolveRequest(self._slots.find(step.index), order)
        with self._wire.busy():
            done, output = _good(
                self._process.ask(request, b"", step.timeout_s + step.limit_s)
            )
            marks = tuple(Mark(phase, tick) for phase, tick in done.marks)
            self._wire.tell(marks)
        return Completion(marks, output, iterations=1, known=tuple(done.known))

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Play a stream by CLOCK_MONOTONIC; windows for which there are no slots go
        over the pipe while it plays.

        Earlier loads are lost then.
        """
        sizes_b = [len(window) for window in windows]
        self._refuse_stream(step, sizes_b)
        count = self._info.slots
        self._slots = SlotMap(self._info.slots)
        for slot, window in enumerate(windows[:count]):
            _good(self._process.ask(LoadRequest(slot), window, _LOAD_S))
        signal = Signal(
            sizes_b=sizes_b,
            slots=count,
            hop=step.hop,
            window=step.window,
            sample_hz=step.sample_hz,
            apart_ns=self._apart_ns,
        )
        rest = (windows[number] for number in range(count, len(windows)))
        limit_s = (
            len(windows) * step.hop + step.window
        ) / step.sample_hz + step.limit_s
        with self._wire.busy():
            done, output = _good(
                self._process.feed(StreamRequest(signal), rest, limit_s)
            )
            marks = tuple(Mark(phase, tick) for phase, tick in done.marks)
            self._wire.tell(marks)
        answered = sum(mark.phase == DECIDED for mark in marks)
        return Completion(marks, output, iterations=answered, faults=tuple(done.faults))

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
                try_next=(
                    f"slots = {count} or more, a shorter stream, a longer hop, or one"
                    " that is not preloaded"
                ),
            )
        if slots < 2 <= count:
            raise LocalProtocolError(
                "with one slot no window is taken in while another is played",
                try_next="slots = 2 or more",
            )

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self._process.close()
            self._wire.close()


def _good(answer: tuple[Done | Refusal, bytes]) -> tuple[Done, bytes]:
    done, output = answer
    if isinstance(done, Refusal):
        raise SutError(
            "the program refuses this" if done.refused else "the program failed",
            code=_REFUSED if done.refused else _FAILED,
            evidence=done.error,
        )
    return done, output
