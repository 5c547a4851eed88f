# SPDX-License-Identifier: Apache-2.0
"""Scores of the task, and the task without its samples: a session folder is enough to
plan and to score again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rig.errors import DataError, NotInSession, RemoteProtocolError
from rig.interfaces.task import Task
from rig.model.catalogue import Entry
from rig.model.scores import Score

#: No device answers more (firmware/ports/posix/main.c).
_OUTPUTS_MAX = 100_000


def parts(outputs: int, output: bytes) -> dict[str, list[float]]:
    """Return sums and last membranes of an output, by name, in the device's whole
    numbers."""
    sums, last = sums_and_membranes(outputs, output)
    return {"sums": sums, "membranes": last}


def sums_and_membranes(outputs: int, output: bytes) -> tuple[list[float], list[float]]:
    """Return sums and last membranes of an output, in the device's whole numbers."""
    if len(output) != 8 * outputs:
        raise RemoteProtocolError(
            f"an output of {len(output)} B, the network gives {8 * outputs} B",
            evidence=output[:32].hex(),
        )
    sums, last = np.frombuffer(output, "<i4").reshape(2, -1).tolist()
    return sums, last


def scored(label: str, outputs: int, output: bytes) -> Score:
    """Take the output with the largest sum, then the highest membrane, then the lowest
    index."""
    sums, last = sums_and_membranes(outputs, output)
    best = max(zip(sums, last, range(0, -outputs, -1), strict=True))
    answer = str(-int(best[2]))
    return Score(answer == label, label, answer)


@dataclass(frozen=True, slots=True)
class NetworkReplica(Task):
    """Labels of the samples, from the catalogue, and the number of the network's
    outputs."""

    name: str
    phases: tuple[str, ...]
    entries: tuple[Entry, ...]
    outputs: int
    facts: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        name: str,
        phases: tuple[str, ...],
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
    ) -> NetworkReplica:
        """Check the session's facts of its samples; raises DataError."""
        outputs = facts.get("outputs")
        if not isinstance(outputs, int) or not 0 < outputs <= _OUTPUTS_MAX:
            raise DataError(
                f"provenance.json has {str(outputs)[:40]!r} outputs of the network"
            )
        labels = {str(number) for number in range(outputs)}
        for index, entry in enumerate(entries):
            if entry.label not in labels:
                raise DataError(
                    f"catalogue.csv, line {index + 2}: {entry.label[:40]!r} is none of"
                    f" {outputs} outputs"
                )
        if facts.get("samples") != len(entries):
            raise DataError(
                "provenance.json has another number of samples than catalogue.csv"
            )
        return cls(name, phases, tuple(entries), outputs, facts)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.entries)

    def payload(self, index: int) -> bytes:
        """Raise NotInSession: the samples are not in the session."""
        raise NotInSession(f"sample {index} is not in the session")

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        return scored(self.entries[index].label, self.outputs, output)

    def parts(self, output: bytes) -> dict[str, list[float]]:
        """Return sums and last membranes of an output."""
        return parts(self.outputs, output)

    def provenance(self) -> dict[str, Any]:
        """Return the session's own facts."""
        return dict(self.facts)
