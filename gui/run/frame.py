# SPDX-License-Identifier: Apache-2.0
"""One frame of the live picture as plain data, and its curve as pixels; no Qt.

A curve is drawn by NumPy, column by column from its least to its most: no spike is lost, and it
costs the same whatever the signal does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gui.run.phases import NO_STRIP, Strip
from rig.live.recent import LivePicture

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint32]


def _none() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class Frame:
    """What is seen of one rail between two times of its trace: columns of power, NaN where there is
    nothing, the edges of SYNC, and the phases.
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
        """Return whether there is no sample in it."""
        return not np.isfinite(self.mean_w).any()

    @property
    def highest_w(self) -> float:
        """Return the most power of all columns, 0 where there is none."""
        return 0.0 if self.empty else float(np.nanmax(self.most_w))

    @property
    def lowest_w(self) -> float:
        """Return the least power of all columns, 0 where there is none."""
        return 0.0 if self.empty else float(np.nanmin(self.least_w))

    @property
    def latest_w(self) -> float | None:
        """Return the mean of the newest column that has one."""
        known = self.mean_w[np.isfinite(self.mean_w)]
        return float(known[-1]) if len(known) else None


def empty_frame(columns: int, span_s: float) -> Frame:
    """Return a frame without anything."""
    nothing = np.full(columns, np.nan)
    return Frame(0.0, span_s, nothing, nothing, nothing)


def spread(picture: LivePicture, span_s: float, columns: int) -> tuple[Floats, Floats, Floats]:
    """Return least, mean and most of the newest `span_s` in at most so many columns of pixels; what
    falls on one of them is put together. Where less than the span is there, the left is empty.
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
    least, mean, most = (
        values[inside].astype(np.float64)
        for values in (picture.least_w, picture.mean_w, picture.most_w)
    )
    known = np.isfinite(mean)
    counts = np.add.reduceat(known, starts, dtype=np.float64)
    sums = np.add.reduceat(np.where(known, mean, 0.0), starts)
    at = places[starts]
    rows[0][at] = np.fmin.reduceat(least, starts)
    rows[1][at] = np.divide(sums, counts, out=np.full(len(at), np.nan), where=counts > 0)
    rows[2][at] = np.fmax.reduceat(most, starts)
    return rows[0], rows[1], rows[2]


def rows_of(values: Floats, bottom: float, top: float, height: int) -> NDArray[np.int32]:
    """Return the row of pixels of each value, 0 at the top; -1 where there is none."""
    span = top - bottom
    scaled = (top - values) / (span if span > 0 else 1.0) * (height - 1)
    known = np.isfinite(scaled)
    rows = np.full(len(values), -1, dtype=np.int32)
    rows[known] = np.clip(np.rint(scaled[known]), 0, height - 1).astype(np.int32)
    return rows


def raster(
    frame: Frame, bottom: float, top: float, height: int, colours: tuple[int, int]
) -> Pixels:
    """Return the curve as an image of `height` rows, one column each; `colours` are those of the
    envelope and of the mean, as premultiplied ARGB, and what is neither is 0.
    """
    envelope, mean = (np.uint32(colour) for colour in colours)
    highest = rows_of(frame.most_w, bottom, top, height)
    lowest = rows_of(frame.least_w, bottom, top, height)
    middle = rows_of(frame.mean_w, bottom, top, height)
    width = len(middle)
    image = np.zeros((height, width), dtype=np.uint32)
    known = np.flatnonzero(middle >= 0)
    if not len(known):
        return image
    # Differences down the column: +1 where the envelope begins, -1 behind its end.
    edges = np.zeros((height + 1, width), dtype=np.int8)
    edges[highest[known], known] += 1
    edges[lowest[known] + 1, known] -= 1
    inside = np.cumsum(edges[:height], axis=0, dtype=np.int8) > 0
    image[inside] = envelope
    image[middle[known], known] = mean
    thick = np.minimum(middle[known] + 1, height - 1)
    image[thick, known] = mean
    # From one column to the next the mean is one line, however steep.
    for column in np.flatnonzero(np.abs(np.diff(middle)) > 1):
        first, second = middle[column], middle[column + 1]
        if first >= 0 and second >= 0:
            image[min(first, second) : max(first, second) + 1, column + 1] = mean
    return image


def columns_of(frame: Frame, times_s: Floats, width: int) -> Floats:
    """Return the place of times among `width` columns of pixels."""
    span_s = frame.stop_s - frame.start_s
    return (times_s - frame.start_s) / (span_s if span_s > 0 else 1.0) * width


def sync_raster(frame: Frame, width: int, height: int, colour: int) -> Pixels:
    """Return the levels of SYNC as an image: a line above where it is high, below where it is low,
    and between them where it changes. Where no edge is known it is taken for high.
    """
    image = np.zeros((height, width), dtype=np.uint32)
    times_s = np.concatenate([frame.falls_s, frame.rises_s])
    order = np.argsort(times_s, kind="stable")
    edges = columns_of(frame, times_s[order], width)
    rises = order >= len(frame.falls_s)
    before = np.searchsorted(edges, np.arange(width), side="left") - 1
    first = not rises[0] if len(rises) else True
    high = np.where(before >= 0, rises[before], first) if len(rises) else np.ones(width, bool)
    inside = edges[(edges >= 0) & (edges < width)].astype(np.int64)
    changes = np.zeros(width, dtype=bool)
    changes[inside] = True
    top, bottom = 5, height - 6
    image[top, high] = colour
    image[bottom, ~high] = colour
    image[top : bottom + 1, changes] = colour
    return image


def phase_row(frame: Frame, width: int, colours: Sequence[int]) -> Pixels:
    """Return the colour of each column of the strip of phases: of the phase in which it begins; 0
    before the first. `colours` are those of the strip's names.
    """
    strip = frame.strip
    if not len(strip.starts_s):
        return np.zeros(width, dtype=np.uint32)
    starts = columns_of(frame, strip.starts_s, width)
    which = np.searchsorted(starts, np.arange(width) + 0.5, side="right") - 1
    table = np.array(colours, dtype=np.uint32)
    row = table[strip.places[np.maximum(which, 0)]]
    return np.where(which >= 0, row, np.uint32(0))


def wide_phases(frame: Frame, width: int, least: float) -> list[tuple[str, float, float]]:
    """Return the phases that have room for their names: name, first and last column."""
    strip = frame.strip
    starts = columns_of(frame, strip.starts_s, width)
    ends = np.append(starts[1:], width)
    left, right = np.clip(starts, 0, width), np.clip(ends, 0, width)
    return [
        (strip.name(int(number)), float(left[number]), float(right[number]))
        for number in np.flatnonzero(right - left >= least)
    ]
