# SPDX-License-Identifier: Apache-2.0
"""An open trace of any origin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rig.arrays import Reals
from rig.errors import DataError
from rig.files.plain_text import one_line
from rig.importers.advice import Advice, give
from rig.importers.as_stamped import Stamped
from rig.importers.markers import Marked
from rig.importers.options import LARGEST, LEAST_HZ, MOST_HZ
from rig.model.origin import Origin
from rig.trace.edges import Edges
from rig.trace.trace import Trace
from rig.uncertainty.accuracy import Accuracy

#: No trace is longer, and JLS keeps no later time.
LONGEST_S = 100 * 365.25 * 86_400


@dataclass(frozen=True, slots=True)
class Opened:
    """A trace ready to be measured; `notes` say how its columns or signals were read.

    Where `has_current` is False the file holds power alone, without current and charge.
    `about` is the metadata of its recorder, where that was the rig; `marked` says where
    its markers are, where it can have any. `rate_ppm` is how far the sampling rate may
    be off, where the file leaves that open. `stamped` are the rows of a table that was
    integrated as stamped, and `rate_advice` to take each row for one sample,
    where that fits. `lines` are the edges of all digital lines, or why one has
    none, where the conversion has read them.
    """

    trace: Trace
    origin: str
    notes: tuple[str, ...] = ()
    has_current: bool = True
    marked: Marked | None = None
    about: dict[str, Any] = field(default_factory=dict)
    rate_ppm: float = 0.0
    stamped: Stamped | None = None
    rate_advice: Advice | None = None
    lines: Mapping[str, Edges | DataError] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what must stand beside its numbers, as the file says it: SIMULATED,
        ..."""
        stored = self.about.get("labels")
        texts = [
            one_line(str(text)) for text in (stored if isinstance(stored, list) else ())
        ]
        simulated = Origin.SIMULATED.upper()
        unsaid = (
            [simulated]
            if self.about.get("simulated") and simulated not in texts
            else []
        )
        return (*unsaid, *texts)

    @property
    def sync(self) -> str:
        """Return how the trace holds edges: "digital", "voltage", "stamps" or
        "none"."""
        return str(self.about.get("sync", "none"))

    def promised(self, accuracy: Accuracy) -> Accuracy:
        """Return an instrument's accuracy for this trace: a rate that is not known is
        an error of the clock, another one.
        """
        if not self.rate_ppm:
            return accuracy
        clock_u = accuracy.clock_ppm / accuracy.divisor
        rate_u = self.rate_ppm / math.sqrt(3.0)
        return replace(
            accuracy, clock_ppm=accuracy.divisor * math.hypot(clock_u, rate_u)
        )


#: Advice where a file lacks its rate.
GIVE_RATE = Advice(give(", if you know it", rate_hz="HZ"))


def require_rate(
    name: str, rate_hz: float, samples: int, hint: Advice = GIVE_RATE
) -> None:
    """Raise DataError where no trace can have this rate, or where so many samples would
    take centuries.
    """
    if not LEAST_HZ <= rate_hz <= MOST_HZ:
        limits = f"{rate_hz!r} Hz; a trace has {LEAST_HZ:g} to {MOST_HZ:.0f}"
        raise DataError(
            f"{name} has no sampling rate that a trace can have",
            evidence=limits,
            try_next=hint,
        )
    if samples / rate_hz > LONGEST_S:
        evidence = (
            f"{samples} samples at {rate_hz:.6g} Hz take "
            f"{samples / rate_hz / 365.25 / 86_400:.0f} years"
        )
        raise DataError(
            f"{name} cannot be as long as its sampling rate says",
            evidence=evidence,
            try_next=hint,
        )


def require_single(values: Reals, what: str) -> None:
    """Raise DataError where a finite number is too large to be stored; others are lost
    samples."""
    with np.errstate(invalid="ignore"):
        large = np.isfinite(values) & (np.abs(values) > LARGEST)
    if large.any():
        evidence = (
            f"{float(values[large][0]):.6g}, where {LARGEST:.3g} is the most that can"
            " be stored"
        )
        raise DataError(
            f"{what} is beyond single precision",
            evidence=evidence,
            try_next="is the unit right?",
        )
