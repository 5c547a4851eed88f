# SPDX-License-Identifier: Apache-2.0
"""Convert a JLS file of version 1, as the Joulescope software wrote it until 2022, into
a trace of the rig's own.

Source: joulescope/data_recorder.py. Such a file holds the raw samples of a JS110 with
its calibration ("raw"), or what was made of them or of a JS220's at a lower rate
("float32_v2"). Samples lie in blocks ABN, about a second of them in a collection whose
start, CLS, gives the range of the voltage; a first block MJS gives the rate, a last one
how many samples there are.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Array, Float32s, Uint8s
from rig.errors import ConfigError, DataError
from rig.importers import given_rate
from rig.importers.advice import Advice, NoSync, give
from rig.importers.conversion import Conversion
from rig.importers.digital_levels import BOTH, HIGH, LOW, UNKNOWN, DigitalLines
from rig.importers.joulescope import js110_raw
from rig.importers.joulescope.jls1_container import ContainerBlock, TaggedFile
from rig.importers.joulescope.js110_raw import Calibration, RawDecoder
from rig.importers.opened import Opened, require_rate
from rig.importers.options import Options
from rig.importers.tables.power_beside import PowerBeside
from rig.trace.gaps import Gap
from rig.trace.writer import TraceWriter

#: The lines that a file may carry; on a JS110 only where it was set to put its inputs
#: there, in the place of the lowest bits.
LINES = ("current_lsb", "voltage_lsb")
#: The file's numbers of the contents of its arrays.
_CURRENT = 0x01
_VOLTAGE = 0x11
_POWER = 0x21
_BITS = (0x41, 0x51)
_ARRAYS = struct.Struct("<4sIII")
_KINDS: dict[int, np.dtype[Any]] = {2: np.dtype("<f4"), 8: np.dtype("u1")}
_NAME_B = 128
_COLLECTION_B = 12
#: No form of the data has fewer bytes a sample.
_LEAST_B = 4
#: The share of a sample for which a line was high is given in 15ths. That of a JS110
#: was in 255ths, and its product with 15 was cut to a byte: this is the inverse of 15
#: modulo 256, which brings it back.
_FIFTEENTHS = 15
_INVERSE = 239
_WHAT = "current [A], voltage [V], power [W], current_lsb, voltage_lsb"


@dataclass(slots=True)
class _Recording:
    """State of reading a file."""

    name: str
    rate_hz: float = 0.0
    is_raw: bool = True
    known: Calibration | None = None
    decoder: RawDecoder | None = None
    voltage_range: int = 0
    samples: int = 0
    expected: int | None = None
    first_id: int | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Consecutive samples; `bits` are LOW, HIGH, BOTH or UNKNOWN, a column for each of
    LINES."""

    current: Float32s
    voltage: Float32s
    power: Float32s
    bits: NDArray[np.int8]


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert block by block; raises DataError that names the place of the damage, and
    ConfigError.
    """
    _check(options)
    recording = _Recording(path.name)
    digital = DigitalLines(LINES, options.sync)
    with path.open("rb") as stream:
        file = TaggedFile(stream, path.name)
        blocks = iter(file)
        _heading(blocks, recording)
        rate_hz = options.rate_hz or recording.rate_hz
        stated_hz = {"the file's sampling rate": recording.rate_hz}
        compared = given_rate.compared(path.name, options.rate_hz, stated_hz)
        recording.notes += compared.notes
        require_rate(path.name, rate_hz, path.stat().st_size // _LEAST_B)
        conversion = Conversion(
            name=path.name,
            scratch=scratch,
            sample_hz=rate_hz,
            source="Joulescope JS110" if recording.is_raw else "Joulescope",
            serial=recording.known.serial if recording.known else "",
            sync="none" if options.sync in ("", "none") else "stamps",
        )
        with conversion.writer() as writer:
            beside = PowerBeside("power")
            for piece in _pieces(blocks, recording):
                _write(piece, options, digital, writer, beside)
            if not (options.power or recording.is_raw):
                recording.notes += beside.notes(options.supply_v)
            for first, stop in recording.decoder.slips if recording.decoder else []:
                if first < writer.samples:
                    writer.gap(
                        Gap(
                            max(first - 1, 0),
                            min(stop, writer.samples),
                            "samples were lost here, their number is not known",
                        )
                    )
            digital.stamp(rate_hz, writer, recording.notes)
    notes = (*_said(options), *_ended(file.is_closed, recording), *recording.notes)
    lines = digital.edges(rate_hz)
    return conversion.opened(
        "jls1",
        notes,
        has_current=not options.power,
        rate_ppm=compared.off_ppm,
        lines=lines,
    )


def _check(options: Options) -> None:
    if options.time not in ("", "none") or options.source:
        raise ConfigError(
            "a JLS file of version 1 has one source and no column of times",
            path=("time", "source"),
        )
    for role in ("current", "voltage", "power"):
        if getattr(options, role) not in ("", role):
            name = getattr(options, role)
            raise DataError(
                f"no signal is called {name}",
                evidence=f"it has {_WHAT}",
                try_next=Advice(give(**{role: role})),
            )
    if options.sync not in ("", "none", *LINES):
        raise DataError(
            f"no digital signal is called {options.sync}",
            evidence=f"it has {_WHAT}",
            try_next=Advice(give(sync=LINES[0])),
        )


def _said(options: Options) -> Iterator[str]:
    if options.supply_v:
        yield f"voltage: {options.supply_v} V, as given"
    if options.power:
        yield "power alone: there is no charge and no current"
    if options.sync in LINES:
        yield f"SYNC: {options.sync}"
    else:
        yield NoSync(
            f"no SYNC; if the recording has its inputs in {' or '.join(LINES)}",
            Advice(give(sync=LINES[0])),
        )


def _ended(is_closed: bool, recording: _Recording) -> Iterator[str]:
    """Return how the recording ended; raises DataError where samples are missing that
    its writer counted.
    """
    read = recording.decoder.read if recording.decoder else recording.samples
    if not recording.samples:
        raise DataError(
            f"{recording.name} has no samples", evidence=f"{read} were read"
        )
    if is_closed and recording.expected != read:
        raise DataError(
            f"{recording.name} is damaged",
            evidence=f"it says to have {recording.expected} samples, and has {read}",
        )
    if not is_closed:
        yield (
            f"{recording.name} was not closed properly: what is complete in it was"
            " read, and its end may be missing"
        )
    if recording.decoder is None:
        return
    if recording.decoder.changes:
        count = recording.decoder.interpolated
        changes = recording.decoder.changes
        yield (
            f"{count} samples after {changes} changes of the current's range are "
            "interpolated, as the Joulescope software does"
        )
    if recording.decoder.waiting:
        yield (
            f"the last {recording.decoder.waiting} samples, within a change of the"
            " current's range, are left out"
        )
    if recording.decoder.slips:
        yield (
            f"{len(recording.decoder.slips)} times samples were lost that left no trace"
            " but a toggle out of step: they are gaps"
        )


def _heading(blocks: Iterator[ContainerBlock], recording: _Recording) -> None:
    """Read up to where the samples begin."""
    for block in blocks:
        if (
            block.tag == "SUB"
            and block.value[:_NAME_B].split(b"\0")[0] == b"calibration"
        ):
            recording.known = _calibration(block.value[_NAME_B:], recording.name)
        elif block.tag == "MJS":
            _configure(_json(block, recording), recording)
        elif block.tag == "CLS":
            break
    if not recording.rate_hz:
        raise DataError(
            f"{recording.name} does not say how it was recorded",
            evidence="there is no configuration before the samples",
        )
    if not recording.is_raw:
        return
    if recording.known is None:
        raise DataError(
            f"{recording.name} has raw samples and no calibration",
            evidence="its numbers are no amperes and volts",
            try_next="a recording with the instrument's calibration in it",
        )
    recording.decoder = RawDecoder(recording.known)


def _calibration(content: bytes, name: str) -> Calibration:
    for block in TaggedFile(BytesIO(content), f"the calibration in {name}"):
        if block.tag in ("AJS", "CJS"):
            return js110_raw.calibration(block.value)
    raise DataError(f"the calibration in {name} is empty")


def _configure(content: dict[str, Any], recording: _Recording) -> None:
    if content.get("type") != "config":
        return
    form = content.get("data_format", "raw")
    version = str(content.get("data_recorder_format_version", "1"))
    if form == "none":
        raise DataError(
            f"{recording.name} has no samples",
            evidence="its recording was ended before the first",
        )
    if form not in ("raw", "float32_v2") or version not in ("1", "2"):
        raise DataError(
            f"{recording.name} has samples of an unknown form",
            evidence=f"{form}, format version {version}",
        )
    stated_hz = content.get("sampling_frequency")
    recording.rate_hz = (
        float(stated_hz) if isinstance(stated_hz, int | float) else math.nan
    )
    if not 0 < recording.rate_hz < math.inf:
        raise DataError(
            f"{recording.name} has no sampling rate", evidence=repr(stated_hz)
        )
    recording.is_raw = form == "raw"


def _pieces(
    blocks: Iterator[ContainerBlock], recording: _Recording
) -> Iterator[_Piece]:
    """Yield all samples, and note the blocks between them."""
    for block in blocks:
        if block.tag == "CLS" and len(block.value) > _COLLECTION_B:
            inner = ContainerBlock(block.tag, block.value[_COLLECTION_B:], block.at)
            _collect(_json(inner, recording), block, recording)
        elif block.tag == "MJS":
            content = _json(block, recording)
            recording.expected = (
                content.get("size")
                if content.get("type") == "footer"
                else recording.expected
            )
        elif block.tag == "ABN":
            piece = (
                _raw(block, recording.decoder, recording)
                if recording.decoder
                else _arrays(block, recording)
            )
            recording.samples += len(piece.current)
            yield piece


def _collect(
    content: dict[str, Any], block: ContainerBlock, recording: _Recording
) -> None:
    """Begin a collection: the range of its voltage, and its place, which must be the
    one after the last that was read.
    """
    recording.voltage_range = content.get("v_range", 0)
    if recording.is_raw and recording.voltage_range not in (0, 1):
        raise _odd(
            block, recording, f"its voltage has the range {recording.voltage_range!r}"
        )
    at = content.get("sample_id")
    read = recording.decoder.read if recording.decoder else recording.samples
    if isinstance(at, int):
        recording.first_id = (
            at - read if recording.first_id is None else recording.first_id
        )
        if at != recording.first_id + read:
            raise _odd(
                block,
                recording,
                f"sample {at} follows sample {recording.first_id + read - 1}",
            )


def _raw(block: ContainerBlock, decoder: RawDecoder, recording: _Recording) -> _Piece:
    if len(block.value) % 4:
        raise _odd(block, recording, f"{len(block.value)} bytes are no whole samples")
    words = np.frombuffer(block.value, dtype="<u2").reshape(-1, 2)
    samples = decoder.put(words, recording.voltage_range)
    return _Piece(
        samples.current_a,
        samples.voltage_v,
        samples.current_a * samples.voltage_v,
        samples.bits,
    )


def _arrays(block: ContainerBlock, recording: _Recording) -> _Piece:
    """Unpack samples that lie array by array."""
    try:
        columns = _unpack(block.value)
        current, voltage, power = (columns[key] for key in (_CURRENT, _VOLTAGE, _POWER))
        bits = np.stack([_levels(columns[key]) for key in _BITS], axis=1)
        for numbers in (current, voltage, power):
            if numbers.dtype != np.dtype("<f4") or len(numbers) != len(bits):
                raise ValueError("arrays of different lengths or kinds")
        bits[~np.isfinite(current)] = UNKNOWN
    except (ValueError, KeyError, struct.error) as error:
        raise _odd(block, recording, f"{type(error).__name__}: {error}") from error
    return _Piece(current, voltage, power, bits)


def _levels(shares: Uint8s) -> NDArray[np.int8]:
    """Return LOW, HIGH, or BOTH where the line changed within a sample."""
    if shares.dtype != np.uint8:
        raise ValueError("levels that are no bytes")
    is_cut = len(shares) > 0 and shares.max() > _FIFTEENTHS
    parts, whole = (
        (shares * np.uint8(_INVERSE), 255) if is_cut else (shares, _FIFTEENTHS)
    )
    low_or_both = np.where(parts == 0, LOW, BOTH)
    return np.where(parts == whole, HIGH, low_or_both).astype(np.int8)


def _unpack(value: bytes) -> dict[int, Array]:
    """Return arrays by their numbers; raises ValueError, KeyError and struct.error."""
    magic, size_b, at, counts = _ARRAYS.unpack_from(value)
    if magic != b"ARRY" or size_b > len(value):
        raise ValueError("this is no set of arrays")
    fields = {}
    for number in range(counts >> 24):
        kind, length_b = struct.unpack_from("<II", value, _ARRAYS.size + 8 * number)
        if (kind & 0xFF) in _KINDS:
            dtype = _KINDS[kind & 0xFF]
            length_b = length_b & 0xFFFFFF
            fields[kind >> 8 & 0xFF] = np.frombuffer(
                value, dtype, length_b // dtype.itemsize, at
            ).copy()
        at += -(-length_b // 8) * 8
    return fields


def _write(
    piece: _Piece,
    options: Options,
    digital: DigitalLines,
    writer: TraceWriter,
    beside: PowerBeside,
) -> None:
    count = len(piece.current)
    places = np.arange(writer.samples, writer.samples + count, dtype=np.int64)
    for name, levels in zip(LINES, piece.bits.T, strict=True):
        digital.add_at(name, places, levels)
    lost = "the instrument lost these samples"
    if options.power:
        writer.analog(piece.power, np.ones(count, dtype=np.float32), unreadable=lost)
    else:
        voltage = (
            np.full(count, options.supply_v, dtype=np.float32)
            if options.supply_v
            else piece.voltage
        )
        writer.analog(piece.current, voltage, unreadable=lost)
        beside.add(piece.current, voltage, piece.power)


def _json(block: ContainerBlock, recording: _Recording) -> dict[str, Any]:
    try:
        content = json.loads(block.value)
    except (ValueError, RecursionError) as error:
        raise _odd(block, recording, repr(error)) from error
    if not isinstance(content, dict):
        raise _odd(block, recording, "no JSON object")
    return content


def _odd(block: ContainerBlock, recording: _Recording, what: str) -> DataError:
    return DataError(
        f"{recording.name}: block {block.tag} at byte {block.at} has another form",
        evidence=what,
    )
