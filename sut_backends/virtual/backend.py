# SPDX-License-Identifier: Apache-2.0
"""A virtual system under test: no program runs, virtual time passes, and its true
values are known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Self, TypeAlias

from rig.errors import (
    ConfigError,
    DeadlineError,
    DeviceNotFound,
    LocalProtocolError,
    SutError,
)
from rig.interfaces.context import BenchContext
from rig.interfaces.plugin_classes import Backend
from rig.interfaces.sut import SutInfo
from rig.model.completion import (
    BATCH,
    DECIDED,
    END,
    IDLE,
    REACHED,
    STREAM,
    SYNC,
    Completion,
    Mark,
)
from rig.model.steps import Idle, Load, Query, Solve, Step, Stream, Sync
from rig.simulation.world import NS_PER_S
from sut_backends.virtual.search import VirtualSearch
from sut_backends.virtual.settings import PhaseModel, VirtualSutSettings
from sut_backends.virtual.stream import WindowLink

#: Multiples of the SYNC period after each pulse: docs/reference/PROTOCOL.md section 4.
_PATTERN = (1, 2, 1, 4)
#: Time from the end of a step to the device's answer.
_AFTER_S = 0.001
#: So long after its start a search draws another power for the first time.
_REDRAW_S = 1e-3
#: docs/reference/PROTOCOL.md, OPTIMIZE; and the answer of a device without room for a
#: payload.
THRESHOLDS_MAX = 16
TOO_LARGE = 4
_ANSWERS_KEPT = 1024
#: Windows of a stream that are answered together: hardly longer than a stop may wait.
_AHEAD = 16


class VirtualSut(Backend):
    """A device that only exists in virtual time, with phases of known length and power;
    simulated.
    """

    Settings: TypeAlias = VirtualSutSettings

    def __init__(self, settings: Settings, context: BenchContext) -> None:
        answers = (context.reference, context.listening, context.searcher)
        if all(answer is None for answer in answers):
            raise ConfigError(
                "this task has no reference answers, so a virtual device cannot run it",
                path="sut.virtual",
            )
        self._settings = settings
        self._world = context.world
        # Trials may repeat the same payloads, and a reference may take its time.
        self._reference = lru_cache(_ANSWERS_KEPT)(context.reference or _none)
        self._listening = context.listening
        self._expect = context.expect
        self._searcher = context.searcher
        # A task without a front end has the second phase alone.
        one = len(context.phases) == 1
        self._timed = (
            (settings.infer,) if one else (settings.preprocess, settings.infer)
        )
        self._random = random.Random(f"virtual-sut-{context.seed}")
        self._loaded: dict[int, bytes] = {}
        self._free_ns = 0
        streams = context.reference is not None or context.listening is not None
        self._info = _info(
            settings,
            streams,
            context.searcher is not None,
            stateful=context.listening is not None,
        )
        self._rest_until_ns(self._world.now_ns())

    @staticmethod
    def simulates(settings: Settings) -> bool:
        """Return True: there is no device."""
        return True

    @staticmethod
    def restated(settings: Settings, info: SutInfo) -> SutInfo:
        """Return the device's description by its settings; the task decides whether it
        streams or searches."""
        stateful = info.details.get("stateful") is True
        return _info(settings, info.streams, info.solves, stateful=stateful)

    @staticmethod
    def answers(settings: Settings, right: bytes) -> tuple[bytes, ...]:
        """Return the right output, and the wrong one where some are to be wrong."""
        return (right, _wrong(right)) if settings.error_rate else (right,)

    @staticmethod
    def step_s(settings: Settings) -> dict[str, float]:
        """Return the mean times that the settings give it, in virtual time."""
        periods = sum(
            _PATTERN[pulse % len(_PATTERN)] for pulse in range(settings.sync_count)
        )
        sync_s = periods * settings.sync_period_us * 1e-6
        query_s = settings.preprocess.duration_s + settings.infer.duration_s
        return {Sync.kind: sync_s, Load.kind: settings.load_s, Query.kind: query_s}

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Put the device on the bench; raise DeviceNotFound where its supply does not
        reach it."""
        if context.world.supply_cut:
            raise DeviceNotFound(
                "the virtual device is silent",
                evidence="its supply is switched on and does not reach it",
                try_next="the supply's wires; rig probe looks at each",
            )
        return cls(settings, context)

    @property
    def info(self) -> SutInfo:
        """Description of the device."""
        return self._info

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Do a step in virtual time."""
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
                    f"a virtual device cannot do a step of kind {step.kind!r}"
                )

    def _load(self, index: int, payload: bytes) -> Completion:
        """Keep the payload, in place of the one that was used least recently where
        there is no slot left; takes load_s.
        """
        slot_b = self._settings.slot_b
        if slot_b and len(payload) > slot_b:
            raise SutError(
                f"sample {index} has {len(payload)} bytes, the device takes {slot_b}",
                code=TOO_LARGE,
            )
        self._loaded.pop(index, None)
        while len(self._loaded) >= self._settings.slots:
            del self._loaded[next(iter(self._loaded))]
        self._loaded[index] = payload
        self._world.advance(round(self._settings.load_s * NS_PER_S))
        return Completion(())

    def _idle(self, duration_s: float) -> Completion:
        """Let the idle time pass."""
        idle_w = self._settings.idle_w
        begin = self._mark(IDLE, idle_w, duration_s)
        end = self._mark(END, idle_w, _AFTER_S)
        return Completion((begin, end), iterations=0)

    def _sync(self) -> Completion:
        """Give a burst of pulses."""
        settings = self._settings
        marks = []
        for pulse in range(settings.sync_count):
            period_us = settings.sync_period_us * _PATTERN[pulse % len(_PATTERN)]
            marks.append(self._mark(SYNC, settings.idle_w, period_us * 1e-6))
        return Completion(tuple(marks), iterations=0)

    def _run(self, query: Query) -> Completion:
        """Go through the phases and answer as the task's reference does, or wrongly at
        the error rate.
        """
        missing = [index for index in query.indices if index not in self._loaded]
        if missing:
            raise LocalProtocolError(f"samples {missing} are queried but not loaded")
        for index in query.indices:
            self._loaded[index] = self._loaded.pop(index)
        began_ns = self._world.now_ns()
        marks, completed = self._batch(query) if query.batch else self._phases(query)
        took_s = (self._world.now_ns() - began_ns) / NS_PER_S
        marks.append(self._mark(END, self._settings.idle_w, _AFTER_S))
        if took_s > query.limit_s:
            raise DeadlineError(
                "end of the query",
                query.limit_s,
                evidence=f"the virtual device takes {took_s:.3g} s for it",
            )
        output = b"".join(self._answer(self._loaded[index]) for index in query.indices)
        return Completion(tuple(marks), output, iterations=completed)

    def _solve(self, step: Solve) -> Completion:
        """Search the loaded workload: the power changes now and then, SYNC falls where
        a threshold is known to be reached.
        """
        if self._searcher is None or step.index not in self._loaded:
            raise LocalProtocolError(
                f"workload {step.index} is searched but not loaded"
            )
        if len(step.thresholds) > THRESHOLDS_MAX:
            raise LocalProtocolError(
                f"{len(step.thresholds)} thresholds in one search, {THRESHOLDS_MAX} can"
                " be marked"
            )
        settings = self._settings
        model = self._settings.solve
        began_ns = self._world.now_ns()
        search = VirtualSearch(
            model, self._searcher(self._loaded[step.index], step.seed), step
        )
        marks = [self._pulse(1, self._drawn_w())]
        reported = -1
        redraw_s = _REDRAW_S
        known: list[int] = []
        for look in search.looks():
            # The device looks by its own clock; its work takes the same time by the
            # true one.
            look_ns = began_ns + round(
                look.elapsed_s * NS_PER_S / (1 + settings.clock_ppm * 1e-6)
            )
            self._world.advance(max(look_ns - self._world.now_ns(), 0))
            if look.reached > reported:
                known += [self._tick(look_ns)] * (look.reached - reported)
                reported = look.reached
                marks.append(self._pulse(REACHED + reported, self._drawn_w()))
            elif look.elapsed_s >= redraw_s and self._world.now_ns() >= self._free_ns:
                self._put(self._world.now_ns(), True, self._drawn_w())
                redraw_s = 2 * look.elapsed_s
        took_s = (self._world.now_ns() - began_ns) / NS_PER_S
        self._world.advance(max(self._free_ns - self._world.now_ns(), 0))
        marks.append(self._mark(END, settings.idle_w, _AFTER_S))
        if took_s > step.timeout_s + step.limit_s:
            awaited_s = step.timeout_s + step.limit_s
            raise DeadlineError(
                "end of the search",
                awaited_s,
                evidence=f"the virtual device takes {took_s:.3g} s for it",
            )
        known_ticks = tuple(known) if model.tells_ticks else None
        return Completion(
            tuple(marks), search.answer(), iterations=1, known=known_ticks
        )

    def _pulse(self, phase: int, power_w: float) -> Mark:
        """Drop SYNC as soon as the pulse before is over and SYNC was high as long; no
        time passes for this one.
        """
        self._world.advance(max(self._free_ns - self._world.now_ns(), 0))
        now_ns = self._world.now_ns()
        hold_ns = self._settings.sync_hold_us * 1000
        self._put(now_ns, False, power_w)
        self._put(now_ns + hold_ns, True, power_w)
        self._free_ns = now_ns + 2 * hold_ns
        return Mark(phase, self._tick(now_ns))

    def _drawn_w(self) -> float:
        model = self._settings.solve
        return model.power_w * max(1.0 + self._random.gauss(0.0, model.variation), 0.1)

    def _stream(self, step: Stream, windows: Sequence[bytes]) -> Completion:
        """Answer for each window when its last sample is there, as long as the link and
        the phases keep pace.
        """
        settings = self._settings
        if step.preloaded and len(windows) > settings.slots:
            raise LocalProtocolError(
                f"{len(windows)} windows are preloaded, the device holds"
                f" {settings.slots}"
            )
        load_ns = round(settings.load_s * NS_PER_S)
        self._loaded = {}
        self._world.advance(load_ns * min(len(windows), settings.slots))
        marks = [self._mark(STREAM, settings.idle_w, 0.0)]
        answers = []
        end = ""
        began = marks[0].tick
        link = WindowLink(load_ns, settings.slots, self._world.now_ns())
        right = self._right(windows)

        def ticks(samples: int) -> int:
            return samples * settings.tick_hz // step.sample_hz

        for number in range(len(windows)):
            ready = number * step.hop + step.window
            wanted_ns = self._at(began + ticks(ready - step.hop))
            ready_ns = self._at(began + ticks(ready))
            if link.there_ns(number, wanted_ns) > ready_ns:
                end = (
                    f"window {number} was not there when it was ready, and the stream"
                    " ended"
                )
            self._world.advance(max(ready_ns - self._world.now_ns(), 0))
            after = number + settings.slots
            last = ticks(after * step.hop + step.window)
            if (
                not end
                and after < len(windows)
                and self._tick(self._world.now_ns()) >= began + last
            ):
                end = (
                    f"window {number} was begun when window {after} was ready already,"
                    " and the stream ended"
                )
            if end:
                break
            marks += self._hop()
            link.decided_ns.append(self._world.now_ns())
            answers.append(self._perhaps_wrong(next(right)))
        marks.append(self._mark(END, settings.idle_w, _AFTER_S))
        output = b"".join(answers)
        return Completion(
            tuple(marks),
            output,
            iterations=len(answers),
            faults=link.faults(end),
        )

    def _right(self, windows: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the task's answers to a stream's windows, computed some at a time."""
        listen = self._listening() if self._listening else None
        for first in range(0, len(windows), _AHEAD):
            ahead = windows[first : first + _AHEAD]
            if listen is not None:
                yield from listen(ahead)
                continue
            if self._expect is not None:
                self._expect(ahead)
            yield from map(self._reference, ahead)

    def _hop(self) -> list[Mark]:
        marks = []
        for number, phase in enumerate(self._timed, start=1):
            power_w = phase.power_w * self._vary(phase)
            marks.append(self._mark(number, power_w, self._takes_s(phase)))
        return [*marks, self._mark(DECIDED, self._settings.idle_w, 0.0)]

    def _phases(self, query: Query) -> tuple[list[Mark], int]:
        marks = []
        completed = 0
        for number, phase in enumerate(self._timed, start=1):
            pace = self._settings.drift.duration_at(self._world.now_ns())
            durations_s = []
            for _ in range(query.repeat * len(query.indices)):
                durations_s.append(phase.duration_s * self._vary(phase) * pace)
            power_w = phase.power_w * self._vary(phase)
            marks.append(self._mark(number, power_w, sum(durations_s)))
            completed = len(durations_s)
        return marks, completed

    def _batch(self, query: Query) -> tuple[list[Mark], int]:
        """Go through all phases sample by sample: the power changes with each, SYNC
        stays as it is.
        """
        settings = self._settings
        completed = 0
        marks = [self._mark(BATCH, settings.idle_w, 0.0)]
        for _ in range(query.repeat * len(query.indices)):
            for phase in self._timed:
                self._put(self._world.now_ns(), True, phase.power_w * self._vary(phase))
                self._world.advance(round(self._takes_s(phase) * NS_PER_S))
            completed += 1
        return marks, completed

    def close(self) -> None:
        """Take the device off the bench."""
        self._loaded = {}

    def _answer(self, payload: bytes) -> bytes:
        return self._perhaps_wrong(self._reference(payload))

    def _perhaps_wrong(self, right: bytes) -> bytes:
        if self._random.random() >= self._settings.error_rate:
            return right
        return _wrong(right)

    def _vary(self, phase: PhaseModel) -> float:
        return max(1.0 + self._random.gauss(0.0, phase.variation), 0.1)

    def _takes_s(self, phase: PhaseModel) -> float:
        """Draw the duration of a phase."""
        pace = self._settings.drift.duration_at(self._world.now_ns())
        return phase.duration_s * self._vary(phase) * pace

    def _mark(self, phase: int, power_w: float, duration_s: float) -> Mark:
        """Drop SYNC now, draw `power_w` from here on, let `duration_s` pass; the pulse
        is over well before that.
        """
        now_ns = self._world.now_ns()
        hold_ns = self._settings.sync_hold_us * 1000
        self._put(now_ns, False, power_w)
        self._put(now_ns + hold_ns, True, power_w)
        self._world.advance(max(round(duration_s * NS_PER_S), 2 * hold_ns))
        return Mark(phase, self._tick(now_ns))

    def _put(self, time_ns: int, level: bool, power_w: float) -> None:
        """Draw so much power from a time on, and what drift adds to it."""
        self._world.put(
            time_ns, level, power_w * self._settings.drift.power_at(time_ns)
        )

    def _tick(self, now_ns: int) -> int:
        settings = self._settings
        elapsed = int(
            now_ns * settings.tick_hz * (1 + settings.clock_ppm * 1e-6) / NS_PER_S
        )
        return settings.clock_offset_ticks + elapsed

    def _at(self, tick: int) -> int:
        """Return the world's time at which the device's timer comes to `tick`."""
        settings = self._settings
        ticks = tick - settings.clock_offset_ticks
        tick_hz = settings.tick_hz * (1 + settings.clock_ppm * 1e-6)
        now_ns = math.floor(ticks * NS_PER_S / tick_hz)
        while self._tick(now_ns) < tick:
            now_ns += 1
        return now_ns

    def _rest_until_ns(self, now_ns: int) -> None:
        self._put(now_ns, True, self._settings.idle_w)


def _wrong(right: bytes) -> bytes:
    turned = right[4:] + right[:4]
    # An output of one number, or of equal ones, is the same when it is turned.
    return turned if turned != right else bytes(255 - byte for byte in right)


def _info(
    settings: VirtualSutSettings, streams: bool, solves: bool, *, stateful: bool
) -> SutInfo:
    wrong = f", {settings.error_rate:g} of them wrong" if settings.error_rate else ""
    return SutInfo(
        name="virtual device",
        kind="virtual",
        simulated=True,
        tick_hz=settings.tick_hz,
        task="any",
        slots=settings.slots,
        batch_max=settings.slots,
        streams=streams,
        solves=solves,
        thresholds_max=THRESHOLDS_MAX if solves else 0,
        slot_bytes=settings.slot_b,
        sync_hold_s=settings.sync_hold_us / 1e6,
        details={
            "clock_ppm": settings.clock_ppm,
            "knows_thresholds": settings.solve.tells_ticks,
            "answers": f"the task's own{wrong}",
        }
        | ({"stateful": True} if stateful else {}),
    )


def _none(payload: bytes) -> bytes:
    raise LocalProtocolError(
        "this task's samples are searched, not queried",
        try_next="[scenario.optimization]",
    )
