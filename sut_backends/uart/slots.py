# SPDX-License-Identifier: Apache-2.0
"""Map of samples to the slots of the DUT."""

from __future__ import annotations

from rig.errors import LocalProtocolError


class Slots:
    """Map sample indices to slots; the least recently used slot is taken next."""

    def __init__(self, count: int) -> None:
        self._samples: dict[int, int | None] = dict.fromkeys(
            range(count)
        )  # slot -> sample, least recently used first

    def take(self, index: int) -> int:
        """Return the slot to load sample `index` into; it counts as empty until
        `keep`."""
        slot = next(
            (slot for slot, sample in self._samples.items() if sample == index), None
        )
        slot = next(iter(self._samples)) if slot is None else slot
        self._samples[slot] = None
        return slot

    def keep(self, slot: int, index: int) -> None:
        """Note that `slot` holds sample `index`."""
        del self._samples[slot]
        self._samples[slot] = index

    def find(self, index: int) -> int:
        """Return the slot that holds sample `index`; raise LocalProtocolError where
        none does."""
        slot = next(
            (slot for slot, sample in self._samples.items() if sample == index), None
        )
        if slot is None:
            there = sorted(
                sample for sample in self._samples.values() if sample is not None
            )
            raise LocalProtocolError(
                f"sample {index} is not loaded",
                evidence=f"in the DUT: {there or 'nothing'}",
            )
        self.keep(slot, index)
        return slot
