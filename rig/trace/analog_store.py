# SPDX-License-Identifier: Apache-2.0
"""Current and voltage of a trace that is written: all samples, or, where the folder's
trace is thinned, samples near windows and means of everything (rig/trace/thinning.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rig.arrays import Float32s, Uint8s
from rig.files import typed
from rig.trace.edges import LevelEdges
from rig.trace.jls_file import RECORDED_SAMPLES
from rig.trace.jls_signals import define_means, define_signal, thinned
from rig.trace.reduced import CURRENT_MEAN, POWER_MEAN, VOLTAGE_MEAN, may_be_thinned
from rig.trace.thinning import Thinner, offered
from rig.trace.trace import CURRENT, VOLTAGE
from rig.trace.write_room import translated

#: A sample's number in the recording to the time that it has in the file.
TimeOf = Callable[[float], int]


class AnalogStore:
    """The samples of current and voltage in an open JLS file, of `recorded` samples
    `stored`."""

    def __init__(
        self, folder: Path, sample_hz: float, edge_hz: float, sync_kind: str
    ) -> None:
        self.recorded = 0
        self.stored = 0
        self.means = 0
        self._folder = folder
        self._hz = sample_hz
        self._writer: Any = None
        self._time_of: TimeOf = round
        self._missing = 0
        self._thinner: Thinner | None = None
        times = offered(folder) if may_be_thinned(sync_kind, sample_hz) else None
        if times is not None:
            self._thinner = Thinner(
                folder, sample_hz, times, self._put, self._put_means
            )
            self._edges = LevelEdges(edge_hz)
            self._edge_hz = edge_hz

    def begin(self, writer: Any, time_of: TimeOf) -> None:
        """Define the signals; `time_of` is the time of a sample of the recording."""
        self._writer = writer
        self._time_of = time_of
        layout = None
        if self._thinner is not None:
            layout = thinned(self._hz, self._thinner.thinning.margin)
            define_means(writer, self._hz, self._thinner.thinning)
        for number, name, units in (
            (CURRENT, "current", "A"),
            (VOLTAGE, "voltage", "V"),
        ):
            define_signal(
                writer, number, name, "f32", self._hz, layout=layout, units=units
            )

    @property
    def about(self) -> dict[str, Any]:
        """Metadata of the thinning for the file; empty where all samples are kept."""
        return (
            {}
            if self._thinner is None
            else {"thinning": typed.to_json(self._thinner.thinning)}
        )

    @property
    def rates(self) -> list[tuple[int, float]]:
        """Each signal with its rate."""
        pairs = [(CURRENT, self._hz), (VOLTAGE, self._hz)]
        if self._thinner is not None:
            rate_hz = self._hz / self._thinner.thinning.every
            pairs += [
                (signal, rate_hz) for signal in (CURRENT_MEAN, VOLTAGE_MEAN, POWER_MEAN)
            ]
        return pairs

    @property
    def lengths(self) -> dict[int, int]:
        """Number of written samples of each signal."""
        means = dict.fromkeys((CURRENT_MEAN, VOLTAGE_MEAN, POWER_MEAN), self.means)
        return {CURRENT: self.stored, VOLTAGE: self.stored} | (
            means if self._thinner else {}
        )

    @property
    def counted(self) -> dict[str, int]:
        """Number of recorded samples, for the closed file; empty where none are left
        out."""
        return {} if self._thinner is None else {str(RECORDED_SAMPLES): self.recorded}

    def add(self, current: Float32s, voltage: Float32s) -> None:
        """Append samples."""
        if self._thinner is None:
            self._put(self.recorded, current, voltage)
            self.recorded += len(current)
            return
        self.recorded += len(current)
        self._thinner.analog(current, voltage)

    def see(self, at: int, packed: Uint8s) -> None:
        """Take samples of SYNC from number `at` on."""
        if self._thinner is not None:
            falls_s, rises_s = self._edges.feed(at, packed)
            self._thinner.sync(falls_s, rises_s, (at + 8 * len(packed)) / self._edge_hz)

    def end(self) -> dict[str, Any]:
        """Write the samples that are still held, and return the facts of the thinning
        for recording.json."""
        if self._thinner is None:
            return {}
        self._thinner.close()
        return {"thinned": typed.to_json(self._thinner.said())}

    def leave(self) -> None:
        """Close open files where the trace cannot be completed."""
        if self._thinner is not None:
            self._thinner.leave()

    def _put(self, at: int, current: Float32s, voltage: Float32s) -> None:
        if at - self.stored != self._missing:
            # After a span that was left out, other programs take the time from these.
            for place in (self.stored - 1, self.stored):
                recorded = place + (
                    self._missing if place < self.stored else at - self.stored
                )
                if place >= 0:
                    with translated(self._folder):
                        for signal in (CURRENT, VOLTAGE):
                            self._writer.utc(
                                signal, place, self._time_of(recorded / self._hz)
                            )
            self._missing = at - self.stored
        with translated(self._folder):
            self._writer.fsr_f32(CURRENT, self.stored, current)
            self._writer.fsr_f32(VOLTAGE, self.stored, voltage)
        self.stored += len(current)

    def _put_means(self, *means: Float32s) -> None:
        with translated(self._folder):
            for signal, values in zip(
                (CURRENT_MEAN, VOLTAGE_MEAN, POWER_MEAN), means, strict=True
            ):
                self._writer.fsr_f32(signal, self.means, values)
        self.means += len(means[0])
