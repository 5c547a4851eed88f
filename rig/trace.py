# SPDX-License-Identifier: Apache-2.0
"""Traces: current, voltage and SYNC over monitor time, file-backed (JLS v2), with exact energy between two instants.

Conventions. Analog sample k is the mean over [k, k + 1) / sample_hz. SYNC sample k is the level at k / edge_hz, so an edge first
seen at k happened at (k - 1/2) / edge_hz, give or take half a period. Time 0 is the first sample.
"""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyjls
from numpy.typing import NDArray

from rig.errors import BenchError, DataError, StorageFull

CURRENT, VOLTAGE, SYNC = 1, 2, 10
TRACE, PARTIAL, GAPS = "trace.jls", "trace.jls.partial", "gaps.jsonl"
#: Room that must stay free on the disk, so that what has been measured can still be closed properly.
RESERVE_B = 32 << 20
_CLOSING_B = 1 << 20
_BLOCK = 1 << 20
_RECOVERY_LIMIT_S = 600


@dataclass(frozen=True, slots=True)
class Gap:
    """Analog samples start <= k < stop are lost or not to be trusted."""

    start: int
    stop: int
    cause: str


class TraceWriter:
    """Write a trace into `folder`; the file has its final name only once it is closed properly.

    A JLS file must not be opened while it is written, and an unclosed one can crash its reader (measured: 22 of 24 killed writers):
    hence the name ending in ".partial" until `close`.
    """

    def __init__(self, folder: Path, *, sample_hz: int, edge_hz: int, source: str, serial: str, about: dict[str, Any]) -> None:
        self.folder = folder
        self._require_room()
        with _translated(folder):
            writer = pyjls.Writer(str(folder / PARTIAL))
            self._gaps = (folder / GAPS).open("w", encoding="utf-8")
        writer.source_def(source_id=1, name=source, vendor="", model=source, version="", serial_number=serial)
        for number, name, units in ((CURRENT, "current", "A"), (VOLTAGE, "voltage", "V")):
            writer.signal_def(
                signal_id=number,
                source_id=1,
                signal_type=pyjls.SignalType.FSR,
                data_type="f32",
                sample_rate=sample_hz,
                name=name,
                units=units,
            )
        # Smaller blocks than pyjls's 65 536: less of the SYNC line is lost with a killed process.
        writer.signal_def(
            signal_id=SYNC,
            source_id=1,
            signal_type=pyjls.SignalType.FSR,
            data_type="u1",
            sample_rate=edge_hz,
            name="sync",
            samples_per_data=8192,
        )
        writer.user_data(1, json.dumps(about))
        self._writer: Any = writer
        self._analog_at = 0
        self._sync_at = 0
        self._sync_rest: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._sync_last = np.uint8(1)
        self._unchecked_b = 0

    def analog(self, current_a: NDArray[np.float32], voltage_v: NDArray[np.float32]) -> None:
        """Append samples of current and voltage, of equal length."""
        if not len(current_a):
            return
        self._spend(8 * len(current_a))
        with _translated(self.folder):
            self._writer.fsr_f32(CURRENT, self._analog_at, np.ascontiguousarray(current_a, dtype=np.float32))
            self._writer.fsr_f32(VOLTAGE, self._analog_at, np.ascontiguousarray(voltage_v, dtype=np.float32))
        self._analog_at += len(current_a)

    def sync(self, levels: NDArray[np.uint8]) -> None:
        """Append samples of the SYNC line, one 0 or 1 each."""
        if not len(levels):
            return
        self._sync_last = levels[-1]
        # JLS stores whole bytes: what does not fill one waits for the next call.
        joined = np.concatenate([self._sync_rest, levels.astype(np.uint8)])
        whole = len(joined) // 8 * 8
        self._sync_rest = joined[whole:]
        if whole:
            with _translated(self.folder):
                self._writer.fsr(SYNC, self._sync_at, np.packbits(joined[:whole], bitorder="little"))
            self._sync_at += whole

    def gap(self, gap: Gap) -> None:
        """Note that samples are not to be trusted."""
        self._gaps.write(json.dumps({"start": gap.start, "stop": gap.stop, "cause": gap.cause}) + "\n")
        self._gaps.flush()

    def close(self) -> None:
        """Complete the file and give it its name; closing twice is allowed."""
        if self._writer is None:
            return
        if len(self._sync_rest):
            # The line keeps its last level: no edge can appear in the padding.
            self.sync(np.full(8 - len(self._sync_rest), self._sync_last, dtype=np.uint8))
        writer, self._writer = self._writer, None
        with _translated(self.folder):
            try:
                writer.close()
            finally:
                self._gaps.close()
            # The library does not say when its last blocks found no room: then the file keeps the name of one to be recovered.
            if shutil.disk_usage(self.folder).free < _CLOSING_B:
                raise StorageFull(
                    f"the disk of {self.folder} is full",
                    evidence=f"{PARTIAL} may lack its end",
                    try_next="free some room; rig check reads what is there",
                )
            (self.folder / PARTIAL).rename(self.folder / TRACE)

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _spend(self, size_b: int) -> None:
        self._unchecked_b += size_b
        if self._unchecked_b >= RESERVE_B // 8:
            self._unchecked_b = 0
            self._require_room()

    def _require_room(self) -> None:
        free_b = shutil.disk_usage(self.folder).free
        if free_b < RESERVE_B:
            raise StorageFull(
                f"the disk of {self.folder} is full",
                evidence=f"{free_b / 1e6:.0f} MB free, {RESERVE_B / 1e6:.0f} MB are kept to close the files",
                try_next="free some room, or --sessions on another disk; what has been measured is kept",
            )


@dataclass(frozen=True, slots=True)
class Trace:
    """A closed trace: its rates, its edges and its gaps; samples are read from the file when asked for."""

    path: Path
    sample_hz: int
    edge_hz: int
    length: int
    falls_s: NDArray[np.float64]
    rises_s: NDArray[np.float64]
    gaps: tuple[Gap, ...]

    @classmethod
    def open(cls, path: Path) -> Trace:
        """Open a trace that was closed properly; raises DataError for anything else."""
        try:
            reader = pyjls.Reader(str(path))
        except (RuntimeError, OSError) as error:
            raise DataError(f"{path} is not a readable trace", evidence=str(error)) from error
        try:
            signals = {signal.signal_id: signal for signal in reader.signals.values()}
            if not {CURRENT, VOLTAGE, SYNC} <= set(signals):
                raise DataError(f"{path} lacks a signal", evidence=f"it has {sorted(s.name for s in signals.values())}")
            edge_hz = int(signals[SYNC].sample_rate)
            falls, rises = _edges(reader, int(signals[SYNC].length))
            length = min(int(signals[CURRENT].length), int(signals[VOLTAGE].length))
        except RuntimeError as error:
            raise DataError(f"{path} cannot be read to its end", evidence=str(error)) from error
        finally:
            reader.close()
        return cls(
            path=path,
            sample_hz=int(signals[CURRENT].sample_rate),
            edge_hz=edge_hz,
            length=length,
            falls_s=(falls - 0.5) / edge_hz,
            rises_s=(rises - 0.5) / edge_hz,
            gaps=_gaps(path.with_name(GAPS)),
        )

    @property
    def duration_s(self) -> float:
        """Return the length of the trace."""
        return self.length / self.sample_hz

    def gap_between(self, start_s: float, stop_s: float) -> Gap | None:
        """Return the first gap that touches a window; samples outside the trace count as one."""
        start, stop = start_s * self.sample_hz, stop_s * self.sample_hz
        if start < 0 or stop > self.length:
            return Gap(int(start), int(stop), f"the window lies outside the trace of {self.length} samples")
        return next((gap for gap in self.gaps if gap.start < stop and gap.stop > start), None)

    def energies_j(self, windows: list[tuple[float, float]]) -> list[float]:
        """Return the energy between each pair of instants, in joules: current times voltage, the end samples by their fraction."""
        if not windows:
            return []
        reader = pyjls.Reader(str(self.path))
        try:
            return [self._energy_j(reader, start_s, stop_s) for start_s, stop_s in windows]
        except RuntimeError as error:
            raise DataError(f"{self.path} cannot be read to its end", evidence=str(error)) from error
        finally:
            reader.close()

    def energy_j(self, start_s: float, stop_s: float) -> float:
        """Return the energy between two instants, in joules."""
        return self.energies_j([(start_s, stop_s)])[0]

    def mean_w(self, start_s: float, stop_s: float) -> float:
        """Return the mean power between two instants, in watts."""
        return self.energy_j(start_s, stop_s) / (stop_s - start_s)

    def power_w(self, start_s: float, stop_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times (of the middle of each sample, s) and power (W) of the whole samples that touch a window."""
        first = max(int(np.floor(start_s * self.sample_hz)), 0)
        last = min(int(np.ceil(stop_s * self.sample_hz)), self.length)
        if last <= first:
            return np.zeros(0), np.zeros(0)
        reader = pyjls.Reader(str(self.path))
        try:
            power = np.concatenate(list(_power(reader, first, last)))
        finally:
            reader.close()
        return (np.arange(first, last) + 0.5) / self.sample_hz, power

    def _energy_j(self, reader: Any, start_s: float, stop_s: float) -> float:
        start, stop = start_s * self.sample_hz, stop_s * self.sample_hz
        if not 0 <= start <= stop <= self.length:
            raise DataError(
                f"the window {start_s:.6f} s to {stop_s:.6f} s lies outside the trace", evidence=f"{self.duration_s:.6f} s long"
            )
        first, last = int(np.floor(start)), int(np.ceil(stop))
        total, at = 0.0, first
        for power in _power(reader, first, last):
            # Samples first and last - 1 lie only partly inside: the parts outside are taken off, also where both are one sample.
            if at == first:
                total -= float(power[0]) * (start - first)
            at += len(power)
            if at == last:
                total -= float(power[-1]) * (last - stop)
            total += float(np.sum(power))
        return total / self.sample_hz


def recover(partial: Path, into: Path) -> None:
    """Copy what a killed process left of a trace into a new, readable file; raises DataError when nothing can be read.

    Runs in a subprocess, and never on the original: the reader of an unclosed JLS file may crash or rewrite it.
    """
    # The copy may complain of the torn end although it is complete: what counts is that the copy opens.
    tried = "try:\n    pyjls.copy(sys.argv[1], sys.argv[2])\nexcept RuntimeError:\n    pass\n"
    code = f"import sys, pyjls\n{tried}pyjls.Reader(sys.argv[2]).close()"
    command = [sys.executable, "-c", code, str(partial), str(into)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_RECOVERY_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise DataError(f"{partial} cannot be recovered", evidence=f"not done after {_RECOVERY_LIMIT_S} s") from error
    if done.returncode:
        raise DataError(f"{partial} cannot be recovered", evidence=f"exit code {done.returncode}: {done.stderr[-200:]}")


def storage_error(error: OSError, path: Path) -> BenchError:
    """Translate what the operating system says of a file or folder of ours."""
    evidence = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(
            f"the disk of {path} is full", evidence=evidence, try_next="free some room; what has been measured is kept"
        )
    return BenchError(
        f"{error.filename or path} cannot be written or read", evidence=evidence, try_next="another folder: --sessions"
    )


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Turn errors of the trace library, which are RuntimeErrors, into ours."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, folder) from error
    except RuntimeError as error:
        free_b = shutil.disk_usage(folder).free
        kind = StorageFull if free_b < RESERVE_B // 2 else BenchError
        raise kind(
            f"the trace in {folder} cannot be written", evidence=f"{error}; {free_b / 1e6:.0f} MB free on the disk"
        ) from error


def _power(reader: Any, first: int, last: int) -> Iterator[NDArray[np.float64]]:
    for at in range(first, last, _BLOCK):
        count = min(_BLOCK, last - at)
        current = reader.fsr(CURRENT, at, count).astype(np.float64)
        yield current * reader.fsr(VOLTAGE, at, count)


def _edges(reader: Any, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    falls, rises, previous = [], [], None
    for at in range(0, length, 8 * _BLOCK):
        count = min(8 * _BLOCK, length - at)
        bits = np.unpackbits(reader.fsr(SYNC, at, count), bitorder="little")[:count].view(np.int8)
        step = np.diff(bits, prepend=bits[0] if previous is None else previous)
        falls.append(np.flatnonzero(step < 0) + at)
        rises.append(np.flatnonzero(step > 0) + at)
        previous = bits[-1]
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([empty, *falls]), np.concatenate([empty, *rises])


def _gaps(path: Path) -> tuple[Gap, ...]:
    if not path.exists():
        return ()
    # A killed process may leave half a line at the end; anything else is damage.
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    try:
        return tuple(Gap(**json.loads(line)) for line in lines)
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} has a line of another form", evidence=str(error)) from error
