# SPDX-License-Identifier: Apache-2.0
"""Accuracy specification of an instrument: limits of error for each range, with their
source."""

from __future__ import annotations

import datetime
import math
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from rig.errors import ConfigError, did_you_mean
from rig.files import small_text, typed
from rig.uncertainty.calibration import (
    TABLE,
    InstrumentCalibration,
    MeasuredError,
    refuse_changed,
    refuse_past,
)

#: Distributions that a limit of error may have, with the divisor to its standard
#: uncertainty (GUM 4.3.7 and 4.3.3).
DISTRIBUTIONS = {"rectangular": math.sqrt(3.0), "normal": 2.0}
_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
#: Numbers that may be below 0.
_SIGNED = ("zero", "value")
#: Larger than any instrument's limit; its square times a current or voltage stays
#: finite.
_MOST = 1e12
#: Beside a trace of no session: the limits of the instrument that recorded it.
LIMITS = "accuracy.toml"
_SHOWN = "docs/explanation/UNCERTAINTY.md shows a calibration file"


@dataclass(frozen=True, slots=True)
class Range:
    """One measuring range, for readings up to `up_to` (A or V).

    `gain` (relative) and `offset` (A or V) are limits of the error of a mean reading;
    `noise` is the standard deviation of one sample at the rate of the recording (A or
    V); `lsb` one step of the converter (A or V), `lsb_relative` one step of a number
    format with a mantissa (relative to the reading).
    """

    up_to: float
    gain: float
    offset: float
    noise: float = 0.0
    lsb: float = 0.0
    lsb_relative: float = 0.0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Limits of error of an instrument: ranges of current and voltage, ascending, the
    clock, and their source.

    "rectangular" limits are hard ones, as in a data sheet; "normal" ones are expanded
    uncertainties with k = 2, as in a calibration certificate. `edge_s` limits the delay
    of the SYNC path against the analog path, beyond the sampling of the edges; it is
    always rectangular. `calibration` is that of the instrument whose limits these are.
    """

    current: tuple[Range, ...]
    voltage: tuple[Range, ...]
    clock_ppm: float
    source: str
    year: int = 0
    verified: bool = False
    distribution: str = "rectangular"
    edge_s: float = 0.0
    calibration: InstrumentCalibration | None = typed.optional()

    def __post_init__(self) -> None:
        if self.distribution not in DISTRIBUTIONS:
            raise ConfigError(
                f"{self.distribution!r}",
                path="accuracy.distribution",
                try_next=f"one of {', '.join(DISTRIBUTIONS)}",
            )
        for name, ranges in (("current", self.current), ("voltage", self.voltage)):
            limits = [row.up_to for row in ranges]
            if not limits or limits != sorted(limits):
                raise ConfigError(
                    f"ranges {limits}",
                    path=f"accuracy.{name}",
                    try_next="one or more, ascending by up_to",
                )
            numbers: list[float] = []
            for row in ranges:
                numbers += [row.gain, row.offset, row.noise, row.lsb, row.lsb_relative]
            if not all(math.isfinite(value) and value >= 0 for value in numbers):
                raise ConfigError(
                    f"{numbers}",
                    path=f"accuracy.{name}",
                    try_next="finite numbers, 0 or more",
                )
            if not all(map(math.isfinite, limits)):
                raise ConfigError(
                    f"ranges {limits}",
                    path=f"accuracy.{name}",
                    try_next="finite numbers",
                )
        for name, value in (("clock_ppm", self.clock_ppm), ("edge_s", self.edge_s)):
            if not math.isfinite(value):
                raise ConfigError(
                    f"{value}",
                    path=f"accuracy.{name}",
                    try_next="a finite number, 0 or more",
                )

    @property
    def divisor(self) -> float:
        """Divisor from a limit to its standard uncertainty."""
        return DISTRIBUTIONS[self.distribution]


def load(path: Path, today: datetime.date | None = None) -> Accuracy:
    """Read a calibration file for a measurement of `today`, by default the present day
    (docs/explanation/UNCERTAINTY.md shows one).

    Raises ConfigError that names the file and the key, also for a file that is past its
    date or was changed after its check.
    """
    accuracy = read(path)
    if accuracy.calibration is not None:
        name = f"calibration file {path}"
        refuse_past(accuracy.calibration, name, today or _today())
    return accuracy


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def read(path: Path) -> Accuracy:
    """Read a file of limits of error of any date, as of a trace that lies beside it;
    raises ConfigError as `load` does.
    """
    try:
        content = tomllib.loads(small_text.read(path))
    except OSError as error:
        evidence = error.strerror or str(error)
        raise ConfigError(
            f"calibration file {path} cannot be read",
            evidence=evidence,
            try_next=f"its path; {_SHOWN}",
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"{path} is not TOML", evidence=str(error), try_next=_SHOWN
        ) from error
    refuse_changed(content, f"calibration file {path}")
    try:
        accuracy: Accuracy = _table(Accuracy, content, "")
        return accuracy
    except ConfigError as error:
        raise ConfigError(
            f"{path}: {error.cause}",
            evidence=error.evidence,
            try_next=f"{error.try_next}; {_SHOWN}",
        ) from error


def _table(kind: Any, content: Mapping[str, Any], place: str) -> Any:
    """Read a table of the file as a dataclass; of all conversions only that of an
    integer to a float is made.
    """
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(content) - set(hints))
    if unknown:
        raise ConfigError(
            "no such key",
            path=place + unknown[0],
            try_next=f"{did_you_mean(unknown[0], hints)}one of {', '.join(hints)}",
        )
    missing = [
        part.name
        for part in fields(kind)
        if part.default is MISSING and part.name not in content
    ]
    if missing:
        raise ConfigError(
            "this key is needed", path=place + missing[0], try_next="it with its value"
        )
    values = {
        name: _value(name, hints[name], value, place) for name, value in content.items()
    }
    return kind(**values)


def _value(name: str, kind: Any, value: Any, place: str) -> Any:
    path = place + name
    if name == TABLE:
        if not isinstance(value, dict):
            raise ConfigError("this is no table", path=path, try_next=f"[{TABLE}]")
        return _table(InstrumentCalibration, value, f"{path}.")
    if kind not in _KINDS:
        return _rows(path, typing.get_args(kind)[0], value)
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise ConfigError(
            f"{value!r} is not {_KINDS[kind]}", path=path, try_next=_KINDS[kind]
        )
    size = abs(value) if name in _SIGNED else value
    if kind is float and not (0 < size <= _MOST or (value == 0 and name != "up_to")):
        least = "above 0" if name == "up_to" else "0 or more"
        raise ConfigError(
            f"{value}", path=path, try_next=f"a number, {least}, to {_MOST:g}"
        )
    if name == "distribution" and value not in DISTRIBUTIONS:
        raise ConfigError(
            f"{value!r}", path=path, try_next=f"one of {', '.join(DISTRIBUTIONS)}"
        )
    return kind(value)


def _rows(name: str, kind: type[Any], value: Any) -> tuple[Any, ...]:
    """Read the tables of one name, each a dataclass of `kind`."""
    hint = f"a table [[{name}]] for each range, in double brackets"
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        evidence = (
            f"[{name}] is one table"
            if isinstance(value, dict)
            else f"{value!r} is no table"
        )
        raise ConfigError(evidence, path=name, try_next=hint)
    if not value and kind is Range:
        raise ConfigError("there are no ranges", path=name, try_next=hint)
    rows = tuple(_table(kind, row, f"{name}[{at}].") for at, row in enumerate(value))
    if kind is MeasuredError:
        return rows
    limits = [row.up_to for row in rows]
    if any(later <= earlier for earlier, later in pairwise(limits)):
        raise ConfigError(
            f"the ranges end at {limits}",
            path=name,
            try_next="ranges in ascending order, each up_to once",
        )
    return rows
