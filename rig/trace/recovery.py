# SPDX-License-Identifier: Apache-2.0
"""Recovery of the trace that a killed process left."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyjls

from rig.errors import DataError
from rig.trace.chunks import Chunks
from rig.trace.jls_file import ABOUT, LENGTHS, user_data

_LIMIT_S = 600
#: How the folder of a copy that is not whole yet is named.
_UNFINISHED = "recovering-"
_BLOCK = 1 << 20
#: A chunk of a JLS file (jls/format.h): its tag, signal and length of payload; then the payload and
#: its CRC, in steps of 8 bytes.
_FIRST_B = 32
_HEADER = struct.Struct("<16xBxHI8x")
_HEADER_B = 32
_CRC_B = 4
_DATA = 0x22
#: The payload of a data chunk begins with the number of its first sample; the samples stand behind
#: so many bytes.
_SAMPLES = struct.Struct("<q")
_SAMPLES_B = 16


def recover(partial: Path, into: Path) -> None:
    """Copy what a killed process left of a trace into a new, readable file; raises DataError when
    nothing can be read.

    Runs in a subprocess, and never on the original: the reader of an unclosed JLS file may crash or
    rewrite it. The file has its name when it is whole and on the disk: a recovery that is cut off
    itself leaves none, and is done again.
    """
    # What is left of a recovery that was killed goes first: a process of its that still copies
    # finds its folder no more.
    for stale in into.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(stale, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=into.parent))
    try:
        _copied(partial, folder / into.name)
        with (folder / into.name).open("rb+") as copy:
            os.fsync(copy.fileno())
        (folder / into.name).replace(into)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(partial: Path, into: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rig.trace.recovery import copy_all; "
        "copy_all(*map(Path, sys.argv[1:]))"
    )
    command = [sys.executable, "-P", "-c", code, str(partial), str(into)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise DataError(
            f"{partial} cannot be recovered", evidence=f"not done after {_LIMIT_S} s"
        ) from error
    if done.returncode:
        raise DataError(
            f"{partial} cannot be recovered",
            evidence=f"exit code {done.returncode}: {done.stderr[-200:]}",
        )


def copy_all(partial: Path, into: Path) -> None:
    """Copy a trace with the library, and what the library's index then lacks at its end
    (rig/trace/chunks.py).
    """
    # The copy may complain of the torn end although it is complete: what counts is that the copy
    # opens.
    with suppress(RuntimeError):
        pyjls.copy(str(partial), str(into))
    with closing(pyjls.Reader(str(into))) as reader:
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


def _tails(path: Path, lengths: dict[int, int]) -> dict[int, bytes]:
    """Return the samples of signals that stand in a closed file behind those of its index, packed
    as there.
    """
    tails: dict[int, bytes] = {}
    if not lengths:
        return tails
    with path.open("rb") as stream:
        stream.seek(_FIRST_B)
        while len(head := stream.read(_HEADER_B)) == _HEADER_B:
            tag, signal, length_b = _HEADER.unpack(head)
            stored_b = -(-(length_b + _CRC_B) // 8) * 8 if length_b else 0
            content = stream.read(_SAMPLES_B) if tag == _DATA else b""
            if (
                content
                and signal in lengths
                and _SAMPLES.unpack_from(content)[0] >= lengths[signal]
            ):
                content += stream.read(length_b - _SAMPLES_B)
                tails[signal] = tails.get(signal, b"") + content[_SAMPLES_B:]
            stream.seek(stored_b - len(content), 1)
    return tails


def _rewrite(reader: Any, signals: list[Any], tails: dict[int, bytes], path: Path) -> None:
    """Write all samples again, each signal so long that the index reaches its last one."""
    writer = pyjls.Writer(str(path))
    for source in reader.sources.values():
        if source.source_id:
            known = ("source_id", "name", "vendor", "model", "version", "serial_number")
            writer.source_def(**{name: getattr(source, name) for name in known})
    lengths = {}
    for signal in signals:
        number = signal.signal_id
        layout = _chunks(signal)
        is_packed = signal.data_type == pyjls.DataType.U1
        length = int(signal.length)
        writer.signal_def(
            signal_id=number,
            source_id=signal.source_id,
            signal_type=pyjls.SignalType.FSR,
            data_type="u1" if is_packed else "f32",
            sample_rate=signal.sample_rate,
            name=signal.name,
            units=signal.units,
            **layout.definition(),
        )
        put = writer.fsr if is_packed else writer.fsr_f32
        for at in range(0, length, _BLOCK):
            put(number, at, reader.fsr(number, at, min(_BLOCK, length - at)))
        tail = np.frombuffer(tails.get(number, b""), np.uint8 if is_packed else np.float32).copy()
        if len(tail):
            put(number, length, tail)
        lengths[number] = length + len(tail) * (8 if is_packed else 1)
        more = layout.indexed(lengths[number]) - lengths[number]
        last = (
            0
            if not is_packed
            else 255 * int((tail[-1] if len(tail) else reader.fsr(number, length - 8, 8)[0]) >> 7)
        )
        if more:
            fill = (
                np.full(more // 8, last, np.uint8)
                if is_packed
                else np.full(more, np.nan, np.float32)
            )
            put(number, lengths[number], fill)
    writer.user_data(ABOUT, json.dumps(user_data(reader, ABOUT)))
    writer.user_data(
        LENGTHS, json.dumps({str(number): length for number, length in lengths.items()})
    )
    writer.close()
