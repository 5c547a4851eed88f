# SPDX-License-Identifier: Apache-2.0
"""Chunks of a JLS signal, and the lengths at which its index reaches the last sample.
Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunks:
    """Layout of a signal in a JLS file: samples of a data chunk and of a summary entry,
    entries of a summary chunk, and how many entries make one of the next level.

    libjls 0.17 (src/wr_fsr.c) writes an index chunk only with at least one whole
    summary entry in it. At the end of a signal, an index chunk that was begun with less
    is not written, and its samples are lost to every reader. `indexed` tells the
    lengths at which that does not happen.
    """

    data: int
    entry: int
    entries: int
    next_level: int

    @property
    def full(self) -> int:
        """Samples of a full chunk of the index, at its first level."""
        return self.entry * self.entries

    def indexed(self, length: int) -> int:
        """Return the smallest length, `length` or more, at which the index reaches the
        last sample.
        """
        while missing := self._missing(length):
            length += missing
        return length

    def _missing(self, length: int) -> int:
        """Return how many samples the index chunk lacks that is short of its first
        entry, at whichever level.
        """
        entry = self.entry
        most = 0
        while (
            chunk := entry * self.entries
            # the first chunk of a level is not needed: the level below has one chunk
        ) < length:
            if 0 < length % chunk < entry:
                most = entry - length % chunk
            entry *= self.next_level
        return most

    def definition(self) -> dict[str, int]:
        """Return the layout as pyjls's `signal_def` takes it."""
        return {
            "samples_per_data": self.data,
            "sample_decimate_factor": self.entry,
            "entries_per_summary": self.entries,
            "summary_decimate_factor": self.next_level,
        }
