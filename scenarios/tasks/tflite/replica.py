# SPDX-License-Identifier: Apache-2.0
"""The task without its samples and its model: a session folder is enough to plan and to
score again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.errors import DataError
from rig.files import typed
from rig.model.catalogue import Entry
from rig.model.scores import Score
from scenarios.tasks.replica import CatalogueReplica
from scenarios.tasks.tflite import answer

#: No device answers more (firmware/ports/posix/main.c).
_OUTPUTS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts of the task's provenance that are read again."""

    outputs: int
    labelled: bool
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TfliteReplica(CatalogueReplica):
    """Labels of the samples, and the size of an output."""

    outputs: int
    labelled: bool

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        stated = typed.take(_Facts, dict(facts), "provenance.json, task")
        if not 0 < stated.outputs <= _OUTPUTS_MAX:
            raise DataError(
                f"provenance.json has {stated.outputs} outputs of the model"
            )
        if stated.samples != len(entries):
            raise DataError(
                "provenance.json has another number of samples than catalogue.csv"
            )
        for index, entry in enumerate(entries):
            if not _is_label(entry.label, stated):
                raise DataError(
                    f"catalogue.csv, line {index + 2}: {entry.label[:40]!r} is none of"
                    f" {stated.outputs} outputs"
                )
        return {"outputs": stated.outputs, "labelled": stated.labelled}

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        label = self.entries[index].label
        return answer.scored(label, self.outputs, output, labelled=self.labelled)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": answer.values(self.outputs, output)}


def _is_label(label: str, stated: _Facts) -> bool:
    if not stated.labelled:
        return len(label) == len(answer.digest(b"")) and label.isalnum()
    return label.isdecimal() and int(label[:9]) < stated.outputs
