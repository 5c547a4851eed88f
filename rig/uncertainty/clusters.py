# SPDX-License-Identifier: Apache-2.0
"""Clusters: groups of samples that are correlated, as those of one recording or one
city, and count as one.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rig.model.catalogue import Entry
from rig.model.trial import Measured

#: More clusters are deleted in random groups (Kott, Journal of Official Statistics 17,
#: 2001, 521: the delete-a-group jackknife).
GROUPS_MAX = 50
_SEED = 0
SAMPLE = "sample"
RECORDING = "recording"
CITY = "city"


@dataclass(frozen=True, slots=True)
class Clusters:
    """The groups of a task's samples, each a set of indices; they hold `count` clusters
    in all, each a `kind` ("recording").

    `note` names the effects beyond the clusters.
    """

    groups: tuple[frozenset[int], ...]
    count: int
    kind: str
    note: str = ""

    @property
    def units(self) -> str:
        """Return what counts as independent: "12 recordings"."""
        plural = self.kind[:-1] + "ies" if self.kind.endswith("y") else self.kind + "s"
        return f"{self.count} {self.kind if self.count == 1 else plural}"


def clusters(catalogue: Sequence[Entry], indices: Collection[int]) -> Clusters:
    """Return the clusters of the samples `indices`: cities where every sample has one,
    however few they are, else recordings, else samples.

    Recordings of one city are correlated: counted one by one, those of four cities
    would cover the truth in 59 to 85 % of intervals of 95 %.
    """
    asked = sorted(set(indices))
    entries = {index: catalogue[index] for index in asked if index < len(catalogue)}
    kind = SAMPLE
    note = ""
    keys: dict[int, object] = {index: index for index in asked}
    if len(entries) < len(asked):
        note = "the session has no catalogue: samples of one recording may be alike"
    elif asked and all(entry.city for entry in entries.values()):
        kind = CITY
        keys = {index: entry.city for index, entry in entries.items()}
    elif any(entry.recording for entry in entries.values()):
        kind = RECORDING
        keys = {index: entry.recording or index for index, entry in entries.items()}
        if any(entry.city for entry in entries.values()):
            note = (
                "not every sample has a city: that recordings of one are alike is not"
                " in it"
            )
    members: dict[object, set[int]] = {}
    for index, key in keys.items():
        members.setdefault(key, set()).add(index)
    return Clusters(_grouped(list(members.values())), len(members), kind, note)


def indices_of(measured: Measured) -> set[int]:
    """Return the indices of the task's samples that a trial has measured."""
    indices: set[int] = set()
    for sample in measured.samples:
        indices.update(sample.indices)
    for stream in measured.streams:
        for scene in stream.indices:
            indices.update(scene)
    return indices


def _grouped(members: list[set[int]]) -> tuple[frozenset[int], ...]:
    if len(members) <= GROUPS_MAX:
        return tuple(map(frozenset, members))
    random.Random(_SEED).shuffle(members)
    return tuple(
        frozenset().union(*members[number::GROUPS_MAX]) for number in range(GROUPS_MAX)
    )
