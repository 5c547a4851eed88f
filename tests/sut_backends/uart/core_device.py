# SPDX-License-Identifier: Apache-2.0
"""The firmware's C core as a library, with a fake port: its time is virtual, so that a
conversation takes a millisecond or two.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence

import pytest

from tests.builds import built

OUTPUT_B = 40


def build() -> Device:
    """Build a device; skip where there is no compiler."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler (Debian: gcc libc6-dev)")
    return Device(ctypes.CDLL(str(built("device-library") / "device" / "library.so")))


class Device:
    """The C core and its fake port."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, kind in (
            ("b", ctypes.c_size_t),
            ("us", ctypes.c_uint64),
            ("listen", ctypes.c_size_t),
            ("slot", ctypes.c_void_p),
        ):
            getattr(library, f"fake_device_{name}").restype = kind
        library.fake_receive.restype = ctypes.c_size_t
        self._memory = ctypes.create_string_buffer(library.fake_device_b())
        self._said = ctypes.create_string_buffer(65_536)

    def start(self) -> None:
        """Switch it on again."""
        self._library.fake_device_start(self._memory, OUTPUT_B)

    def start_searching(self, costs: Sequence[int]) -> None:
        """Switch it on with a workload that finds these costs, one every 250 us."""
        self.start()
        self._library.fake_device_searches(
            self._memory,
            (ctypes.c_int32 * len(costs))(*costs),
            ctypes.c_size_t(len(costs)),
        )

    def start_listening(self, answer_b: int) -> None:
        """Switch it on with a workload of one timed phase, 2 ms, and answers so short
        that it knows streams.
        """
        self.start()
        self._library.fake_device_answers(self._memory, ctypes.c_uint32(answer_b))

    @property
    def jobs(self) -> int:
        """Return how many inputs it has searched or inferred."""
        return int(self._library.fake_device_jobs(self._memory))

    @property
    def now_us(self) -> int:
        """Return its time."""
        return int(self._library.fake_device_us(self._memory))

    def send(self, block: bytes, delay_us: int) -> None:
        """Let bytes arrive."""
        self._library.fake_send_later(
            self._memory,
            block,
            ctypes.c_size_t(len(block)),
            ctypes.c_uint64(max(delay_us, 0)),
        )

    def listen(self, duration_us: int) -> bytes:
        """Let it run until it says something."""
        if not self._library.fake_device_listen(
            self._memory, ctypes.c_uint64(duration_us)
        ):
            return b""
        count_b = self._library.fake_receive(
            self._memory, self._said, ctypes.c_size_t(len(self._said))
        )
        return ctypes.string_at(self._said, count_b)

    def slot(self, number: int, length_b: int) -> bytes:
        """Return what lies in a slot."""
        return ctypes.string_at(
            self._library.fake_device_slot(self._memory, number), length_b
        )
