# SPDX-License-Identifier: Apache-2.0
"""The task without its sound and its model: a session folder is enough to plan and to
score again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from rig.errors import DataError
from rig.files import typed
from rig.interfaces.task import EVENT, NO_EVENT, EventTask
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.network.sound.mel import SAMPLE_HZ
from rig.network.wake.features import HOP
from rig.store.session_folder import CATALOGUE
from scenarios.tasks.replica import CatalogueReplica
from scenarios.tasks.sww import answer
from scenarios.tasks.tflite.answer import values

#: No model has more classes than this.
_OUTPUTS_MAX = 1000


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts of the task's provenance that are read again."""

    outputs: int
    samples: int
    words: tuple[tuple[int, int], ...]


def labels_of(names: Sequence[str]) -> list[str]:
    """Return the label of each hop by the words in it."""
    return [EVENT if name else NO_EVENT for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwwReplica(CatalogueReplica, EventTask):
    """Words of the signal, and the size of an output."""

    content = "the sound of hop"
    outputs: int
    words: tuple[tuple[int, int], ...]
    names: tuple[str, ...]
    sample_hz: int = SAMPLE_HZ
    window: int = HOP
    sample_b: int = 2

    @classmethod
    def _own_fields(
        cls, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> dict[str, Any]:
        stated = typed.take(_Facts, dict(facts), "provenance.json, task")
        if not 0 < stated.outputs <= _OUTPUTS_MAX:
            raise DataError(
                f"provenance.json has {stated.outputs} outputs of the model"
            )
        bounds = [0, *chain.from_iterable(stated.words), len(entries) * HOP]
        in_order = all(before <= after for before, after in pairwise(bounds))
        if stated.samples != len(entries) or not in_order:
            raise DataError("provenance.json has words that lie in no such signal")
        names = answer.names_of(stated.words, len(entries))
        if labels_of(names) != [one.label for one in entries]:
            raise DataError(
                "catalogue.csv has other labels than the words of provenance.json",
                file=CATALOGUE,
            )
        return {
            "outputs": stated.outputs,
            "words": stated.words,
            "names": tuple(names),
        }

    @property
    def score_count(self) -> int:
        """Return 1, as the task does."""
        return 1

    def events(self) -> Sequence[tuple[int, int]]:
        """Return the words."""
        return self.words

    def score(self, index: int, output: bytes) -> Score:
        """Score an output as the task does."""
        return answer.scored(self.names[index], self.outputs, output)

    def parts(self, output: bytes) -> dict[str, list[int]]:
        """Return the values of an output."""
        return {"values": values(self.outputs, output)}
