# SPDX-License-Identifier: Apache-2.0
"""Recordings of Nordic's Power Profiler, of either format: the options that fit them,
and the writing of their samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from rig.arrays import Array
from rig.errors import ConfigError, DataError
from rig.importers.advice import Advice, NoSync, give
from rig.importers.conversion import Conversion
from rig.importers.digital_levels import BOTH, HIGH, LOW, UNKNOWN, DigitalLines
from rig.importers.opened import Opened
from rig.importers.options import Options

#: Currents in uA, and eight lines of two bits each, D0 lowest.
Piece = tuple[Array, Array]

#: Meaning of the two bits of a line.
_LEVELS = np.array([UNKNOWN, LOW, HIGH, BOTH], dtype=np.int8)
NO_SYNC = NoSync("no SYNC; there are the lines D0 to D7", Advice(give(sync="D0")))
LINES = tuple(f"D{number}" for number in range(8))


def check_options(options: Options) -> None:
    """Raise where options do not fit a recording of Power Profiler."""
    if options.time not in ("", "none") or options.source:
        raise ConfigError(
            "a recording of Power Profiler has one source and no column of times",
            path=("time", "source"),
        )
    named = {
        "voltage": options.voltage,
        "power": options.power,
        "current": options.current,
    }
    for role, name in named.items():
        if name and (role, name) != ("current", "current"):
            raise DataError(
                f"no signal is called {name}",
                evidence="it has current and the lines D0 to D7",
                try_next=Advice(give(supply_v="VOLTS")),
            )
    if not options.supply_v:
        hint = Advice(give(", what the supply was set to", supply_v="VOLTS"))
        raise DataError(
            "there is no voltage beside the current",
            evidence="it has current and the lines D0 to D7",
            try_next=hint,
        )
    if options.sync not in ("", "none", *LINES):
        raise DataError(
            f"no line is called {options.sync}",
            evidence="there are D0 to D7",
            try_next=Advice(give(sync="D0"), give(sync="none")),
        )


def is_synced(options: Options) -> bool:
    """Check whether a line is asked for as SYNC."""
    return options.sync not in ("", "none")


def written(
    path: Path,
    kind: str,
    scratch: Path,
    options: Options,
    rate_hz: float,
    pieces: Iterable[Piece],
    notes: list[str],
    rate_ppm: float,
) -> Opened:
    """Write the samples of a recording of a `kind`, piece by piece; raises DataError
    where there are none.
    """
    sync = "stamps" if is_synced(options) else "none"
    conversion = Conversion(
        name=path.name,
        scratch=scratch,
        sample_hz=rate_hz,
        source="Power Profiler",
        sync=sync,
    )
    digital = DigitalLines(LINES, options.sync)
    with conversion.writer() as writer:
        for current_ua, lines in pieces:
            _add(digital, writer.samples, current_ua, lines)
            current_a = current_ua.astype(np.float64) / 1e6
            voltage_v = np.full(len(current_ua), options.supply_v)
            writer.analog(
                current_a, voltage_v, unreadable="the instrument lost these samples"
            )
        digital.stamp(rate_hz, writer, notes)
        if not writer.samples:
            raise DataError(f"{path.name} has no samples")
    lines_s = digital.edges(rate_hz)
    return conversion.opened(kind, notes, rate_ppm=rate_ppm, lines=lines_s)


def _add(
    digital: DigitalLines,
    first: int,
    current_ua: Array,
    lines: Array,
) -> None:
    """Append the levels of all lines at the samples where one of them changes; a file
    may be without lines.
    """
    if len(lines) != len(current_ua):
        return
    # Where a sample was lost the application writes all lines as low.
    words = np.where(np.isnan(current_ua), 0, lines)
    at = np.flatnonzero(np.diff(words, prepend=~words[:1]))
    for number, name in enumerate(LINES):
        digital.add_at(name, first + at, _LEVELS[(words[at] >> (2 * number)) & 3])
