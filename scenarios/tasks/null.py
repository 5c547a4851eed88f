# SPDX-License-Identifier: Apache-2.0
"""The null task: random bytes that come back. It measures the cost of link, firmware
and rig alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from annotated_types import Interval, Unit, doc

from rig.errors import ConfigError, DataError, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.interfaces.task import Regeneration, Task
from rig.model.catalogue import Entry
from rig.model.scores import Score
from rig.settings.declare import Count, Seed
from rig.store.session_folder import BENCH, CATALOGUE
from rig.units import bytes_text

#: The null workload of the firmware answers the beginning of its input.
OUTPUT_B = 64
#: All payloads of a session together that a check draws again.
_REPLICA_MAX_B = 1 << 32
#: Bytes of a payload's line of the catalogue beside it.
_ENTRY_B = 1 << 10


class NullTask(Task):
    """Random payloads whose right answer is their own beginning: what link, firmware
    and rig cost.
    """

    @dataclass(frozen=True, slots=True)
    class Settings:
        """Settings: number and length of payloads, and the seed they are drawn from."""

        samples: Annotated[Count, Interval(ge=1, le=100_000), doc("Payloads.")] = 20
        payload_b: Annotated[
            int, Interval(ge=1, le=1 << 26), Unit("B"), doc("Length of each payload.")
        ] = 1024
        seed: Annotated[Seed, doc("Seed that the payloads are drawn from.")] = 1

    name = "null"
    phases: tuple[str, ...] = ("preprocess", "infer")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Return the task as it is set; ConfigError where no check could draw all
        payloads."""
        total_b = settings.samples * settings.payload_b
        if total_b > _REPLICA_MAX_B:
            raise ConfigError(
                f"{settings.samples} payloads of {settings.payload_b} B",
                path="task.null.samples",
                evidence=f"rig check draws {bytes_text(_REPLICA_MAX_B)} again at most",
                try_next=(
                    f"{_REPLICA_MAX_B // settings.payload_b} or fewer, or a shorter"
                    " payload_b"
                ),
            )
        return cls(settings)

    @classmethod
    def replica(
        cls, settings: Settings, facts: Mapping[str, Any], entries: Sequence[Entry]
    ) -> Self:
        """Return the task itself: its payloads are drawn from a seed; raises DataError
        where the catalogue has others.
        """
        task = cls(settings)
        if (
            settings.samples != len(entries)
            or settings.samples * settings.payload_b > _REPLICA_MAX_B
        ):
            raise DataError(
                f"bench.toml has {settings.samples} payloads of {settings.payload_b} B,"
                f" catalogue.csv {len(entries)}",
                file=BENCH,
            )
        about = task.provenance()
        if differing := [name for name in about if facts.get(name) != about[name]]:
            raise DataError(
                "provenance.json and bench.toml contradict each other:"
                f" {', '.join(differing)}"
            )
        for index, (due, entry) in enumerate(
            zip(task.catalogue(), entries, strict=True)
        ):
            if entry != due:
                raise DataError(
                    f"catalogue.csv, line {index + 2}: {entry.label[:16]!r},"
                    f" {due.label[:16]!r} is drawn from the seed",
                    file=CATALOGUE,
                )
        return task

    @classmethod
    def regenerated(cls, settings: Settings) -> Regeneration:
        """Return the task itself: its payloads are drawn from a seed."""
        task = cls(settings)
        facts = task.provenance()
        if settings.samples * (settings.payload_b + _ENTRY_B) > _REPLICA_MAX_B:
            return Regeneration(
                facts, unknown="more payloads than are drawn for a check"
            )
        return Regeneration(
            facts, task.catalogue(), task, lasting=("payload_b", "seed")
        )

    def __len__(self) -> int:
        return self._settings.samples

    def payload(self, index: int) -> bytes:
        """Return the random bytes of sample `index`."""
        return random.Random(f"{self._settings.seed}/{index}").randbytes(
            self._settings.payload_b
        )

    def reference(self, payload: bytes) -> bytes:
        """Return the right answer to a payload."""
        return payload[:OUTPUT_B]

    def catalogue(self) -> list[Entry]:
        """Return the right answer to every sample, in hexadecimal: each is drawn by
        itself."""
        entries = []
        for index in range(len(self)):
            right = self.reference(self.payload(index))
            entries.append(Entry(right.hex()))
        return entries

    def score(self, index: int, output: bytes) -> Score:
        """Compare an answer with the beginning of its payload."""
        right = self.reference(self.payload(index))
        if len(output) != len(right):
            raise RemoteProtocolError(
                f"the device answered {len(output)} bytes to sample {index},"
                f" {len(right)} were due"
            )
        if output[:8] != right[:8] or output == right:
            answer = output[:8].hex()
        else:
            answer = "differs later"
        return Score(
            output == right,
            right[:8].hex(),
            answer,
        )

    def provenance(self) -> dict[str, Any]:
        """Return the settings: they are all there is."""
        return {
            "source": "random bytes",
            "statement": "random bytes, and their beginning is the right answer",
            "payload_b": self._settings.payload_b,
            "seed": self._settings.seed,
        }
