# SPDX-License-Identifier: Apache-2.0
"""Samples in the slots of the DUT: how they are loaded, and which slot holds which."""

from __future__ import annotations

import zlib

from rig.errors import LocalProtocolError
from rig.model.steps import Query
from sut_backends.shim import messages
from sut_backends.shim.messages import CapsMessage, MessageKind
from sut_backends.uart.exchange import FrameExchange

#: Bytes of content in DATA; in shorter frames the overhead is most of the frame.
_STEP_MIN_B = 32


class SlotMap:
    """Map sample indices to `count` slots; the least recently used slot is taken
    next.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        # slot -> sample, least recently used first
        self._samples: dict[int, int | None] = {}
        self.clear()

    def clear(self) -> None:
        """Treat all slots as empty."""
        self._samples = dict.fromkeys(range(self._count))

    def take(self, index: int) -> int:
        """Return the slot to load sample `index` into; it counts as empty until
        `keep`.
        """
        slot = self._slot_of(index)
        if slot is None:
            slot = next(iter(self._samples))
        self._samples[slot] = None
        return slot

    def keep(self, slot: int, index: int) -> None:
        """Note that `slot` holds sample `index`."""
        del self._samples[slot]
        self._samples[slot] = index

    def find(self, index: int) -> int:
        """Return the slot that holds sample `index`; raise LocalProtocolError where
        none does.
        """
        slot = self._slot_of(index)
        if slot is None:
            held = self._samples.values()
            loaded = sorted(sample for sample in held if sample is not None)
            raise LocalProtocolError(
                f"sample {index} is not loaded",
                evidence=f"in the DUT: {loaded or 'nothing'}",
            )
        self.keep(slot, index)
        return slot

    def _slot_of(self, index: int) -> int | None:
        for slot, sample in self._samples.items():
            if sample == index:
                return slot
        return None


class FramedSlots(SlotMap):
    """Load samples into the slots of a DUT in the framed layer."""

    def __init__(self, exchange: FrameExchange, caps: CapsMessage) -> None:
        super().__init__(caps.slots)
        self.exchange = exchange
        self.caps = caps
        self._step_b = self._step_max_b
        self._left_open = False

    def load(self, index: int, content: bytes) -> None:
        """Load sample `index`; raise LocalProtocolError where it does not fit a
        slot.
        """
        if not content or len(content) > self.caps.slot_b:
            raise LocalProtocolError(
                f"sample {index} has {len(content)} bytes, the DUT takes 1 to "
                f"{self.caps.slot_b}"
            )
        slot = self.take(index)
        self.put(slot, content)
        self.keep(slot, index)

    def put(self, slot: int, content: bytes) -> None:
        """Store `content` in `slot`; the DUT has checked its CRC-32 when this returns.

        LOAD, DATA and COMMIT follow each other without a wait, unless a slot may have
        been left open: then DATA whose LOAD is lost would be stored there. If most
        frames break, they are made shorter and the load starts again.
        """
        link = self.exchange.link
        while True:
            step_b = self._step_b
            before = link.retransmissions
            requests = _requests(slot, content, step_b)
            if self._left_open:
                self.exchange.ask(*requests.pop(0))
            self._left_open = True
            if self.exchange.stream(requests, fragile=step_b > _STEP_MIN_B):
                break
            self._step_b = max(step_b // 2, _STEP_MIN_B)
        self._left_open = False
        self._fit(len(requests), link.retransmissions - before)

    @property
    def _step_max_b(self) -> int:
        return self.caps.max_payload_b - messages.DataMessage.head.size

    def _fit(self, frames: int, repeats: int) -> None:
        """Adapt the frame length to the losses: a byte in a thousand spoils most long
        frames but few short ones.
        """
        if repeats * 4 > frames:
            self._step_b = max(self._step_b // 2, _STEP_MIN_B)
        elif repeats == 0:
            self._step_b = min(self._step_b * 2, self._step_max_b)


def only_index(query: Query) -> int:
    """Return the one sample of `query`; raise LocalProtocolError where there are more,
    or a batch: a window holds one sample.
    """
    if query.batch or len(query.indices) != 1:
        raise LocalProtocolError(
            f"a query of {len(query.indices)} samples, this backend runs one at a time"
        )
    return query.indices[0]


def _requests(
    slot: int, content: bytes, step_b: int
) -> list[tuple[MessageKind, bytes]]:
    load = messages.LoadMessage(slot, len(content), zlib.crc32(content))
    requests = [(load.kind, load.pack())]
    for offset_b in range(0, len(content), step_b):
        piece = content[offset_b : offset_b + step_b]
        data = messages.DataMessage(offset_b, piece)
        requests.append((data.kind, data.pack()))
    commit = messages.CommitMessage(slot)
    requests.append((commit.kind, commit.pack()))
    return requests
