# SPDX-License-Identifier: Apache-2.0
"""The stretch of time that is shown: panned, zoomed, and kept inside the trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: What one step of a key or of the wheel does.
ZOOM_STEP = 1.5
PAN_STEP = 0.2
#: Margin on each side of a zoomed stretch.
_MARGIN = 0.05
#: Fewer samples are never shown, and never a shorter time: beyond, the digits of a time
#: end.
_LEAST_SAMPLES = 8.0
_LEAST_S = 1e-9


@dataclass(frozen=True, slots=True)
class Viewport:
    """The stretch [`start_s`, `stop_s`] of a trace of `duration_s` that is shown."""

    start_s: float
    stop_s: float
    duration_s: float
    least_s: float = _LEAST_S

    @classmethod
    def whole(cls, duration_s: float, sample_hz: float) -> Viewport:
        """Return the view of a whole trace; it can be zoomed to a few samples."""
        duration_s = max(duration_s, _LEAST_S)
        least_s = min(max(_LEAST_SAMPLES / sample_hz, _LEAST_S), duration_s)
        return cls(0.0, duration_s, duration_s, least_s)

    @property
    def span_s(self) -> float:
        """The length of the view."""
        return self.stop_s - self.start_s

    @property
    def is_whole(self) -> bool:
        """Whether the whole trace is shown."""
        return self.span_s >= self.duration_s

    def panned(self, by_s: float) -> Viewport:
        """Return the view moved by a time, up to the ends of the trace."""
        return self._at(self.start_s + by_s, self.span_s)

    def zoomed(self, factor: float, at_s: float | None = None) -> Viewport:
        """Return the view with `factor` times the detail; the instant `at_s` stays in
        its place."""
        if not factor > 0:
            raise ValueError(f"a zoom by {factor}")
        middle_s = (self.start_s + self.stop_s) / 2
        fixed_s = (
            middle_s if at_s is None else min(max(at_s, self.start_s), self.stop_s)
        )
        span_s = min(max(self.span_s / factor, self.least_s), self.duration_s)
        part = (fixed_s - self.start_s) / self.span_s
        return self._at(fixed_s - part * span_s, span_s)

    def on(self, start_s: float, stop_s: float, margin: float = _MARGIN) -> Viewport:
        """Return the view of a stretch, with a margin on both sides; of an instant, at
        the zoom at hand.
        """
        start_s, stop_s = min(start_s, stop_s), max(start_s, stop_s)
        if not (math.isfinite(start_s) and math.isfinite(stop_s)):
            return self
        if stop_s == start_s:
            return self.centred(start_s)
        wide_s = stop_s - start_s
        span_s = min(max(wide_s * (1 + 2 * margin), self.least_s), self.duration_s)
        return self._at((start_s + stop_s - span_s) / 2, span_s)

    def centred(self, at_s: float) -> Viewport:
        """Return the view with an instant in its middle, where the ends of the trace
        allow it."""
        return self._at(at_s - self.span_s / 2, self.span_s)

    def fitted(self) -> Viewport:
        """Return the view of the whole trace."""
        return replace(self, start_s=0.0, stop_s=self.duration_s)

    def fraction(self, at_s: float) -> float:
        """Return where an instant lies: 0 at the left end of the view, 1 at the right
        one."""
        return (at_s - self.start_s) / self.span_s

    def at(self, fraction: float) -> float:
        """Return the instant at a place of the view, kept inside the trace."""
        return min(max(self.start_s + fraction * self.span_s, 0.0), self.duration_s)

    def _at(self, start_s: float, span_s: float) -> Viewport:
        start_s = min(max(start_s, 0.0), self.duration_s - span_s)
        stop_s = min(start_s + span_s, self.duration_s)
        return replace(self, start_s=start_s, stop_s=stop_s)
