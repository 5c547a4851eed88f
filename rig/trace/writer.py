# SPDX-License-Identifier: Apache-2.0
"""Write a trace, block by block, as a driver of a monitor receives them. Conventions of
time: rig/trace/trace.py."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from rig.arrays import Float32s, Reals, Uint8s
from rig.errors import DataError, StorageFull, storage_error
from rig.files import typed
from rig.trace.analog_store import AnalogStore
from rig.trace.edges import Stamp
from rig.trace.gaps import unreadable as unreadable_runs
from rig.trace.jls_file import new_writer
from rig.trace.jls_signals import chunks, define_signal
from rig.trace.tap import Nowhere, Tapped, TraceForm, is_kept
from rig.trace.trace import (
    ABOUT,
    CURRENT,
    EDGES,
    GAPS,
    LENGTHS,
    PARTIAL,
    SAID,
    STAMPED,
    SYNC,
    SYNC_VOLTAGE,
    TRACE,
    VOLTAGE,
    Gap,
    reading,
)
from rig.trace.write_errors import WriteLog, completed
from rig.trace.write_room import RESERVE_B, translated, unwritten

_FILL = 1 << 20
#: Beside a thread that computes, another gets its turn only after this, and gives it
#: away in every call of the system or of NumPy. With Python's own 5 ms, a driver that
#: takes 100 000 samples a second in small pieces falls behind (benchmarks/live.py).
_TURN_S = 0.0005
_JLS_EPOCH_S = 1_514_764_800  # 2018-01-01T00:00:00Z; JLS counts 2**-30 s from there
#: The last chunk of a closed file: a header alone, with this tag at this byte
#: (jls/format.h).
_END_B = 32
_TAG_AT = 16
_TAG_END = 0xFF


class TraceWriter:
    """Write a trace into `folder`; the file has its final name only once it is closed
    properly.

    `sample_hz` is the rate of `analog`; `edge_hz` is what SYNC is known to
    (rig/interfaces/monitor.py), and for "digital" the rate of `sync`. `sync_kind` says
    where edges come from: "digital" (`sync`), "voltage" (`sync_voltage`), "stamps"
    (`stamp`), "none"; "start" is one stamp, with `about` saying how far two clocks may
    differ (`rate_limit_ppm`); "clock" is none, with `about` saying what CLOCK_MONOTONIC
    showed at the first sample (`start_monotonic_ns`). `began_s`: time.time() of the
    first sample, 0: now. `correct` makes currents of readings (A), by an instrument's
    calibration. A JLS file must not be opened while it is written, and an
    unclosed one can crash its reader (measured: 22 of 24 killed writers): hence the
    name ending in ".partial" until `close`, and for good where a write failed. Calls
    come from one thread. From the first one on, this process's threads take turns more
    often. Raises StorageFull and BenchError.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sample_hz: float,
        edge_hz: float,
        source: str,
        serial: str,
        about: dict[str, Any],
        sync_kind: str = "digital",
        began_s: float = 0.0,
        correct: Callable[[Reals], Reals] | None = None,
    ) -> None:
        self._correct = correct
        self.folder = folder
        self.sample_hz = sample_hz
        self.edge_hz = edge_hz
        self._require_room()
        if sys.getswitchinterval() > _TURN_S:
            sys.setswitchinterval(_TURN_S)
        self._began = int(((began_s or time.time()) - _JLS_EPOCH_S) * 2**30)
        self._sync_kind = sync_kind
        self._sync_at = 0
        self._sync_voltage_at = 0
        self._sync_rest: Uint8s = np.zeros(0, dtype=np.uint8)
        self._sync_last = np.uint8(1)
        self._unchecked_b = 0
        self._skipping = False
        self._said: dict[str, Any] = {}
        with ExitStack() as stack, translated(folder):
            self._log = WriteLog()
            stack.callback(self._log.end)
            self._gaps = stack.enter_context(
                (folder / GAPS).open("w", encoding="utf-8")
            )
            self._edges = None
            if sync_kind in STAMPED:
                self._edges = stack.enter_context(
                    (folder / EDGES).open("w", encoding="utf-8")
                )
            self._store = AnalogStore(folder, sample_hz, edge_hz, sync_kind)
            stack.callback(self._store.leave)
            self._kept = is_kept(folder)
            self._writer: Any = (
                new_writer(folder / PARTIAL) if self._kept else Nowhere()
            )
            with ExitStack() as unfinished:
                unfinished.callback(self._writer.close)
                self._define(source, serial, about)
                unfinished.pop_all()
            self._open = stack.pop_all()
        form = TraceForm(
            sample_hz=sample_hz,
            edge_hz=edge_hz,
            sync_kind=sync_kind,
            source=source,
            serial=serial,
            about=about,
        )
        self._show = Tapped(
            folder,
            form,
        )

    def _define(self, source: str, serial: str, about: dict[str, Any]) -> None:
        """Write the beginning of the file: its source, signals and facts."""
        writer = self._writer
        writer.source_def(
            source_id=1,
            name=source,
            vendor="",
            model=source,
            version="",
            serial_number=serial,
        )
        self._store.begin(writer, self._time_of)
        if self._sync_kind == "digital":
            define_signal(writer, SYNC, "sync", "u1", self.edge_hz)
        elif self._sync_kind == "voltage":
            define_signal(
                writer, SYNC_VOLTAGE, "sync voltage", "f32", self.sample_hz, units="V"
            )
        # JLS rates are whole numbers: what the rig computes with stands here, other
        # tools use the time stamps.
        rates = {
            "sample_hz": self.sample_hz,
            "edge_hz": self.edge_hz,
            "sync": self._sync_kind,
        }
        writer.user_data(ABOUT, json.dumps(rates | about | self._store.about))
        for signal, _ in self._rates():
            writer.utc(signal, 0, self._began)

    @property
    def samples(self) -> int:
        """Number of written analog samples."""
        return self._store.recorded

    def analog(
        self,
        current_a: Reals,
        voltage_v: Reals,
        *,
        unreadable: str = "the instrument gave no number",
    ) -> None:
        """Append samples of current and voltage, of equal length; samples that are not
        finite are noted as a gap, with its cause."""
        if not len(current_a):
            return
        if len(current_a) != len(voltage_v):
            raise ValueError(
                f"{len(current_a)} samples of current and {len(voltage_v)} of voltage"
            )
        self._spend(8 * len(current_a))
        if self._correct is not None:
            current_a = self._correct(current_a)
        current, voltage = (
            np.ascontiguousarray(block, dtype=np.float32)
            for block in (current_a, voltage_v)
        )
        self._note_unreadable(current, voltage, unreadable)
        self._store.add(current, voltage)
        self._show("analog", current, voltage)

    def sync(self, levels: Uint8s) -> None:
        """Append samples of the SYNC line, one 0 or 1 each."""
        if not len(levels):
            return
        self._sync_last = np.uint8(levels[-1])
        # JLS stores whole bytes: what does not fill one waits for the next call.
        joined = np.concatenate([self._sync_rest, levels.astype(np.uint8)])
        whole = len(joined) // 8 * 8
        self._sync_rest = joined[whole:]
        if whole:
            self._put_sync(np.packbits(joined[:whole], bitorder="little"))

    def sync_packed(self, levels: Uint8s) -> None:
        """Append samples of the SYNC line, eight to a byte, the first in the lowest
        bit."""
        if not len(levels):
            return
        if len(self._sync_rest):
            self.sync(np.unpackbits(levels, bitorder="little"))
            return
        self._sync_last = np.uint8(levels[-1] >> 7)
        self._put_sync(np.ascontiguousarray(levels, dtype=np.uint8))

    def sync_voltage(self, voltage_v: Reals) -> None:
        """Append samples of the voltage of the SYNC line, at the rate of `analog`."""
        if not len(voltage_v):
            return
        self._spend(4 * len(voltage_v))
        voltage = np.ascontiguousarray(voltage_v, dtype=np.float32)
        with translated(self.folder):
            self._writer.fsr_f32(SYNC_VOLTAGE, self._sync_voltage_at, voltage)
        if not self._skipping:
            self._show("sync_voltage", self._sync_voltage_at, voltage)
        self._sync_voltage_at += len(voltage)

    def stamp(self, at_s: float, fall: bool = True) -> None:
        """Append an edge that the instrument stamped itself, in seconds from the first
        sample."""
        if self._edges is None:
            raise ValueError("this trace was not opened for stamps")
        with translated(self.folder):
            self._edges.write(json.dumps(typed.to_json(Stamp(at_s, fall))) + "\n")
            self._edges.flush()
        self._show("stamp", at_s, fall)

    def skip(self, samples: int, cause: str) -> None:
        """Leave out analog samples that were lost, with all of SYNC over the same time,
        and note the gap; call it where both stand equal.

        The line keeps its last level, and an edge at the border of a gap is none: its
        time is not known.
        """
        self._note(Gap(self.samples, self.samples + samples, cause))
        self._skipping = True
        for at in range(0, samples, _FILL):
            count = min(_FILL, samples - at)
            lost = np.full(count, np.nan, dtype=np.float32)
            self._spend(8 * count)
            self._store.add(lost, lost)
            if self._sync_kind == "voltage":
                self.sync_voltage(lost)
        if self._sync_kind == "digital":
            missing = (
                round(self.samples * self.edge_hz / self.sample_hz)
                - self._sync_at
                - len(self._sync_rest)
            )
            for at in range(0, missing, _FILL):
                self.sync(
                    np.full(min(_FILL, missing - at), self._sync_last, dtype=np.uint8)
                )
        self._skipping = False
        self._show("skip", samples, cause)

    def gap(self, gap: Gap) -> None:
        """Note that samples are not to be trusted."""
        self._note(gap)
        self._show("gap", gap)

    def _note(self, gap: Gap) -> None:
        try:
            self._gaps.write(json.dumps(typed.to_json(gap)) + "\n")
            self._gaps.flush()
        except OSError as error:
            raise storage_error(error, self.folder) from error

    def said(self, **facts: Any) -> None:
        """Note facts that the instrument reports about itself; they are kept beside the
        trace (recording.json) when it is closed."""
        self._said |= facts

    def close(self) -> None:
        """Complete the file and give it its name; closing twice is allowed."""
        if self._writer is None:
            return
        writer = self._writer
        try:
            with translated(self.folder), completed(writer, self._log):
                self._complete(writer)
        finally:
            self._writer = None
            self._open.close()
        if not self._kept:
            return
        with translated(self.folder):
            if self._said:
                (self.folder / SAID).write_text(
                    json.dumps(self._said, indent=1) + "\n", encoding="utf-8"
                )
            self._require_written()
            self._require_whole()
            (self.folder / PARTIAL).rename(self.folder / TRACE)

    def _complete(self, writer: Any) -> None:
        if len(self._sync_rest):
            # The line keeps its last level: no edge can appear in the padding.
            self.sync(
                np.full(8 - len(self._sync_rest), self._sync_last, dtype=np.uint8)
            )
        self._show("end")
        self._said |= self._store.end()
        lengths = self._lengths()
        for signal, rate in self._rates():
            length = lengths[signal]
            if length:
                # Of current and voltage, samples may have been left out.
                last = self.samples if signal in (CURRENT, VOLTAGE) else length
                writer.utc(signal, length, self._time_of(last / rate))
            self._pad(writer, signal, rate, length)
        written = {str(signal): lengths[signal] for signal, _ in self._rates()}
        writer.user_data(LENGTHS, json.dumps(written | self._store.counted))

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _rates(self) -> list[tuple[int, float]]:
        digital = [(SYNC, self.edge_hz)]
        more = {
            "digital": digital,
            "voltage": [(SYNC_VOLTAGE, self.sample_hz)],
        }.get(self._sync_kind, [])
        return [*self._store.rates, *more]

    def _time_of(self, at_s: float) -> int:
        """Return a time of the recording as the file has it."""
        return self._began + round(at_s * 2**30)

    def _lengths(self) -> dict[int, int]:
        return self._store.lengths | {
            SYNC: self._sync_at,
            SYNC_VOLTAGE: self._sync_voltage_at,
        }

    def _pad(self, writer: Any, signal: int, rate_hz: float, length: int) -> None:
        """Make a signal so long that the index reaches its last sample: with no
        numbers, or the last level, which is no edge.
        """
        padded = chunks(signal, rate_hz).indexed(length)
        for at in range(length, padded, _FILL):
            count = min(_FILL, padded - at)
            if signal == SYNC:
                levels = np.full(count, self._sync_last, dtype=np.uint8)
                writer.fsr(signal, at, np.packbits(levels, bitorder="little"))
            else:
                writer.fsr_f32(signal, at, np.full(count, np.nan, dtype=np.float32))

    def _require_written(self) -> None:
        """Raise where the library's thread could not write: the next samples would
        follow missing ones.
        """
        if self._log.failed:
            raise unwritten(self.folder, self._log.failed, self._log.errno)

    def _require_whole(self) -> None:
        """Compare the closed file with the written lengths, also where no error was
        heard; without its end it must not even be opened.
        """
        path = self.folder / PARTIAL
        with path.open("rb") as stream:
            stream.seek(-_END_B, os.SEEK_END)
            if stream.read()[_TAG_AT] != _TAG_END:
                raise unwritten(self.folder, "the file lacks its end")
        try:
            with reading(path) as reader:
                lengths_read = {
                    signal.signal_id: int(signal.length)
                    for signal in reader.signals.values()
                }
        except DataError as error:
            raise unwritten(self.folder, error.evidence) from error
        for signal, _ in self._rates():
            # Ctrl-C may fall between a block's way into the file and its being counted:
            # more than that is no harm.
            if lengths_read.get(signal, 0) < self._lengths()[signal]:
                evidence = (
                    f"signal {signal} has {lengths_read.get(signal, 0)} samples in the"
                    f" file, {self._lengths()[signal]} were written"
                )
                raise unwritten(self.folder, evidence)

    def _put_sync(self, packed: Uint8s) -> None:
        with translated(self.folder):
            self._writer.fsr(SYNC, self._sync_at, packed)
        self._store.see(self._sync_at, packed)
        if not self._skipping:
            self._show("levels", self._sync_at, packed)
        self._sync_at += 8 * len(packed)

    def _note_unreadable(
        self, current: Float32s, voltage: Float32s, cause: str
    ) -> None:
        for start, stop in unreadable_runs(current, voltage).tolist():
            self._note(Gap(self.samples + start, self.samples + stop, cause))

    def _spend(self, size_b: int) -> None:
        self._require_written()
        self._unchecked_b += size_b
        if self._unchecked_b >= RESERVE_B // 8:
            self._unchecked_b = 0
            self._require_room()

    def _require_room(self) -> None:
        free_b = shutil.disk_usage(self.folder).free
        if free_b < RESERVE_B:
            raise StorageFull(
                f"the disk of {self.folder} is full",
                evidence=(
                    f"{free_b / 1e6:.0f} MB free, {RESERVE_B / 1e6:.0f} MB are kept to"
                    " close the files"
                ),
                try_next=(
                    "free some room, or another disk; what has been measured is kept"
                ),
            )
