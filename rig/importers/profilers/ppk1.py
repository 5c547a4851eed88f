# SPDX-License-Identifier: Apache-2.0
"""Convert a recording of Power Profiler's first format (.ppk) into a trace of the rig's
own.

Source: the reader of "File outline .ppk v1" in pc-nrfconnect-ppk
(src/utils/loadFileHandler). A raw DEFLATE stream of sections: BSON metadata (of the
oldest files two objects of it, the options and the chart's state), a length and the
currents in uA as 32-bit floats, and where there were lines a length and their two bits
each in 16-bit numbers, D0 lowest: 0 not known, 1 low, 2 high, 3 both. All is
little-endian. The rate is `options.samplesPerSecond` of the metadata; without it
`samplingTime`, in microseconds. `options.timestamp` is how long the recording is, in
microseconds: later samples are left out, as the application does. No file of the
application was at hand.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rig.errors import DataError
from rig.files import foreign_files
from rig.importers import given_rate
from rig.importers.advice import Advice, NoSync, give
from rig.importers.opened import Opened, require_rate
from rig.importers.options import Options
from rig.importers.profilers import power_profiler

SUFFIX = ".ppk"
#: The application kept at most so much; a stream that unpacks to more is none of its
#: files.
_MOST_B = 1 << 31
_PIECE = 1 << 20
_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Facts:
    """Metadata of a recording, as far as its file has them: its rate, or the time from
    sample to sample in us, and its length in us."""

    samplesPerSecond: float | None = None  # noqa: N815 - the app's own names
    samplingTime: float | None = None  # noqa: N815
    timestamp: float | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Facts:
        """Return them."""
        return cls(**{one.name: stored.get(one.name) for one in fields(cls)})

    @property
    def knows_rate(self) -> bool:
        """Whether the file tells its rate."""
        return bool(self.samplesPerSecond or self.samplingTime)

    @property
    def rate_hz(self) -> float:
        """Its rate; raises KeyError where it tells none."""
        if self.samplesPerSecond:
            return float(self.samplesPerSecond)
        if not self.samplingTime:
            raise KeyError("samplingTime")
        return 1e6 / float(self.samplingTime)

    def count(self, count: int) -> int:
        """Return the number of samples of the recording, by its length where the file
        has it."""
        if not self.timestamp or not self.knows_rate:
            return count
        return min(count, int(float(self.timestamp) * self.rate_hz / 1e6))


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert a file, which is read as a whole; raises DataError and ConfigError."""
    power_profiler.check_options(options)
    content = _unpacked(path)
    try:
        about, at = _metadata(content)
        values, at = _section(content, at)
        lines, _ = _section(content, at) if at < len(content) else (b"", at)
        current_ua = np.frombuffer(values, "<f4")
        bits = np.frombuffer(lines, "<u2")
        facts = Facts.of(about.get("options", about))
        rate_hz = options.rate_hz or facts.rate_hz
        count = facts.count(len(current_ua))
    except (
        struct.error,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        ZeroDivisionError,
    ) as error:
        raise DataError(
            f"{path.name} is no file of Power Profiler's first format, or is damaged",
            evidence=f"{type(error).__name__}: {error}",
            try_next="open it in Power Profiler, and save it as .ppk2",
        ) from error
    notes = [f"voltage: {options.supply_v} V, as given"]
    stated_hz = {"the file's sampling rate": facts.rate_hz} if facts.knows_rate else {}
    compared = given_rate.compared(path.name, options.rate_hz, stated_hz)
    notes += compared.notes
    require_rate(path.name, rate_hz, len(current_ua))
    if count < len(current_ua):
        notes.append(
            f"{len(current_ua) - count} samples after the recording's end are left out"
        )
    is_synced = power_profiler.is_synced(options)
    has_lines = len(bits[:count]) == count
    if is_synced and not has_lines:
        raise DataError(
            f"{path.name} has no digital lines", try_next=Advice(give(sync="none"))
        )
    if is_synced:
        notes.append(f"SYNC: {options.sync}")
    else:
        notes.append(power_profiler.NO_SYNC if has_lines else NoSync("no SYNC"))
    firsts = range(0, count, _PIECE)
    parts = (slice(first, min(first + _PIECE, count)) for first in firsts)
    pieces = ((current_ua[part], bits[part]) for part in parts)
    return power_profiler.written(
        path,
        "ppk1",
        scratch=scratch,
        options=options,
        rate_hz=rate_hz,
        pieces=pieces,
        notes=notes,
        rate_ppm=compared.off_ppm,
    )


def _unpacked(path: Path) -> bytes:
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpack.decompress(foreign_files.read_bytes(path), _MOST_B)
    except zlib.error as error:
        raise DataError(
            f"{path.name} is no file of Power Profiler's first format, or is damaged",
            evidence=str(error),
            try_next="open it in Power Profiler, and save it as .ppk2",
        ) from error
    if not unpack.eof:
        raise DataError(f"{path.name} is cut off", try_next="copy it again")
    return content


def _metadata(content: bytes) -> tuple[dict[str, Any], int]:
    about, at = _document(content, 0)
    if "version" not in about:
        _chart, at = _document(content, at)
        about = {"options": about}
    return about, at


def _section(content: bytes, at: int) -> tuple[bytes, int]:
    (length_b,) = struct.unpack_from("<I", content, at)
    end = at + 4 + length_b
    if end > len(content):
        raise ValueError(
            f"a section of {length_b} bytes, {len(content) - at - 4} are left"
        )
    return content[at + 4 : end], end


# ---- BSON: numbers, texts and documents, as far as these files have them ----

_FIXED = {0x01: "<d", 0x08: "<?", 0x09: "<q", 0x10: "<i", 0x11: "<Q", 0x12: "<q"}


def _document(content: bytes, at: int, depth: int = 0) -> tuple[dict[str, Any], int]:
    """Return a BSON document and where it ends; raises ValueError where there is
    none."""
    (length_b,) = struct.unpack_from("<i", content, at)
    end = at + length_b
    if length_b < 5 or end > len(content) or content[end - 1] or depth > _DEPTH:
        raise ValueError(f"no BSON document at byte {at}")
    return dict(_elements(content, at + 4, end - 1, depth)), end


def _elements(
    content: bytes, at: int, end: int, depth: int
) -> Iterator[tuple[str, Any]]:
    while at < end:
        kind = content[at]
        name_end = content.index(0, at + 1, end)
        name = content[at + 1 : name_end].decode("utf-8", "replace")
        value, at = _value(content, name_end + 1, kind, depth)
        yield name, value


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _FIXED:
        code = struct.Struct(_FIXED[kind])
        return code.unpack_from(content, at)[0], at + code.size
    if kind in (0x06, 0x0A, 0x7F, 0xFF):
        return None, at
    if kind in (0x03, 0x04):
        return _document(content, at, depth + 1)
    if kind in (0x02, 0x05):
        (length_b,) = struct.unpack_from("<i", content, at)
        begin = at + 4 + (kind == 0x05)
        if length_b < 0:
            raise ValueError(f"a text of {length_b} bytes")
        return content[begin : begin + length_b].rstrip(b"\0"), begin + length_b
    raise ValueError(f"BSON element of kind {kind:#x}")
