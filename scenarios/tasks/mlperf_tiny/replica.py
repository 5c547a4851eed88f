# SPDX-License-Identifier: Apache-2.0
"""The task without its tensors: a session folder is enough to plan and to score it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rig.errors import DataError
from rig.files import typed
from rig.model.catalogue import Entry
from rig.model.scores import Score
from scenarios.tasks.mlperf_tiny import answer
from scenarios.tasks.replica import CatalogueReplica, refuse_labels


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts of the task's provenance that are read again."""

    classes: int
    tensors: int
    output: str
    same_content: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyReplica(CatalogueReplica):
    """Labels and files of the tensors; `same` maps some to an earlier one with the same
    bytes.
    """

    outputs: int
    form: answer.Format
    same: Mapping[int, int]

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        stored = typed.take(_Facts, dict(facts), "provenance.json, task")
        classes = stored.classes
        labels = [*map(str, range(min(classes, 10_000)))]
        refuse_labels(entries, labels, f"{classes} classes")
        if stored.tensors != len(entries):
            raise DataError(
                f"provenance.json has {stored.tensors} tensors, catalogue.csv"
                f" {len(entries)}"
            )
        count, form = answer.parse(stored.output)
        same = dict(stored.same_content)
        return {"outputs": count, "form": form, "same": same}

    def payload(self, index: int) -> bytes:
        """Return what stands for the bytes of a tensor: equal for tensors of the same
        content, and for no others.
        """
        return b"tensor %d" % self.same.get(index, index)

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        return answer.scored(self.entries[index], output, self.form, self.outputs)

    @property
    def score_count(self) -> int:
        """One score for each class, or one alone."""
        return self.outputs
