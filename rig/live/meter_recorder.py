# SPDX-License-Identifier: Apache-2.0
"""A trace that is written from some sample of a meter on, which has run before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from rig.errors import RigError, storage_error
from rig.files import typed
from rig.live.accumulated import Accumulated
from rig.trace.gaps import Gap
from rig.trace.tap import TraceForm
from rig.trace.writer import TraceWriter
from rig.uncertainty.accuracy import LIMITS, Accuracy

_Floats = NDArray[np.float32]
#: Key of a driver's clock at the first sample, in the trace's file.
_START = "start_monotonic_ns"


class MeterRecorder:
    """Write the samples of a meter into `folder`, from sample number `first` on, which
    came at `began_s` (time.time()).

    Samples, levels and edges come with their numbers and times in the meter's own
    count. Raises StorageFull and BenchError.
    """

    def __init__(
        self,
        folder: Path,
        form: TraceForm,
        accuracy: Accuracy,
        first: int,
        began_s: float,
    ) -> None:
        self.folder = folder
        self.error: RigError | None = None
        self.total = Accumulated(form.sample_hz, accuracy)
        self._first = first
        self._bits_per_sample = form.edge_hz / form.sample_hz
        self._first_s = first / form.sample_hz
        self._bit = round(first * self._bits_per_sample)
        self._volt = first
        self._is_digital = form.sync_kind == "digital"
        try:
            folder.mkdir(parents=True)
            (folder / LIMITS).write_text(
                tomli_w.dumps(typed.to_json(accuracy)), encoding="utf-8"
            )
        except OSError as error:
            raise storage_error(error, folder) from error
        self._writer = TraceWriter(
            folder,
            sample_hz=form.sample_hz,
            edge_hz=form.edge_hz,
            source=form.source,
            serial=form.serial,
            about=self._about(form),
            sync_kind=form.sync_kind,
            began_s=began_s,
        )

    def _about(self, form: TraceForm) -> dict[str, Any]:
        """Return the driver's metadata of its trace, for a trace that begins later."""
        if _START not in form.about:
            return form.about
        later_ns = round(self._first_s * 1e9)
        return form.about | {_START: form.about[_START] + later_ns}

    def analog(self, at: int, current_a: _Floats, voltage_v: _Floats) -> None:
        """Take samples from number `at` on."""
        cut = max(self._first - at, 0)
        if cut < len(current_a):
            self._writer.analog(current_a[cut:], voltage_v[cut:])
            self.total.add(current_a[cut:], voltage_v[cut:])

    def levels(self, at: int, packed: NDArray[np.uint8]) -> None:
        """Take levels of SYNC, eight to a byte."""
        stop = at + 8 * len(packed)
        if at == self._bit:
            self._writer.sync_packed(packed)
        elif stop > self._bit:
            bits = np.unpackbits(packed, bitorder="little")
            if at > self._bit:  # levels before are taken for the first one
                self._writer.sync(np.full(at - self._bit, bits[0], dtype=np.uint8))
            self._writer.sync(bits[max(self._bit - at, 0) :])
        self._bit = max(self._bit, stop)

    def sync_voltage(self, at: int, voltage_v: _Floats) -> None:
        """Take samples of the voltage of SYNC."""
        if at > self._volt:
            self._writer.sync_voltage(
                np.full(at - self._volt, np.nan, dtype=np.float32)
            )
        self._writer.sync_voltage(voltage_v[max(self._volt - at, 0) :])
        self._volt = max(self._volt, at + len(voltage_v))

    def stamp(self, at_s: float, fall: bool) -> None:
        """Take an edge."""
        if at_s >= self._first_s:
            self._writer.stamp(at_s - self._first_s, fall)

    def skip(self, at: int, samples: int, cause: str) -> None:
        """Take note that samples from number `at` on were lost."""
        stop = at + samples
        lost = stop - max(at, self._first)
        if lost > 0:
            self._writer.skip(lost, cause)
            self.total.skip(lost)
            self._volt = max(self._volt, stop)
            if self._is_digital:
                self._bit = max(self._bit, round(stop * self._bits_per_sample))

    def gap(self, gap: Gap) -> None:
        """Take note that samples that came are not to be trusted."""
        start = max(gap.start, self._first)
        if gap.stop > start:
            self._writer.gap(
                Gap(start - self._first, gap.stop - self._first, gap.cause)
            )
            self.total.distrust(gap.stop - start)

    def close(self) -> None:
        """Complete the file; raises StorageFull and BenchError."""
        self._writer.close()
