# SPDX-License-Identifier: Apache-2.0
"""The task without its audio: a session folder is enough to plan and to score again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.errors import DataError, RemoteProtocolError
from rig.files import typed
from rig.interfaces.task import SignalTask
from rig.model.catalogue import Entry
from rig.model.scores import Score
from scenarios.tasks.asc.dataset import CLASSES
from scenarios.tasks.asc.model import RATE_HZ
from scenarios.tasks.replica import CatalogueReplica, refuse_labels

OUTPUT_B = 4 * len(CLASSES)


def scored(label: str, output: bytes) -> Score:
    """Take the class with the most spikes, then the highest membrane, then the lowest
    index."""
    # Spikes are the upper half, the membrane the lower: the largest number is the
    # answer, argmax takes the first of equals.
    answer = CLASSES[int(_words(output).argmax())]
    return Score(answer == label, label, answer)


def parts(output: bytes) -> dict[str, list[float]]:
    """Return spike counts and membranes of an output: its upper and lower halves."""
    words = _words(output)
    membranes = (words & 0xFFFF) - 0x8000
    return {"spike counts": (words >> 16).tolist(), "membranes": membranes.tolist()}


def _words(output: bytes) -> NDArray[np.int32]:
    if len(output) != OUTPUT_B:
        raise RemoteProtocolError(
            f"an output of {len(output)} B, asc gives {OUTPUT_B} B",
            evidence=output[:32].hex(),
        )
    return np.frombuffer(output, "<i4")


@dataclass(frozen=True, slots=True)
class _Holes:
    """Facts of the task's provenance that are read again."""

    holes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AscReplica(CatalogueReplica, SignalTask):
    """Labels and recordings of the samples; `holes` are samples that do not follow the
    one before in time.
    """

    content = "the audio of sample"
    holes: frozenset[int]
    sample_hz: int = RATE_HZ
    window: int = RATE_HZ
    sample_b: int = 2

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        refuse_labels(entries, CLASSES, ", ".join(CLASSES))
        for line, entry in enumerate(entries, start=2):
            # The names of the data set's files say scene and city.
            parts = entry.recording.split("-")
            if len(parts) == 5 and parts[:2] != [entry.label, entry.city]:
                raise DataError(
                    f"catalogue.csv, line {line}: {entry.label}, {entry.city[:20]!r},"
                    f" and its recording is {entry.recording[:60]!r}"
                )
        if facts.get("classes") != list(CLASSES) or facts.get("samples") != len(
            entries
        ):
            raise DataError(
                "provenance.json has other classes, or another number of samples than"
                " catalogue.csv"
            )
        holes = typed.take(_Holes, dict(facts), "provenance.json, task").holes
        return {"holes": frozenset(holes)}

    def catalogue(self) -> Sequence[Entry]:
        """Return class, recording and city of every sample."""
        return self.entries

    def recordings(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the class and the samples of each unbroken stretch of a recording, as
        the task does.
        """
        recordings: list[tuple[str, tuple[int, ...]]] = []
        for index, entry in enumerate(self.entries):
            follows = (
                index
                and self.entries[index - 1].recording == entry.recording
                and index not in self.holes
            )
            label, indices = recordings.pop() if follows else (entry.label, ())
            recordings.append((label, (*indices, index)))
        return recordings

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        return scored(self.entries[index].label, output)

    def parts(self, output: bytes) -> dict[str, list[float]]:
        """Return spike counts and membranes of an output."""
        return parts(output)
