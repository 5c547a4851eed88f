# SPDX-License-Identifier: Apache-2.0
"""A line with one fault, in the virtual time of its device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tests.sut_backends.uart.core_device import Device

BYTE_US = 87
LIMIT_S = 60.0  # of virtual time: far more than any conversation needs to be given up


@dataclass
class Fault:
    """What happens to byte `at` of one direction."""

    way: str = ""
    kind: str = ""
    at: int = -1


KINDS = {
    "lost": 0,
    "doubled": 0,
    "flipped": 0,
    "zeroed": 0,
    "late": 30_000,
    "stalled": 150_000,
    "cut": 0,
}


def spread(kind: str, every: range, step: int) -> range:
    """Return the bytes that this kind of fault is to spoil, one in `step`; the kinds
    take turns, so that each byte is spoilt.
    """
    return every[[*KINDS].index(kind) % step :: step]


class FaultyLine:
    """A line of 115 200 baud to the device, in its time; `passed` counts the bytes of
    each direction.
    """

    name = "virtual"
    baud = 115_200

    def __init__(self, device: Device, fault: Fault) -> None:
        self._device = device
        self._fault = fault
        self.passed = {"tx": 0, "rx": 0}
        self._tx_free_us = 0
        # on the way to the host: from when, what
        self._waiting: list[tuple[int, bytes]] = []
        self._cut = False

    def clock(self) -> float:
        return self._device.now_us / 1e6

    def write(self, block: bytes) -> None:
        for piece, late_us in self._spoilt("tx", block):
            now_us = self._device.now_us
            self._tx_free_us = (
                max(self._tx_free_us, now_us) + len(piece) * BYTE_US + late_us
            )
            self._device.send(piece, self._tx_free_us - now_us)

    def read(self, timeout_s: float) -> bytes:
        end_us = self._device.now_us + math.ceil(timeout_s * 1e6)
        assert self.clock() < 12.345678 + LIMIT_S, "a hang"
        while True:
            now_us = self._device.now_us
            if self._waiting and self._waiting[0][0] <= now_us:
                return self._waiting.pop(0)[1]
            if now_us >= end_us:
                return b""
            self._listen(
                min([end_us, *(due_us for due_us, _ in self._waiting[:1])]) - now_us
            )

    def sleep(self, duration_s: float) -> None:
        """Let the device run; its output meanwhile is on the way."""
        end_us = self._device.now_us + math.ceil(duration_s * 1e6)
        while self._device.now_us < end_us:
            self._listen(end_us - self._device.now_us)

    def set_baud(self, baud: int) -> None:
        raise AssertionError("no change of the line rate here")

    def close(self) -> None:
        """Have no effect."""

    def _listen(self, duration_us: int) -> None:
        for piece, late_us in self._spoilt("rx", self._device.listen(duration_us)):
            due_us = max(
                [
                    self._device.now_us + late_us,
                    *(due_us for due_us, _ in self._waiting[-1:]),
                ]
            )
            self._waiting.append((due_us, piece))

    def _spoilt(self, way: str, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Give the pieces that come out, and how much later than they should."""
        first = self.passed[way]
        fault = self._fault
        self.passed[way] += len(block)
        if fault.way != way or not (
            self._cut or first <= fault.at < first + len(block)
        ):
            if block:
                yield block, 0
            return
        if self._cut:
            return
        at = fault.at - first
        before = block[:at]
        byte = block[at : at + 1]
        after = block[at + 1 :]
        if before:
            yield before, 0
        match fault.kind:
            case "lost":
                byte = b""
            case "doubled":
                byte += byte
            case "flipped":
                byte = bytes([byte[0] ^ 1 << fault.at % 8])
            case "zeroed":
                byte = b"\0"
            case "cut":
                self._cut = True
                byte = b""
                after = b""
        if byte + after:
            yield byte + after, KINDS[fault.kind]
