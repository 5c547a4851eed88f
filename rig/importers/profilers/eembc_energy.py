# SPDX-License-Identifier: Apache-2.0
"""Convert the energy file of EEMBC's runner (NAME-energy.bin, NAME-timestamps.json
beside it) into a trace of the rig's own.

The file is a version byte, the rate in Hz as a 32-bit float, and the energy of each
sample as 32-bit floats, all little-endian (README of eembc/joulescope-win32); the time
stamps are a JSON list of seconds, one for each falling edge. Windows of its results are
numbered from 1 at the first stamp, as edges are here. Energies are microjoules: so are
all recordings, of an LPM01A, that were published with results of MLPerf Tiny (v1.0).
The README says joules for a JS110; none was seen: a recording that would be a
million times too small is refused.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from rig.errors import ConfigError, DataError
from rig.importers import given_rate
from rig.importers.advice import Advice, NoSync, give
from rig.importers.conversion import Conversion
from rig.importers.opened import Opened, require_rate
from rig.importers.options import Options
from rig.importers.stamps_file import resolution_s, stamps_in

SUFFIX = "-energy.bin"
_STAMPS = "-timestamps.json"
_HEAD = struct.Struct("<Bf")
#: The version byte that was seen in all published files.
VERSION = 0xF1
_PIECE = 1 << 18
_UNIT_J = 1e-6
#: No device that was ever measured so draws less on average.
_LEAST_W = 1e-6


def convert(path: Path, scratch: Path, options: Options) -> Opened:
    """Convert piece by piece; raises DataError and ConfigError."""
    _check(options)
    with path.open("rb") as stream:
        head = stream.read(_HEAD.size)
        if len(head) < _HEAD.size or head[0] != VERSION:
            raise DataError(
                f"{path.name} is no energy file of EEMBC's runner",
                evidence=f"it begins with {head!r}, version {VERSION:#x} is known",
            )
        stated_hz = float(_HEAD.unpack(head)[1])
        rate_hz = options.rate_hz or stated_hz
        notes = [
            "power alone, from the microjoules of each sample: no charge and no current"
        ]
        stated = {"the file's sampling rate": stated_hz}
        compared = given_rate.compared(path.name, options.rate_hz, stated)
        notes += compared.notes
        samples, cut = divmod(path.stat().st_size - _HEAD.size, 4)
        require_rate(path.name, rate_hz, samples)
        if not samples:
            raise DataError(f"{path.name} has no samples")
        stamps = _stamps(path, options, notes)
        edge_hz = 1 / max(resolution_s(stamps), 1 / rate_hz) if stamps else rate_hz
        conversion = Conversion(
            name=path.name,
            scratch=scratch,
            sample_hz=rate_hz,
            edge_hz=edge_hz,
            source="EEMBC energy file",
            sync="stamps" if stamps else "none",
        )
        total_w = 0.0
        with conversion.writer() as writer:
            while block := stream.read(4 * _PIECE):
                energy = np.frombuffer(block, "<f4", len(block) // 4).astype(np.float64)
                # The rate of the file: that is how long its own samples are.
                watts = energy * _UNIT_J * stated_hz
                total_w += float(np.nansum(watts))
                writer.analog(
                    watts, np.ones(len(watts)), unreadable="the instrument lost these"
                )
            for stamp in stamps:
                if not 0 <= float(stamp) * rate_hz <= samples:
                    raise DataError(
                        f"{_beside(path).name}: {stamp} s lies outside of {path.name}",
                        evidence=f"{samples / rate_hz:.6g} s long",
                        try_next=Advice(
                            "the two files of one recording", give(sync="none")
                        ),
                    )
                writer.stamp(float(stamp))
    if total_w < _LEAST_W * samples:
        raise DataError(
            f"{path.name}: its unit is not clear",
            evidence=(
                f"in microjoules its mean power would be {total_w / samples:.3g} W"
            ),
            try_next="a CSV of it, with a column in W",
        )
    if cut:
        notes.append("the last sample is cut off and left out")
    off_ppm = compared.off_ppm
    return conversion.opened("eembc", notes, has_current=False, rate_ppm=off_ppm)


def _check(options: Options) -> None:
    for name in ("source", "current", "voltage", "power", "time", "supply_v"):
        if getattr(options, name):
            raise ConfigError("an energy file of EEMBC's has energy alone", path=name)
    if options.sync not in ("", "none"):
        raise ConfigError(
            "the time stamps beside the file are the only SYNC",
            path="sync",
            try_next=Advice("leave it out", give(sync="none")),
        )


def _beside(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(SUFFIX) + _STAMPS)


def _stamps(path: Path, options: Options, notes: list[str]) -> list[str]:
    """Return the time stamps beside a file, as they are written."""
    beside = _beside(path)
    if options.sync == "none" or not path.name.endswith(SUFFIX) or not beside.exists():
        reason = "as asked" if options.sync else f"no {beside.name} beside it"
        notes.append(NoSync(f"no SYNC: {reason}"))
        return []
    stamps = stamps_in(beside)
    if sorted(stamps, key=float) != stamps:
        raise DataError(
            f"{beside.name}: its times run backwards",
            try_next=Advice(give(sync="none")),
        )
    notes.append(f"SYNC: the {len(stamps)} falling edges of {beside.name}")
    return stamps
