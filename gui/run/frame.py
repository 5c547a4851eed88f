# SPDX-License-Identifier: Apache-2.0
"""One frame of the live picture as plain data; no Qt."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gui.run.phases import NO_STRIP, Strip
from rig.live.block import LiveBlock
from rig.live.recent import Recent

Floats = NDArray[np.float64]


def _none() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """A picture of one rail between two times of its trace: columns of power, NaN where
    there are no samples, the edges of SYNC, and the phases.
    """

    start_s: float
    stop_s: float
    least_w: Floats
    mean_w: Floats
    most_w: Floats
    falls_s: Floats = field(default_factory=_none)
    rises_s: Floats = field(default_factory=_none)
    strip: Strip = NO_STRIP
    age_s: float | None = None
    lost: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is no sample in it."""
        return not np.isfinite(self.mean_w).any()

    @property
    def highest_w(self) -> float:
        """The most power of all columns, 0 where there is none."""
        return 0.0 if self.empty else float(np.nanmax(self.most_w))

    @property
    def lowest_w(self) -> float:
        """The least power of all columns, 0 where there is none."""
        return 0.0 if self.empty else float(np.nanmin(self.least_w))

    @property
    def latest_w(self) -> float | None:
        """The mean of the newest column that has one."""
        known = self.mean_w[np.isfinite(self.mean_w)]
        return float(known[-1]) if len(known) else None


def empty_frame(columns: int, span_s: float) -> LiveFrame:
    """Return a frame without anything."""
    nothing = np.full(columns, np.nan)
    return LiveFrame(0.0, span_s, nothing, nothing, nothing)


def newest(
    recent: Recent,
    span_s: float,
    columns: int,
    *,
    rail: str | None = None,
    is_alive: bool,
    strip: Strip = NO_STRIP,
    lost: int = 0,
) -> LiveFrame | None:
    """Return the newest seconds of a rail; None while there are no samples of it. The
    age of the newest sample is stated while samples still come.
    """
    picture = recent.picture(span_s, columns, rail)
    if picture is None or not len(picture.mean_w):
        return None
    least_w, mean_w, most_w = spread(picture, span_s, columns)
    age_s = recent.newest_age_s
    return LiveFrame(
        start_s=picture.stop_s - span_s,
        stop_s=picture.stop_s,
        least_w=least_w,
        mean_w=mean_w,
        most_w=most_w,
        falls_s=picture.falls_s,
        rises_s=picture.rises_s,
        strip=strip,
        age_s=age_s if is_alive and np.isfinite(age_s) else None,
        lost=lost,
    )


def spread(
    picture: LiveBlock, span_s: float, columns: int
) -> tuple[Floats, Floats, Floats]:
    """Return least, mean and most of the newest `span_s` in at most so many columns of
    pixels; what falls on one of them is put together. Where less than the span is
    there, the left is empty.
    """
    width = min(columns, max(round(span_s / picture.column_s), 1))
    start_s = picture.stop_s - span_s
    places = np.floor((picture.times_s - start_s) / span_s * width).astype(np.int64)
    inside = (places >= 0) & (places < width)
    places = places[inside]
    rows = [np.full(width, np.nan) for _ in range(3)]
    if not len(places):
        return rows[0], rows[1], rows[2]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    least = picture.least_w[inside].astype(np.float64)
    mean = picture.mean_w[inside].astype(np.float64)
    most = picture.most_w[inside].astype(np.float64)
    known = np.isfinite(mean)
    counts = np.add.reduceat(known, starts, dtype=np.float64)
    sums = np.add.reduceat(np.where(known, mean, 0.0), starts)
    at = places[starts]
    rows[0][at] = np.fmin.reduceat(least, starts)
    out = np.full(len(at), np.nan)
    rows[1][at] = np.divide(sums, counts, out=out, where=counts > 0)
    rows[2][at] = np.fmax.reduceat(most, starts)
    return rows[0], rows[1], rows[2]
