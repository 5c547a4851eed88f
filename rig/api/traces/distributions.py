# SPDX-License-Identifier: Apache-2.0
"""Histogram and spectrum of a stretch of a trace, from every sample."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.columns import UNITS
from rig.api.traces.samples import blocks
from rig.errors import ConfigError, DataError
from rig.trace.levels import Hidden, Stopped
from rig.trace.trace import Trace

Array = NDArray[np.float64]

_BLOCK = 1 << 20
#: A segment of a spectrum is at most so long: half as many frequencies.
_SEGMENT = 1 << 14
_LEAST_SEGMENT = 16


@dataclass(frozen=True, slots=True)
class Histogram:
    """The time that a signal spent between each two `borders`, in its unit; `lost`
    samples are not in it. `labels` are those of the trace.
    """

    signal: str
    borders: Array
    seconds: Array
    count: int
    lost: int
    labels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Unit of the borders."""
        return UNITS[self.signal]


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The power spectral density of a signal without its mean, one-sided, in its unit
    squared per hertz: the mean over `segments` of `segment_s` each, half overlapping
    (Welch's method).

    A segment with lost samples is left out: `left_out` of them. `labels` are
    those of the trace.
    """

    signal: str
    frequency_hz: Array
    density: Array
    segments: int
    left_out: int
    segment_s: float
    labels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Unit of the density."""
        return f"{UNITS[self.signal]}²/Hz"

    @property
    def amplitude(self) -> Array:
        """Square root of the density: per root hertz."""
        root: Array = np.sqrt(self.density)
        return root


@dataclass(frozen=True, slots=True)
class SignalSamples:
    """Samples first <= k < last of a signal of a trace; `stopped` cancels a reading of
    them.
    """

    trace: Trace
    first: int
    last: int
    signal: str
    stopped: Stopped | None = None

    def __post_init__(self) -> None:
        if self.signal not in UNITS:
            raise ConfigError(
                f"signal {self.signal!r}", try_next=f"one of {', '.join(UNITS)}"
            )

    def __len__(self) -> int:
        return self.last - self.first

    def blocks(self) -> Iterator[Array]:
        """Yield the samples; those that are lost are NaN."""
        trace = self.trace
        # Means are no samples: they would make a signal look quieter.
        hidden = Hidden((*trace.gaps, *trace.reduced))
        bounds = self.first, self.last, _BLOCK
        for _, current, voltage in blocks(trace, *bounds, self.stopped, hidden):
            power = np.multiply(current, voltage, dtype=np.float64)
            if self.signal == "power":
                yield power
                continue
            values = current if self.signal == "current" else voltage
            # Where one of the two is lost, so is the sample.
            yield np.where(np.isfinite(power), values.astype(np.float64), np.nan)


def histogram(
    samples: SignalSamples, bins: int, limits: tuple[float, float] | None = None
) -> Histogram:
    """Return the histogram of samples between limits; left out, between the least and
    the most of them.
    """
    if bins < 1:
        raise ConfigError(f"{bins} bins", try_next="1 or more")
    if limits is None:
        limits = _limits(samples)
    borders = np.linspace(*limits, bins + 1)
    counts = np.zeros(bins)
    lost = 0
    for values in samples.blocks():
        known = values[np.isfinite(values)]
        lost += len(values) - len(known)
        counts += np.histogram(known, borders)[0]
    seconds = counts / samples.trace.sample_hz
    return Histogram(samples.signal, borders, seconds, len(samples), lost)


def spectrum(samples: SignalSamples, segment: int | None) -> Spectrum:
    """Return the spectrum of samples; segments have `segment` samples, by default a
    power of two that gives several of them.
    """
    from scipy.signal import welch

    count = len(samples)
    sample_hz = samples.trace.sample_hz
    if segment is None:
        segment = min(_SEGMENT, 1 << max(int(math.log2(max(count // 4, 1))), 0))
    if not _LEAST_SEGMENT <= segment <= count:
        raise DataError(
            f"a spectrum of {count} samples in segments of {segment}",
            try_next=(
                f"a stretch of {4 * _LEAST_SEGMENT} samples or more, and segments of "
                f"{_LEAST_SEGMENT} to as many as it has"
            ),
        )
    step = segment // 2
    total = np.zeros(segment // 2 + 1)
    used = left_out = 0
    places = np.arange(segment // 2 + 1, dtype=np.float64)
    frequency_hz: Array = places * (sample_hz / segment)
    carried = np.zeros(0)
    for block in samples.blocks():
        values = np.concatenate([carried, block])
        starts = np.arange(0, len(values) - segment + 1, step)
        if not len(starts):
            carried = values
            continue
        rows = np.lib.stride_tricks.sliding_window_view(values, segment)[starts]
        whole = np.isfinite(rows).all(axis=1)
        left_out += int(np.count_nonzero(~whole))
        if whole.any():
            # One segment a row: its mean is taken away from each.
            _, density = welch(
                rows[whole],
                sample_hz,
                nperseg=segment,
                noverlap=0,
                detrend="constant",
            )
            total += density.sum(axis=0)
            used += int(np.count_nonzero(whole))
        carried = values[int(starts[-1]) + step :]
    if not used:
        raise DataError(
            "there is no stretch without lost samples that is long enough for a"
            " spectrum",
            evidence=f"all {left_out} segments of {segment} samples have lost ones",
            try_next="another stretch, or shorter segments",
        )
    density = total / used
    segment_s = segment / sample_hz
    return Spectrum(
        signal=samples.signal,
        frequency_hz=frequency_hz,
        density=density,
        segments=used,
        left_out=left_out,
        segment_s=segment_s,
    )


def _limits(samples: SignalSamples) -> tuple[float, float]:
    least, most = math.inf, -math.inf
    for values in samples.blocks():
        known = values[np.isfinite(values)]
        if len(known):
            least = min(least, float(known.min()))
            most = max(most, float(known.max()))
    if least > most:
        raise DataError(
            f"no sample of the {samples.signal} is known here",
            try_next="another stretch",
        )
    if least == most:
        # All in one value: a histogram needs some width.
        width = max(abs(least) * 1e-6, 1e-12)
        return least - width, most + width
    return least, most
