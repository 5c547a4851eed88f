# SPDX-License-Identifier: Apache-2.0
"""Meter: present readings of a monitor, their totals, and recordings that a trigger
begins."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import RigError
from rig.live.accumulated import Accumulated, Amounts
from rig.live.edges import VoltageEdges
from rig.live.meter_recorder import MeterRecorder
from rig.live.newest_second import NOW_S, PIECES, MeterPiece, MeterSpread, newest_second
from rig.trace.edges import LevelEdges
from rig.trace.gaps import Gap
from rig.trace.tap import TraceForm
from rig.uncertainty.accuracy import Accuracy

_Floats = NDArray[np.float32]
#: SYNC may be handed over so much later than the samples of the same time.
_LATE_S = 0.5


class TriggerKind(StrEnum):
    """Events that begin a recording."""

    NOW = "at once"
    RISES = "current rises through"
    FALLS = "current falls through"
    SYNC_FALLS = "SYNC falls"
    SYNC_RISES = "SYNC rises"


@dataclass(frozen=True, slots=True)
class Trigger:
    """The event that begins a recording, its level of the current, and the time before
    it that is recorded too."""

    kind: TriggerKind = TriggerKind.NOW
    level_a: float = 0.0
    before_s: float = 0.0

    @property
    def by_level(self) -> bool:
        """Whether a level of the current decides."""
        return self.kind in (TriggerKind.RISES, TriggerKind.FALLS)


class RecordState(StrEnum):
    """States of a recording."""

    OFF = "off"
    ARMED = "armed"
    RECORDING = "recording"
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class MeterReading:
    """Values that a meter shows: the newest second, totals since the start, and the
    present recording.

    `current`, `voltage` and `power` are None until there are samples. `newest_remark`
    says why an uncertainty of the newest second is not known.
    """

    current: MeterSpread | None
    voltage: MeterSpread | None
    power: MeterSpread | None
    newest_remark: str
    total: Amounts
    state: RecordState
    recorded: Amounts


class Meter:
    """A tap that keeps sums in place of samples; safe to ask and to command from any
    thread.

    A recording gets all samples from its trigger on, also those up to the trigger's
    `before_s` before it, as far as they came after the recording was asked for.
    """

    def __init__(self, accuracy: Accuracy) -> None:
        self._lock = threading.Lock()
        self._accuracy = accuracy
        self._form: TraceForm | None = None
        self._at = 0
        self._pieces: deque[MeterPiece] = deque(maxlen=PIECES + 1)
        self._total: Accumulated | None = None
        self._trigger = Trigger()
        self._folder = Path()
        self._state = RecordState.OFF
        self._last_a = np.nan
        self._held: deque[tuple[str, tuple[Any, ...]]] = deque()
        self._recorder: MeterRecorder | None = None
        self._ended_s = 0.0

    def begin(self, form: TraceForm) -> Meter:
        """Take a trace that begins; this is its tap."""
        with self._lock:
            self._form = form
            self._at = 0
            self._pieces.clear()
            self._total = Accumulated(form.sample_hz, self._accuracy)
            self._level_edges = LevelEdges(form.edge_hz)
            self._voltage_edges = VoltageEdges(form.sample_hz)
        return self

    def reading(self) -> MeterReading:
        """Return the values that the meter shows."""
        with self._lock:
            newest = newest_second(list(self._pieces), self._accuracy)
            total = self._total.amounts() if self._total is not None else Amounts()
            recorder = self._recorder
            recorded = recorder.total.amounts() if recorder is not None else Amounts()
            return MeterReading(
                current=newest.current,
                voltage=newest.voltage,
                power=newest.power,
                newest_remark=newest.remark,
                total=total,
                state=self._state,
                recorded=recorded,
            )

    def reset(self) -> Amounts:
        """Let energy, charge and time begin again from 0; return what they were. A
        recording goes on as it is.
        """
        with self._lock:
            if self._form is None or self._total is None:
                return Amounts()
            total = self._total
            self._total = Accumulated(self._form.sample_hz, self._accuracy)
        return total.amounts()

    def record(self, folder: Path, trigger: Trigger) -> None:
        """Record into a new folder as soon as the trigger says so; not beside another
        recording."""
        with self._lock:
            if self._state is RecordState.OFF:
                self._folder, self._trigger = folder, trigger
                self._last_a = np.nan
                self._held.clear()
                self._state = RecordState.ARMED

    def end_recording(self) -> None:
        """Let a recording end, or wait for its trigger no more."""
        with self._lock:
            if self._state is RecordState.ARMED:
                self._state = RecordState.OFF
                self._held.clear()
            elif self._state is RecordState.RECORDING:
                self._state = RecordState.ENDING
                self._ended_s = time.monotonic()

    def collect(self, at_once: bool = False) -> MeterRecorder | None:
        """Return a recording that has ended, for the caller to close: between two
        blocks, when all signals have come equally far; `at_once` without that wait.
        """
        with self._lock:
            recorder = self._recorder
            if recorder is None:
                return None
            waited = time.monotonic() - self._ended_s > _LATE_S
            due = recorder.error is not None or (
                self._state is RecordState.ENDING and waited
            )
            if not (due or at_once or self._state is RecordState.OFF):
                return None
            self._recorder = None
            self._state = RecordState.OFF
            return recorder

    # The tap

    def analog(self, current_a: _Floats, voltage_v: _Floats) -> None:
        """Take samples."""
        with self._lock:
            assert self._form is not None and self._total is not None
            if self._state is RecordState.ENDING:
                self._state = RecordState.OFF
            at = self._at
            self._at += len(current_a)
            self._total.add(current_a, voltage_v)
            self._take_pieces(current_a, voltage_v)
            self._pass("analog", at, current_a, voltage_v)
            if self._state is RecordState.ARMED:
                self._look(at, current_a)

    def levels(self, at: int, packed: NDArray[np.uint8]) -> None:
        """Take levels of SYNC."""
        if len(packed):
            with self._lock:
                self._pass("levels", at, packed)
                self._edges(*self._level_edges.feed(at, packed))

    def sync_voltage(self, at: int, voltage_v: _Floats) -> None:
        """Take voltages of SYNC."""
        with self._lock:
            self._pass("sync_voltage", at, voltage_v)
            self._edges(*self._voltage_edges.feed(at, voltage_v))

    def stamp(self, at_s: float, fall: bool) -> None:
        """Take one edge."""
        with self._lock:
            self._pass("stamp", at_s, fall)
            edge = np.array([at_s])
            self._edges(*((edge, edge[:0]) if fall else (edge[:0], edge)))

    def skip(self, samples: int, cause: str) -> None:
        """Count lost samples."""
        with self._lock:
            assert self._total is not None
            self._pass("skip", self._at, samples, cause)
            self._at += samples
            self._total.skip(samples)

    def gap(self, gap: Gap) -> None:
        """Count samples that are not to be trusted."""
        with self._lock:
            assert self._total is not None
            self._pass("gap", gap)
            self._total.distrust(gap.stop - gap.start)

    def end(self) -> None:
        """Leave the recording to the caller of `collect`."""

    def failed(self, error: Exception) -> None:
        """Keep an error of the meter itself, which measures no more."""
        self.error = error

    error: Exception | None = None

    def _pass(self, what: str, *words: Any) -> None:
        """Hand something on to the recording, or hold it until the trigger comes."""
        if self._state is RecordState.ARMED:
            copied = tuple(
                one.copy() if isinstance(one, np.ndarray) else one for one in words
            )
            self._held.append((what, copied))
            if what == "analog":
                self._forget()
        elif self._recorder is not None and self._state is not RecordState.OFF:
            self._write(what, words)

    def _write(self, what: str, words: tuple[Any, ...]) -> None:
        recorder = self._recorder
        if recorder is not None and recorder.error is None:
            try:
                getattr(recorder, what)(*words)
            except RigError as error:
                recorder.error = error

    def _forget(self) -> None:
        """Hold no more than may be wanted."""
        assert self._form is not None
        keep = (self._trigger.before_s + _LATE_S) * self._form.sample_hz
        while len(self._held) > 1:
            what, words = self._held[0]
            if what == "analog" and words[0] + len(words[1]) > self._at - keep:
                return
            self._held.popleft()

    def _look(self, at: int, current_a: _Floats) -> None:
        """Look for the trigger in samples that have just come."""
        trigger = self._trigger
        if trigger.kind is TriggerKind.NOW:
            self._start(at)
        elif trigger.by_level:
            joined = np.concatenate(
                [np.array([self._last_a], dtype=np.float32), current_a]
            )
            above = joined >= trigger.level_a
            known = np.isfinite(joined[:-1]) & np.isfinite(joined[1:])
            if trigger.kind is TriggerKind.RISES:
                crossed = above[1:] & ~above[:-1]
            else:
                crossed = above[:-1] & ~above[1:]
            places = np.flatnonzero(crossed & known)
            self._last_a = current_a[-1]
            if len(places):
                self._start(at + int(places[0]))

    def _edges(
        self, falls_s: NDArray[np.float64], rises_s: NDArray[np.float64]
    ) -> None:
        wanted_s = {TriggerKind.SYNC_FALLS: falls_s, TriggerKind.SYNC_RISES: rises_s}
        edges_s = wanted_s.get(self._trigger.kind)
        if self._state is RecordState.ARMED and edges_s is not None and len(edges_s):
            assert self._form is not None
            self._start(int(edges_s[0] * self._form.sample_hz))

    def _start(self, at: int) -> None:
        """Begin to record at a sample, or before it."""
        form = self._form
        assert form is not None
        first = at - round(self._trigger.before_s * form.sample_hz)
        starts = [words[0] for what, words in self._held if what == "analog"]
        first = max(first, min(starts, default=first), 0)
        self._state = RecordState.RECORDING
        try:
            began_s = time.time() - (self._at - first) / form.sample_hz
            self._recorder = MeterRecorder(
                self._folder, form, self._accuracy, first, began_s
            )
        except RigError as error:
            self._state = RecordState.OFF
            self._refused = error
        held, self._held = self._held, deque()
        for what, words in held:
            self._write(what, words)

    _refused: RigError | None = None

    def refused(self) -> RigError | None:
        """Return why the last recording could not begin, once."""
        with self._lock:
            error, self._refused = self._refused, None
            return error

    def _take_pieces(self, current_a: _Floats, voltage_v: _Floats) -> None:
        assert self._form is not None
        sample_hz = self._form.sample_hz
        size = max(round(sample_hz * NOW_S), 1)
        at = 0
        while at < len(current_a):
            if not self._pieces or self._pieces[-1].due <= 0:
                amounts = Accumulated(sample_hz, self._accuracy)
                self._pieces.append(MeterPiece(size, amounts))
            piece = self._pieces[-1]
            stop = min(at + piece.due, len(current_a))
            piece.add(current_a[at:stop], voltage_v[at:stop])
            at = stop
