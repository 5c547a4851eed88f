# SPDX-License-Identifier: Apache-2.0
"""Recovery of the trace that a killed process left."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyjls

from rig.arrays import Array
from rig.errors import DataError
from rig.files import foreign_files
from rig.host import processor_limit
from rig.trace import limited_child
from rig.trace.chunks import Chunks
from rig.trace.jls_file import (
    ABOUT,
    LENGTHS,
    jls_state,
    new_writer,
    user_data,
    utf8_name,
)

#: So much processor time a recovery may take for Python's start and its imports on a
#: small computer, and a second more for each so many bytes: with other work on two
#: processors the copy needs less than a twentieth of that.
_LIMIT_S = 10.0
_SLOW_B_PER_S = 5e6
#: How the folder of a copy that is not whole yet is named.
_UNFINISHED = "recovering-"
_BLOCK = 1 << 20
#: A chunk of a JLS file (jls/format.h): its tag, signal and length of payload; then the
#: payload and its CRC, in steps of 8 bytes.
_FIRST_B = 32
_HEADER = struct.Struct("<16xBxHI8x")
_HEADER_B = 32
_CRC_B = 4
_DATA = 0x22
#: The payload of a data chunk begins with the number of its first sample; the samples
#: follow after so many bytes.
_SAMPLES = struct.Struct("<q")
_SAMPLES_B = 16


class LateError(DataError):
    """Recovery that took too long by the clock; the trace may be sound."""


#: Called before a recovery with the file, and the longest time that it may take, in s.
Begun = Callable[[Path, float], None]


def recover(partial: Path, into: Path, begun: Begun | None = None) -> None:
    """Copy the trace that a killed process left into a new, readable file; raises
    DataError where no part of it is readable.

    Runs in a subprocess, and never on the original: the reader of an unclosed JLS file
    may crash, never end, or rewrite it. `begun` is called with the file and the longest
    time by the clock in s. The file gets its name when it is whole and on the disk: a
    recovery that is cut off itself leaves none, and is repeated.
    """
    _refuse_empty(partial)
    # Files of a recovery that was killed go first: a process of its that still
    # copies finds its folder no more.
    for stale in into.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(stale, ignore_errors=True)
    limit_s = _LIMIT_S + partial.stat().st_size / _SLOW_B_PER_S
    if begun is not None:
        begun(partial, processor_limit.wall_s(limit_s))
    folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=into.parent))
    try:
        _copied(partial, folder / into.name, limit_s)
        with (folder / into.name).open("rb+") as copy:
            os.fsync(copy.fileno())
        (folder / into.name).replace(into)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_empty(partial: Path) -> None:
    """Raise DataError for a file without one whole block of samples: the library may
    loop for ever on it."""
    is_jls, _ = jls_state(partial)
    if not is_jls:
        raise DataError(
            f"{partial} cannot be recovered", evidence="it does not begin as JLS does"
        )
    size_b = partial.stat().st_size
    with foreign_files.opened(partial) as stream:
        blocks = (at for tag, _, _, at in _stored(stream) if tag == _DATA)
        if all(at > size_b for at in blocks):
            raise DataError(
                f"{partial} holds no samples",
                evidence=(
                    f"its {size_b} bytes end before the first block of samples is whole"
                ),
            )


def _copied(partial: Path, into: Path, limit_s: float) -> None:
    code = (
        "import sys; from pathlib import Path; from rig.host import processor_limit;"
        " from rig.trace.recovery import copy_all;"
        " processor_limit.apply(float(sys.argv[1])); copy_all(*map(Path, sys.argv[2:]))"
    )
    arguments = ["-c", code, str(limit_s), str(partial), str(into)]
    try:
        done = limited_child.run(arguments, b"", limit_s)
    except subprocess.TimeoutExpired as error:
        raise LateError(
            f"{partial} was not recovered in time",
            evidence=f"the copy of it {processor_limit.late(limit_s)}",
            try_next="again when this computer has less to do",
        ) from error
    if processor_limit.is_used_up(done.returncode):
        raise DataError(
            f"{partial} cannot be recovered",
            evidence=f"the copy of it {processor_limit.used_up(limit_s)}",
        )
    if done.returncode:
        message = done.stderr.decode("utf-8", "backslashreplace")
        raise DataError(
            f"{partial} cannot be recovered",
            evidence=f"exit code {done.returncode}: {message[-200:]}",
        )


def copy_all(partial: Path, into: Path) -> None:
    """Copy a trace with the library, and the samples at its end that the library leaves
    out of the index (rig/trace/chunks.py)."""
    readable = _without_torn_header(partial, into)
    into.touch()  # with the account's own permissions; those of the library are closer
    # The copy may complain of the torn end although it is complete: what counts is that
    # the copy opens.
    with suppress(RuntimeError):
        pyjls.copy(utf8_name(Path(foreign_files.checked(readable))), utf8_name(into))
    with closing(pyjls.Reader(utf8_name(into))) as reader:
        signals = [signal for signal in reader.signals.values() if signal.signal_id]
        is_own = "sample_hz" in user_data(reader, ABOUT)
        # Such an end begins where a chunk of the index is full.
        doubtful = {
            signal.signal_id
            for signal in signals
            if signal.length and not signal.length % _chunks(signal).full
        }
        tails = _tails(
            into,
            {
                signal.signal_id: int(signal.length)
                for signal in signals
                if signal.signal_id in doubtful
            },
        )
        if not (is_own and tails):
            return
        whole = into.with_name(into.name + ".whole")
        _rewrite(reader, signals, tails, whole)
    whole.replace(into)


def _chunks(signal: Any) -> Chunks:
    return Chunks(
        signal.samples_per_data,
        signal.sample_decimate_factor,
        signal.entries_per_summary,
        signal.summary_decimate_factor,
    )


def _without_torn_header(partial: Path, into: Path) -> Path:
    """Return a file that ends with a whole header: `partial`, or a copy of it beside
    `into`. Where a file ends inside of one, pyjls 0.17 copies for ever.
    """
    with foreign_files.opened(partial) as stream:
        end = max((end for *_, end in _stored(stream)), default=_FIRST_B)
    if not end < partial.stat().st_size < end + _HEADER_B:
        return partial
    shorter = into.with_name(into.name + ".shorter")
    with foreign_files.opened(partial) as whole, shorter.open("wb") as copy:
        shutil.copyfileobj(whole, copy)
    os.truncate(shorter, end)
    return shorter


def _stored(stream: BinaryIO) -> Iterator[tuple[int, int, int, int]]:
    """Yield tag, signal, bytes of payload and end of each chunk of a file. The stream
    stands at the payload; the last chunk may end after the file."""
    at = _FIRST_B
    while True:
        stream.seek(at)
        head = stream.read(_HEADER_B)
        if len(head) < _HEADER_B:
            return
        tag, signal, length_b = _HEADER.unpack(head)
        at += _HEADER_B + (-(-(length_b + _CRC_B) // 8) * 8 if length_b else 0)
        yield tag, signal, length_b, at


def _tails(path: Path, lengths: dict[int, int]) -> dict[int, bytes]:
    """Return the samples of signals in a closed file that follow those of its index,
    packed as there."""
    tails: dict[int, bytes] = {}
    if not lengths:
        return tails
    with path.open("rb") as stream:
        for tag, signal, length_b, _ in _stored(stream):
            if tag != _DATA or signal not in lengths:
                continue
            content = stream.read(_SAMPLES_B)
            if _SAMPLES.unpack_from(content)[0] >= lengths[signal]:
                tail = stream.read(length_b - _SAMPLES_B)
                tails[signal] = tails.get(signal, b"") + tail
    return tails


@dataclass(frozen=True, slots=True)
class _StoredSignal:
    """A signal of a copied file: `indexed` samples that the index reaches, and a tail
    of samples that it does not reach. Eight levels of a digital line are one item.
    """

    number: int
    layout: Chunks
    is_packed: bool
    indexed: int
    tail: Array

    @classmethod
    def of(cls, signal: Any, tail: bytes) -> _StoredSignal:
        """Return the signal of a reader with the bytes of its tail."""
        is_packed = signal.data_type == pyjls.DataType.U1
        items = np.frombuffer(tail, np.uint8 if is_packed else np.float32).copy()
        length = int(signal.length)
        return cls(signal.signal_id, _chunks(signal), is_packed, length, items)

    @property
    def item(self) -> int:
        """Number of samples in an item of an array."""
        return 8 if self.is_packed else 1

    @property
    def length(self) -> int:
        """Number of samples."""
        return self.indexed + len(self.tail) * self.item

    def blocks(self, reader: Any) -> Iterator[Array]:
        """Yield all samples, and the padding that makes the index reach the last one:
        NaN, or the last level."""
        for at in range(0, self.indexed, _BLOCK):
            yield reader.fsr(self.number, at, min(_BLOCK, self.indexed - at))
        if len(self.tail):
            yield self.tail
        more = self.layout.indexed(self.length) - self.length
        if not more:
            return
        if not self.is_packed:
            yield np.full(more, np.nan, np.float32)
            return
        last = self.tail[-1:]
        if not len(last):
            last = reader.fsr(self.number, self.indexed - 8, 8)
        yield np.full(more // 8, 255 * int(last[0] >> 7), np.uint8)


def _rewrite(
    reader: Any, signals: list[Any], tails: dict[int, bytes], path: Path
) -> None:
    """Write all samples again, each signal so long that the index reaches its last
    one."""
    writer = new_writer(path)
    for source in reader.sources.values():
        if source.source_id:
            known = ("source_id", "name", "vendor", "model", "version", "serial_number")
            writer.source_def(**{name: getattr(source, name) for name in known})
    lengths = {}
    for signal in signals:
        stored = _StoredSignal.of(signal, tails.get(signal.signal_id, b""))
        writer.signal_def(
            signal_id=stored.number,
            source_id=signal.source_id,
            signal_type=pyjls.SignalType.FSR,
            data_type="u1" if stored.is_packed else "f32",
            sample_rate=signal.sample_rate,
            name=signal.name,
            units=signal.units,
            **stored.layout.definition(),
        )
        put = writer.fsr if stored.is_packed else writer.fsr_f32
        at = 0
        for block in stored.blocks(reader):
            put(stored.number, at, block)
            at += len(block) * stored.item
        lengths[str(stored.number)] = stored.length
    writer.user_data(ABOUT, json.dumps(user_data(reader, ABOUT)))
    writer.user_data(LENGTHS, json.dumps(lengths))
    writer.close()
