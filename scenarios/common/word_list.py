# SPDX-License-Identifier: Apache-2.0
"""The words of recordings as MLPerf Tiny's runner lists them (sww_long_test.json)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.files import typed

FORM = (
    'a list of {"wav_file": NAME, "detection_windows": [[start_s, stop_s], ...]}, as'
    " sww_long_test.json of MLPerf Tiny"
)

#: Recordings of a list that a message names.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ListedRecording:
    """A recording: beginning and end of each word, and its length, in seconds."""

    wav_file: str
    detection_windows: tuple[tuple[float, float], ...]
    length_sec: float = typed.optional(0.0)


def named(entries: Any, name: str, place: str) -> ListedRecording:
    """Return the entry with the file name of a recording; raises ValueError or
    DataError where there is none.
    """
    recordings = _listed(entries, place)
    for entry in recordings:
        if Path(entry.wav_file).name == name:
            return entry
    others = ", ".join(entry.wav_file for entry in recordings[:_SHOWN])
    raise ValueError(f"no entry has the wav_file {name}; it lists {others or 'none'}")


def single(entries: Any, place: str) -> ListedRecording:
    """Return the only entry; raises ValueError or DataError where there are others."""
    recordings = _listed(entries, place)
    if len(recordings) != 1:
        raise ValueError(f"it has {len(recordings)} entries, and one is due")
    return recordings[0]


def _listed(entries: Any, place: str) -> list[ListedRecording]:
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise ValueError("it is no list of entries")
    return [typed.take(ListedRecording, entry, place) for entry in entries]
