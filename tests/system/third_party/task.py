# SPDX-License-Identifier: Apache-2.0
"""A task of a third party: how many bits of the payload are set."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from rig.interfaces.context import BenchContext
from rig.interfaces.task import Task
from rig.model.catalogue import Entry
from rig.model.scores import Score


class BitsTask(Task):
    """Random payloads, whose set bits are to be counted."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """How many payloads there are."""

        samples: int = 8

    name = "acme_bits"
    phases = ("count",)

    def __init__(self, samples: int) -> None:
        self._samples = samples

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        return cls(settings.samples)

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> Self:
        return cls(settings.samples)

    def __len__(self) -> int:
        return self._samples

    def payload(self, index: int) -> bytes:
        return random.Random(index).randbytes(16)

    def reference(self, payload: bytes) -> bytes:
        return bytes([int.from_bytes(payload, "big").bit_count()])

    def score(self, index: int, output: bytes) -> Score:
        right = self.reference(self.payload(index))
        return Score(output == right, str(right[0]), str(output[0]))

    def provenance(self) -> dict[str, Any]:
        return {"source": "random bytes"}
