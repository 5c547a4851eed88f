# SPDX-License-Identifier: Apache-2.0
"""What an instrument promises of its readings: limits of error for each range, with their source."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cattrs

from rig.errors import ConfigError, DataError

#: What a limit of error means, and the divisor that makes a standard uncertainty of it (GUM 4.3.7 and 4.3.3).
DISTRIBUTIONS = {"rectangular": math.sqrt(3.0), "normal": 2.0}


@dataclass(frozen=True, slots=True)
class Range:
    """One measuring range, for readings up to `up_to` (A or V).

    `gain` (relative) and `offset` (A or V) are limits of the error of a mean reading; `noise` is the standard deviation of one
    sample at the rate of the recording (A or V); `lsb` one step of the converter (A or V), `lsb_relative` one step of a number
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
    """The ranges of current and voltage, ascending, the limit of the clock's error, and where all this is written.

    Limits that are "rectangular" are hard ones, as a data sheet states them; "normal" ones are expanded uncertainties with k = 2,
    as a calibration certificate states them. `edge_s`: a limit of what the SYNC path delays against the analog path, beyond the
    sampling of the edges; always rectangular.
    """

    current: tuple[Range, ...]
    voltage: tuple[Range, ...]
    clock_ppm: float
    source: str
    year: int = 0
    verified: bool = False
    distribution: str = "rectangular"
    edge_s: float = 0.0

    def __post_init__(self) -> None:
        if self.distribution not in DISTRIBUTIONS:
            raise ConfigError(f"{self.distribution!r}", path="accuracy.distribution", try_next=f"one of {', '.join(DISTRIBUTIONS)}")
        for name, ranges in (("current", self.current), ("voltage", self.voltage)):
            limits = [row.up_to for row in ranges]
            if not limits or limits != sorted(limits):
                raise ConfigError(f"ranges {limits}", path=f"accuracy.{name}", try_next="one or more, ascending by up_to")
            numbers = [value for row in ranges for value in (row.gain, row.offset, row.noise, row.lsb, row.lsb_relative)]
            if not all(math.isfinite(value) and value >= 0 for value in numbers):
                raise ConfigError(f"{numbers}", path=f"accuracy.{name}", try_next="finite numbers, 0 or more")

    @property
    def divisor(self) -> float:
        """Return what a limit is divided by to give a standard uncertainty."""
        return DISTRIBUTIONS[self.distribution]


def from_json(content: dict[str, Any]) -> Accuracy:
    """Return what provenance.json holds of an accuracy; raises DataError for anything else."""
    try:
        return _structured(content)
    except cattrs.BaseValidationError as error:
        raise DataError("the limits of error are not readable", evidence="; ".join(cattrs.transform_error(error))) from error


def load(path: Path) -> Accuracy:
    """Read a calibration file (docs/UNCERTAINTY.md shows one); raises ConfigError."""
    try:
        return _structured(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"calibration file {path} cannot be read", evidence=error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML", evidence=str(error)) from error
    except cattrs.BaseValidationError as error:
        raise ConfigError(
            f"{path} is no calibration file",
            evidence="; ".join(cattrs.transform_error(error)),
            try_next="docs/UNCERTAINTY.md shows one",
        ) from error


def _structured(content: dict[str, Any]) -> Accuracy:
    return cattrs.Converter(forbid_extra_keys=True).structure(content, Accuracy)
