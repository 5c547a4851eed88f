# SPDX-License-Identifier: Apache-2.0
"""A pair of files of Qoitech's Otii, of the current and of the voltage, joined into a
table.

Otii exports a file for each channel, whose name alone says which it is ("Main current -
Ace.csv"); the heading is "Timestamp","Value", the numbers are seconds and SI units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rig.errors import ConfigError, DataError
from rig.files import foreign_files
from rig.importers.advice import Advice, give
from rig.importers.options import Options
from rig.importers.tables import short_lines

if TYPE_CHECKING:
    import pandas as pd

_HEADING = re.compile(r'^\ufeff?"?Timestamp"?[,;]"?Value"?\s*$', re.IGNORECASE)
_CURRENT = re.compile(r"current", re.IGNORECASE)
_VOLTAGE = re.compile(r"voltage", re.IGNORECASE)
_HEAD_B = 200


def current_file(folder: Path) -> Path | None:
    """Return the file of the current in a folder of an export; None where there is not
    one."""
    files = [path for path in sorted(folder.glob("*.csv")) if _is_current(path)]
    if len(files) > 1:
        raise DataError(
            f"{folder} has several currents of Otii",
            evidence=", ".join(path.name for path in files),
            try_next="the path of one of these files",
        )
    return files[0] if files else None


def is_pair(path: Path, options: Options) -> bool:
    """Check whether a file is a current of Otii that is to be read by itself, with its
    voltage."""
    return not (options.current or options.power or options.time) and _is_current(path)


def joined(
    path: Path, scratch: Path, options: Options
) -> tuple[Path, Options, list[str]]:
    """Return a table of current and voltage in `scratch`, the options that are left,
    and notes.

    The voltage of a sample of the current is the last that was stamped at it or before
    it. Raises DataError where the two do not cover the same time, ConfigError for what
    the pair says itself.
    """
    if options.voltage:
        raise ConfigError("the voltage is that of its own file", path="voltage")
    current = _read(path)
    table = scratch / path.name
    scratch.mkdir(parents=True, exist_ok=True)
    if options.supply_v:
        _write(table, current, None)
        return table, options, []
    beside = _voltage_beside(path)
    voltage = _read(beside)
    times_s = current["time"].astype(float).to_numpy()
    volts_s = voltage["time"].astype(float).to_numpy()
    step_s = float(np.median(np.diff(volts_s))) if len(volts_s) > 1 else 0.0
    missing_s = max(volts_s[0] - times_s[0], times_s[-1] - volts_s[-1])
    if missing_s > 2 * step_s:
        raise DataError(
            f"{beside.name} does not cover the time of {path.name}",
            evidence=f"{volts_s[0]:g} s to {volts_s[-1]:g} s, {times_s[0]:g} s to "
            f"{times_s[-1]:g} s",
            try_next=Advice("both files of one recording", give(supply_v="VOLTS")),
        )
    at = np.maximum(np.searchsorted(volts_s, times_s, side="right") - 1, 0)
    _write(table, current, voltage["value"].to_numpy()[at])
    how = (
        ""
        if np.array_equal(times_s, volts_s)
        else ", held from one of its samples to the next"
    )
    return table, replace(options), [f"voltage: {beside.name}{how}"]


def _is_current(path: Path) -> bool:
    if path.suffix.lower() != ".csv" or not _CURRENT.search(path.stem):
        return False
    try:
        with foreign_files.opened(path) as stream:
            first = stream.read(_HEAD_B).decode("utf-8", "replace").splitlines()[:1]
    except (OSError, DataError):
        return False
    return bool(first) and bool(_HEADING.match(first[0]))


def _voltage_beside(path: Path) -> Path:
    name = _CURRENT.sub("voltage", path.name).lower()
    ordered = sorted(path.parent.glob("*.csv"))
    files = [
        other
        for other in ordered
        if _VOLTAGE.search(other.stem) and other.name.lower() == name
    ]
    if len(files) != 1:
        raise DataError(
            f"there is no voltage of Otii beside {path.name}",
            evidence=f"a file {_CURRENT.sub('voltage', path.name)} was looked for",
            try_next=Advice("export it, too", give(supply_v="VOLTS")),
        )
    return files[0]


def _read(path: Path) -> pd.DataFrame:
    """Return times and values as they are written."""
    import pandas as pd  # loads only where there is such a pair: it takes 0.2 s

    short_lines.require(path)
    try:
        table = pd.read_csv(
            path,
            sep=None,
            engine="python",
            names=["time", "value"],
            skiprows=1,
            dtype=str,
        )
        table["value"].astype(float)
        table["time"].astype(float)
    except (ValueError, OSError) as error:
        raise DataError(f"{path.name} cannot be read", evidence=str(error)) from error
    if not len(table):
        raise DataError(f"{path.name} has a heading and no rows")
    return table


def _write(path: Path, current: pd.DataFrame, volts: Sequence[str] | None) -> None:
    import pandas as pd

    table = pd.DataFrame(
        {"Timestamp (s)": current["time"], "Current (A)": current["value"]}
    )
    if volts is not None:
        table["Voltage (V)"] = volts
    table.to_csv(path, index=False)
