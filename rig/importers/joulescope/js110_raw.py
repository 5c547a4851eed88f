# SPDX-License-Identifier: Apache-2.0
"""Raw samples of a Joulescope JS110 -> amperes, volts and the two bits that may carry
its inputs. Pure.

Source: joulescope/v0/calibration.py and raw_processor.pxi. A sample is two numbers of
16 bits. Their upper 14 are current and voltage as the converter gave them. Below those:
of the current, two bits of the range; of the voltage, a bit that toggles from sample to
sample, and the third bit of the range. A sample that the host never received is all
ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.arrays import Bools, Float32s, Uint8s
from rig.errors import DataError
from rig.files import typed
from rig.importers.digital_levels import UNKNOWN

#: Ranges 0 (10 A) to 6 (18 uA); in 7 the supply is off, and there is no current; 8
#: stands for a lost sample.
_RANGES = 7
_LOST = 8
#: After a change of range the current is wrong for so many samples, and interpolated:
#: to (row) and from (column). Matrix "n" of the instrument's own software, its default
#: ("interp_1_n_1").
_SETTLING = np.array(
    [
        [0, 5, 7, 7, 7, 7, 7, 8, 0],
        [3, 0, 7, 7, 7, 7, 7, 8, 0],
        [5, 5, 0, 7, 7, 7, 7, 8, 0],
        [5, 5, 5, 0, 7, 7, 7, 8, 0],
        [5, 5, 5, 5, 0, 7, 7, 8, 0],
        [5, 5, 5, 5, 5, 0, 7, 8, 0],
        [5, 5, 5, 5, 5, 5, 0, 8, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    dtype=np.int64,
)
#: Where the range changes again and again for longer than this (32 us), the current is
#: not known.
_LONGEST = 64
#: As much of anything is no recording.
_ENDLESS = 1 << 20


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of an instrument's samples: (number + offset) * gain, by range; and
    the serial number of its instrument.
    """

    current_offset: Float32s
    current_gain: Float32s
    voltage_offset: Float32s
    voltage_gain: Float32s
    serial: str


@dataclass(frozen=True, slots=True)
class _Factors:
    """Offsets and gains in a calibration block, by range."""

    offset: tuple[float, ...]
    gain: tuple[float, ...]
    more: dict[str, Any] = typed.rest()


@dataclass(frozen=True, slots=True)
class _Block:
    """A calibration block, as far as it is needed."""

    current: _Factors
    voltage: _Factors
    serial_number: Any
    more: dict[str, Any] = typed.rest()


def calibration(text: bytes) -> Calibration:
    """Return the contents of a calibration block; raises DataError for another form,
    and for the gains of 1 that stand for none.
    """
    try:
        block = typed.from_json(_Block, json.loads(text), "the calibration")
        current = [
            _numbers(row, _RANGES) for row in (block.current.offset, block.current.gain)
        ]
        voltage = [
            _numbers(row, 2) for row in (block.voltage.offset, block.voltage.gain)
        ]
    except (ValueError, DataError, RecursionError) as error:
        evidence = error.evidence if isinstance(error, DataError) else repr(error)
        raise DataError(
            "the calibration of the recording cannot be read", evidence=evidence
        ) from error
    if np.all(current[1] == 1) and np.all(voltage[1] == 1):
        raise DataError(
            "it was recorded without the calibration of its instrument",
            evidence="all gains are 1, so its numbers are no amperes and volts",
            try_next="a recording with the instrument's calibration in it",
        )
    no_range = np.array([0, np.nan], dtype=np.float32)
    ranges = [np.append(numbers, no_range) for numbers in current]
    return Calibration(
        ranges[0], ranges[1], voltage[0], voltage[1], str(block.serial_number)
    )


def _numbers(values: Any, least: int) -> Float32s:
    numbers = np.array(values[:least], dtype=np.float32)
    if len(numbers) < least or not np.all(np.isfinite(numbers)):
        raise ValueError(f"{values} is not {least} numbers")
    return numbers


@dataclass(frozen=True, slots=True)
class RawSamples:
    """Calibrated samples; `bits` are the lowest bits of current and voltage (columns 0
    and 1), UNKNOWN where a sample was lost.
    """

    current_a: Float32s
    voltage_v: Float32s
    bits: NDArray[np.int8]
    ranges: Uint8s

    def __len__(self) -> int:
        return len(self.current_a)

    def part(self, start: int, stop: int) -> RawSamples:
        """Return samples start <= k < stop."""
        where = slice(start, stop)
        current_a = self.current_a[where]
        return RawSamples(
            current_a,
            self.voltage_v[where],
            self.bits[where],
            self.ranges[where],
        )

    def then(self, others: RawSamples) -> RawSamples:
        """Return these samples and `others` after them."""
        columns = [
            (getattr(self, name), getattr(others, name)) for name in self.__slots__
        ]
        return RawSamples(*(np.concatenate(pair) for pair in columns))


class RawDecoder:
    """Makes samples of raw ones, piece by piece; samples in a change of range wait for
    the next piece.

    `changes` counts the times that the current was interpolated, `interpolated` its
    samples. `slips` are runs of samples (first, last + 1) before each of which the
    toggle stands still: some were lost there, and it is unknown how many.
    """

    def __init__(self, known: Calibration) -> None:
        self._known = known
        self._before: RawSamples | None = None
        self._told = 0
        self._toggle = -1
        self.read = self.changes = self.interpolated = 0
        self.slips: list[tuple[int, int]] = []

    @property
    def waiting(self) -> int:
        """Number of samples that were put in and not taken out."""
        return 0 if self._before is None else len(self._before) - self._told

    def put(self, raw: NDArray[np.uint16], voltage_range: int) -> RawSamples:
        """Take samples, a row each of current and voltage; return those before the
        first that is not settled.
        """
        piece = self._calibrated(raw, voltage_range)
        # An edge may have been lost with the samples.
        piece.bits[self._slipped(raw)] = UNKNOWN
        self.read += len(raw)
        samples = piece if self._before is None else self._before.then(piece)
        settled = samples.current_a.copy()
        stop = len(samples)
        for start, end in self._spans(samples.ranges):
            if end >= len(samples):
                stop = start
                break
            self._interpolate(samples.current_a, settled, start, end)
        if len(samples) - stop > _ENDLESS:
            raise DataError(
                "the range of the current changes without an end",
                evidence=f"up to sample {self.read}",
            )
        given = RawSamples(
            settled, samples.voltage_v, samples.bits, samples.ranges
        ).part(self._told, stop)
        # The last sample given back stays: the next change interpolates from it.
        keep = max(stop - 1, 0)
        self._before = samples.part(keep, len(samples))
        self._told = stop - keep
        if len(self.slips) > _ENDLESS:
            raise DataError(
                "samples are out of step again and again",
                evidence=f"{len(self.slips)} times up to sample {self.read}",
            )
        return given

    def _slipped(self, raw: NDArray[np.uint16]) -> Bools:
        """Return before which samples the toggle stands still."""
        lost = (raw == 0xFFFF).all(axis=1)
        toggles = np.where(lost, -1, (raw[:, 1] >> 1) & 1).astype(np.int8)
        joined = np.concatenate([[self._toggle], toggles])
        still: Bools = (joined[1:] == joined[:-1]) & (joined[1:] >= 0)
        framed = np.concatenate([[False], still, [False]])
        bounds = np.flatnonzero(np.diff(framed.view(np.int8))) + self.read
        for first, stop in bounds.reshape(-1, 2).tolist():
            self.slips.append((first, stop))
        self._toggle = int(joined[-1])
        return still

    def _calibrated(self, raw: NDArray[np.uint16], voltage_range: int) -> RawSamples:
        known = self._known
        lost = (raw == 0xFFFF).all(axis=1)
        stated = (raw[:, 0] & 3) | ((raw[:, 1] & 1) << 2)
        ranges = np.where(lost, _LOST, stated).astype(np.uint8)
        number = (raw >> 2).astype(np.float32)
        current = (number[:, 0] + known.current_offset[ranges]) * known.current_gain[
            ranges
        ]
        voltage = (
            number[:, 1] + known.voltage_offset[voltage_range]
        ) * known.voltage_gain[voltage_range]
        voltage[lost] = np.nan
        bits = ((raw >> 2) & 1).astype(np.int8)
        bits[lost] = UNKNOWN
        return RawSamples(
            current.astype(np.float32), voltage.astype(np.float32), bits, ranges
        )

    def _spans(self, ranges: Uint8s) -> Iterator[tuple[int, int]]:
        """Yield where the current is not settled: the first such sample, and the first
        good one after it.
        """
        changes = np.flatnonzero(ranges[1:] != ranges[:-1]) + 1
        settling = _SETTLING[ranges[changes], ranges[changes - 1]]
        start = -1
        end = -1
        pairs = zip(
            changes[settling > 0].tolist(), settling[settling > 0].tolist(), strict=True
        )
        for at, length in pairs:
            if at > end and start >= 0:
                yield start, end
            start = at if at > end else start
            end = max(end, at + length)
        if start >= 0:
            yield start, end

    def _interpolate(
        self,
        raw_a: Float32s,
        settled_a: Float32s,
        start: int,
        end: int,
    ) -> None:
        """Draw a line from the last sample before a change to the first good one
        after it; where either is lost, the other holds.
        """
        before = raw_a[start - 1]
        after = raw_a[end]
        count = end - start
        before = before if np.isfinite(before) else after
        line = before + (after - before) / (count + 1) * np.arange(1, count + 1)
        settled_a[start:end] = line if count + 1 < _LONGEST else np.nan
        self.changes += 1
        self.interpolated += count
