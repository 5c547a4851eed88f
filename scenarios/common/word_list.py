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


@dataclass(frozen=True, slots=True)
class ListedRecording:
    """A recording: beginning and end of each word, and its length, in seconds."""

    wav_file: str
    detection_windows: tuple[tuple[float, float], ...]
    length_sec: float = typed.optional(0.0)


def listed(entries: Any, name: str, place: str) -> ListedRecording:
    """Return the entry of a recording: by its name, or the only one; raises ValueError
    or DataError where there is none.
    """
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise ValueError("it is no list of entries")
    recordings = [typed.take(ListedRecording, entry, place) for entry in entries]
    for entry in recordings:
        if len(recordings) == 1 or Path(entry.wav_file).name == name:
            return entry
    raise ValueError(f"no entry has the wav_file {name}")
