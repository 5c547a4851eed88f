# SPDX-License-Identifier: Apache-2.0
"""Which phase bands a picture shows: those in view, and of thousands that share a pixel
one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

#: Colours of spans that do not count, and of those whose phase is not known yet; phases
#: have 0 and more.
WARM_UP_COLOUR = -1
IDLE_COLOUR = -2
UNKNOWN_COLOUR = -3


@dataclass(frozen=True, slots=True)
class BandSpans:
    """Spans to draw, in the order of their starts, each with a colour and a name.
    `reached_s` is the latest stop up to and including each span; it finds those in a
    view. Without `names` no band is labelled.
    """

    start_s: Array
    stop_s: Array
    colour: Places
    reached_s: Array
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        start_s: Array,
        stop_s: Array,
        colour: Places,
        names: Sequence[str] = (),
    ) -> BandSpans:
        """Sort spans by their starts."""
        order = np.argsort(start_s, kind="stable")
        stops = stop_s[order]
        reached = np.maximum.accumulate(stops) if len(stops) else stops
        sorted_names = tuple(names[place] for place in order) if names else ()
        return cls(start_s[order], stops, colour[order], reached, sorted_names)

    @classmethod
    def none(cls) -> BandSpans:
        """Return no spans."""
        nothing = np.zeros(0)
        return cls(nothing, nothing, np.zeros(0, dtype=np.int64), nothing)

    def __len__(self) -> int:
        return len(self.start_s)


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Painted bands: left and right in seconds, and colour. Of several in one pixel,
    the longest has the colour.
    """

    left_s: Array
    right_s: Array
    colour: Places

    def __len__(self) -> int:
        return len(self.left_s)


def laid_out(
    spans: BandSpans, start_s: float, stop_s: float, pixels: int
) -> Rectangles:
    """Return the rectangles for spans in a view of a number of pixels: at most two for
    each pixel.
    """
    first = int(np.searchsorted(spans.reached_s, start_s, side="right"))
    last = int(np.searchsorted(spans.start_s, stop_s, side="left"))
    if last <= first or pixels < 1 or stop_s <= start_s:
        nothing = np.zeros(0)
        return Rectangles(nothing, nothing, np.zeros(0, dtype=np.int64))
    left = spans.start_s[first:last]
    right = spans.stop_s[first:last]
    colour = spans.colour[first:last]
    inside = right > start_s
    left, right, colour = left[inside], right[inside], colour[inside]
    pixel_s = (stop_s - start_s) / pixels
    if len(left) <= pixels:
        return Rectangles(np.maximum(left, start_s), np.minimum(right, stop_s), colour)
    return _merged(Rectangles(left, right, colour), start_s, stop_s, pixel_s)


def _merged(
    bands: Rectangles, start_s: float, stop_s: float, pixel_s: float
) -> Rectangles:
    """Return wide bands as they are, and one of the narrow ones that begin in the same
    pixel.
    """
    left, right, colour = bands.left_s, bands.right_s, bands.colour
    narrow = right - left < pixel_s
    pixel = np.floor((left[narrow] - start_s) / pixel_s).astype(np.int64)
    # The longest of each pixel is the last one of it in this order.
    order = np.lexsort((right[narrow] - left[narrow], pixel))
    ends = np.flatnonzero(np.diff(pixel[order], append=np.iinfo(np.int64).max))
    chosen = order[ends]
    from_s = start_s + pixel[chosen] * pixel_s
    lefts = np.concatenate(
        [np.maximum(left[~narrow], start_s), np.maximum(from_s, start_s)]
    )
    rights = np.concatenate([np.minimum(right[~narrow], stop_s), from_s + pixel_s])
    colours = np.concatenate([colour[~narrow], colour[narrow][chosen]])
    return Rectangles(lefts, rights, colours)
