# SPDX-License-Identifier: Apache-2.0
"""Convert a recording that Nordic's Power Profiler application saved (.ppk2) into a
trace of the rig's own.

Source: src/utils/saveFileHandler.ts, src/globals.ts and src/utils/bitConversion.ts of
pc-nrfconnect-ppk. The file is a ZIP archive: metadata.json gives the rate; session.raw
has six bytes a sample, the current in uA (little endian) and two bits for each of eight
lines (big endian, D0 lowest): 0 not known, 1 low, 2 high, 3 both within the sample.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from rig.arrays import Array
from rig.errors import DataError
from rig.files import typed
from rig.importers import given_rate
from rig.importers.opened import GIVE_RATE, Opened, require_rate
from rig.importers.options import Options
from rig.importers.profilers import power_profiler

MAGIC = b"PK\x03\x04"
_SAMPLES = "session.raw"
_ABOUT = "metadata.json"
_ROW = np.dtype([("current_ua", "<f4"), ("lines", ">u2")])
_PIECE = 1 << 18
_ABOUT_B = 1 << 20
#: Errors of the library for an archive that is damaged, encrypted or packed in another
#: way.
_BROKEN = (BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError)


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert piece by piece; raises DataError and ConfigError. The file has no
    voltage: `options` must.
    """
    with _archive(path) as archive:
        power_profiler.check_options(options)
        return _convert(archive, path, scratch, options)


def said_hz(path: Path) -> float:
    """Return the rate that a file says; 0 where it does not. Raises DataError where it
    is none of Power Profiler's.
    """
    with _archive(path) as archive:
        return next(iter(_said_hz(archive, path).values()), 0.0)


def _archive(path: Path) -> ZipFile:
    with _intact(path):
        archive = ZipFile(path)
    missing = {_SAMPLES, _ABOUT} - set(archive.namelist())
    if missing:
        archive.close()
        raise DataError(
            f"{path.name} is an archive, but none of Power Profiler",
            evidence=f"there is no {' and no '.join(sorted(missing))} in it",
            try_next="unpack it, and measure what is in it",
        )
    return archive


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Turn errors of the archive into ours."""
    try:
        yield
    except _BROKEN as error:
        raise DataError(
            f"{path.name} is damaged",
            evidence=str(error),
            try_next="copy or save it again",
        ) from error


def _convert(archive: ZipFile, path: Path, scratch: Path, options: Options) -> Opened:
    notes = [f"voltage: {options.supply_v} V, as given"]
    rate_hz = options.rate_hz or _rate_hz(archive, path)
    stated_hz = _said_hz(archive, path) if options.rate_hz else {}
    compared = given_rate.compared(path.name, options.rate_hz, stated_hz)
    notes += compared.notes
    require_rate(
        path.name, rate_hz, archive.getinfo(_SAMPLES).file_size // _ROW.itemsize
    )
    is_synced = power_profiler.is_synced(options)
    notes.append(f"SYNC: {options.sync}" if is_synced else power_profiler.NO_SYNC)
    pieces = (
        (rows["current_ua"], rows["lines"]) for rows in _rows(archive, path, notes)
    )
    return power_profiler.written(
        path,
        "ppk2",
        scratch=scratch,
        options=options,
        rate_hz=rate_hz,
        pieces=pieces,
        notes=notes,
        rate_ppm=compared.off_ppm,
    )


def _said_hz(archive: ZipFile, path: Path) -> dict[str, float]:
    """Return the rate that the file says, by what says so; empty where it does not: a
    rate that is given needs none.
    """
    try:
        return {"the file's sampling rate": _rate_hz(archive, path)}
    except DataError:
        return {}


@dataclass(frozen=True, slots=True)
class _Metadata:
    """The application's description of the samples, as far as it is needed."""

    samplesPerSecond: float  # noqa: N815, as the file has it
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class _About:
    """The file's description of itself, as far as it is needed."""

    formatVersion: Any  # noqa: N815, as the file has it
    metadata: _Metadata
    more: dict[str, Any] = typed.rest()


def _rate_hz(archive: ZipFile, path: Path) -> float:
    if archive.getinfo(_ABOUT).file_size > _ABOUT_B:
        raise DataError(
            f"{path.name}: {_ABOUT} is too large",
            evidence=f"{archive.getinfo(_ABOUT).file_size} bytes",
        )
    with _intact(path):
        text = archive.read(_ABOUT)
    try:
        about = typed.from_json(_About, json.loads(text), _ABOUT)
    except (ValueError, DataError, RecursionError) as error:
        evidence = error.evidence if isinstance(error, DataError) else repr(error)
        raise DataError(
            f"{path.name} does not say its sampling rate",
            evidence=evidence,
            try_next=GIVE_RATE,
        ) from error
    if about.formatVersion != 2:
        raise DataError(
            f"{path.name} is of format version {about.formatVersion!r}",
            evidence="only version 2 is known",
        )
    return float(about.metadata.samplesPerSecond)


def _rows(archive: ZipFile, path: Path, notes: list[str]) -> Iterator[Array]:
    with _intact(path):
        stream = archive.open(_SAMPLES)
    with stream:
        while True:
            with _intact(path):
                piece = stream.read(_PIECE * _ROW.itemsize)
            if not piece:
                return
            if len(piece) % _ROW.itemsize:
                notes.append("the last sample is cut off and left out")
            yield np.frombuffer(piece, dtype=_ROW, count=len(piece) // _ROW.itemsize)
