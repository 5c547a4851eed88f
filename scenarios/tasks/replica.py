# SPDX-License-Identifier: Apache-2.0
"""Tasks without their samples, from the catalogue and the provenance of a session."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from rig.errors import DataError, NotInSession
from rig.interfaces.task import Task
from rig.model.catalogue import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueReplica(Task, ABC):
    """Stand-in for a task with the session's `facts` and the `entries` of its
    catalogue, which plans and scores and has no samples.
    """

    #: The missing content, before the number of a sample.
    content: ClassVar[str] = "sample"
    name: str
    phases: tuple[str, ...]
    entries: Sequence[Entry]
    facts: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        name: str,
        phases: tuple[str, ...],
        facts: Mapping[str, Any],
        entries: Sequence[Entry],
    ) -> Self:
        """Check the session's facts of its samples; raises DataError."""
        fields = cls._own_fields(facts, entries)
        return cls(name=name, phases=phases, facts=facts, entries=entries, **fields)

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        """Check facts and entries, and return the fields of this kind of replica;
        raises DataError.
        """
        return {}

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.entries)

    def payload(self, index: int) -> bytes:
        """Raise NotInSession: a session has no samples."""
        raise NotInSession(f"{self.content} {index} is not in the session")

    def provenance(self) -> dict[str, Any]:
        """Return the session's own facts."""
        return dict(self.facts)


def refuse_labels(entries: Sequence[Entry], labels: Sequence[str], kinds: str) -> None:
    """Raise DataError where a label of the catalogue is none of a task's."""
    known = set(labels)
    for line, entry in enumerate(entries, start=2):
        if entry.label not in known:
            raise DataError(
                f"catalogue.csv, line {line}: {entry.label[:40]!r} is none of {kinds}"
            )
