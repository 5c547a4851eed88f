# SPDX-License-Identifier: Apache-2.0
"""The task without its samples and its model: a session folder is enough to plan and to
score again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.errors import DataError, NotInSession
from rig.files import typed
from rig.interfaces.task import Task
from rig.model.catalogue import Entry
from rig.model.scores import Score
from scenarios.tasks.tflite import answer

#: No device answers more (firmware/ports/posix/main.c).
_OUTPUTS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts of the task's provenance that are read again."""

    outputs: int
    labelled: bool
    samples: int


@dataclass(frozen=True, slots=True)
class TfliteReplica(Task):
    """Labels of the samples, from the catalogue, and the size of an output."""

    name: str
    phases: tuple[str, ...]
    entries: tuple[Entry, ...]
    outputs: int
    labelled: bool
    facts: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        name: str,
        phases: tuple[str, ...],
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
    ) -> TfliteReplica:
        """Check the session's facts of its samples; raises DataError."""
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
        return cls(
            name=name,
            phases=phases,
            entries=tuple(entries),
            outputs=stated.outputs,
            labelled=stated.labelled,
            facts=facts,
        )

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.entries)

    def payload(self, index: int) -> bytes:
        """Raise NotInSession: the samples are not in the session."""
        raise NotInSession(f"sample {index} is not in the session")

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        label = self.entries[index].label
        return answer.scored(label, self.outputs, output, labelled=self.labelled)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": answer.values(self.outputs, output)}

    def provenance(self) -> dict[str, Any]:
        """Return the session's own facts."""
        return dict(self.facts)


def _is_label(label: str, stated: _Facts) -> bool:
    if not stated.labelled:
        return len(label) == len(answer.digest(b"")) and label.isalnum()
    return label.isdecimal() and int(label[:9]) < stated.outputs
