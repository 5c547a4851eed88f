# SPDX-License-Identifier: Apache-2.0
"""Scores of the task, and the task without its samples: a session folder is enough to
plan and to score again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rig.errors import DataError, RemoteProtocolError
from rig.model.catalogue import Entry
from rig.model.scores import Score
from scenarios.tasks.replica import CatalogueReplica, refuse_labels

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


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkReplica(CatalogueReplica):
    """Labels of the samples, and the number of the network's outputs."""

    outputs: int

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        outputs = facts.get("outputs")
        if not isinstance(outputs, int) or not 0 < outputs <= _OUTPUTS_MAX:
            raise DataError(
                f"provenance.json has {str(outputs)[:40]!r} outputs of the network"
            )
        refuse_labels(entries, [*map(str, range(outputs))], f"{outputs} outputs")
        if facts.get("samples") != len(entries):
            raise DataError(
                "provenance.json has another number of samples than catalogue.csv"
            )
        return {"outputs": outputs}

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        return scored(self.entries[index].label, self.outputs, output)

    def parts(self, output: bytes) -> dict[str, list[float]]:
        """Return sums and last membranes of an output."""
        return parts(self.outputs, output)
