# SPDX-License-Identifier: Apache-2.0
"""Served devices for tests: in a thread of this process, and in virtual time without a
port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.interfaces.sut import SystemUnderTest
from sut_backends.served.device import ServedDevice
from sut_backends.served.endpoints import Endpoint
from sut_backends.served.serve import Server
from sut_backends.virtual.backend import VirtualSut


def echo(slots: int = 4) -> VirtualSut:
    """Return a virtual device that answers with its input, as far as the null workload
    does."""
    context = replace(BenchContext(), reference=lambda payload: payload[:64])
    return VirtualSut.open(VirtualSut.Settings(slots=slots), context)


@contextmanager
def serving(
    open_sut: Callable[[], SystemUnderTest],
    endpoint: Endpoint,
    stop: Stop | None = None,
) -> Iterator[tuple[Server, list[str]]]:
    """Serve until the block is left; yield the server and its messages."""
    reported: list[str] = []
    stop = stop or Stop()
    server = Server(open_sut, endpoint, reported.append)
    failed: list[BaseException] = []

    def work() -> None:
        with stop.heard():
            try:
                server.run()
            except KeyboardInterrupt:
                pass
            except BaseException as error:
                failed.append(error)
            finally:
                server.close()

    thread = threading.Thread(target=work, name="server", daemon=True)
    thread.start()
    try:
        yield server, reported
    finally:
        stop.request()
        thread.join(20.0)
        assert not thread.is_alive()
        endpoint.close()
    if failed:
        raise failed[0]


class TimedDevice:
    """A served device in virtual time, as FaultyLine wants one."""

    def __init__(self, sut: SystemUnderTest) -> None:
        self.now_us = 0
        self._device = ServedDevice(sut, self._arrived)
        self._coming: list[tuple[int, bytes]] = []

    def send(self, block: bytes, delay_us: int) -> None:
        """Let bytes arrive."""
        self._coming.append((self.now_us + max(delay_us, 0), block))

    def listen(self, duration_us: int) -> bytes:
        """Let time pass until it says something."""
        end_us = self.now_us + duration_us
        while self.now_us < end_us:
            wake_us = self._device.wake_s * 1e6 + 1
            arrival_us = self._coming[0][0] if self._coming else end_us
            self.now_us = max(self.now_us, int(min(end_us, arrival_us, wake_us)))
            block = self._arrived()
            now_s = self.now_us / 1e6
            output = (
                self._device.receive(block, now_s)
                if block
                else self._device.silence(now_s)
            )
            if output:
                return output
            if not block and self.now_us < min(arrival_us, end_us):
                self.now_us += 1
        return b""

    def _arrived(self) -> bytes:
        due = [block for at_us, block in self._coming if at_us <= self.now_us]
        del self._coming[: len(due)]
        return b"".join(due)
