# SPDX-License-Identifier: Apache-2.0
"""Serve a backend until somebody stops it: bytes from the host to the device and back,
and a new beginning where the backend is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rig.errors import BenchError, DeviceRestarted
from rig.host.stop import LOOK_S, look
from rig.interfaces.sut import SystemUnderTest
from sut_backends.served.device import POWER_UP, ServedDevice
from sut_backends.served.endpoints import Endpoint
from sut_backends.served.requests import BackendGone

#: A backend that is lost so often, with no request served in between, does not come
#: back.
_RESTARTS_MAX = 3


class Server:
    """A backend that `open_sut` opens, behind an endpoint; `tell` is told what
    happens."""

    def __init__(
        self,
        open_sut: Callable[[], SystemUnderTest],
        endpoint: Endpoint,
        tell: Callable[[str], None],
    ) -> None:
        self._open_sut = open_sut
        self._endpoint = endpoint
        self._tell = tell
        self.sut = open_sut()
        self._closed = False
        self._device = self._new_device()
        self._restarts = 0

    def run(self) -> None:
        """Serve until Stopped or KeyboardInterrupt; BenchError where the backend does
        not come back.
        """
        self._endpoint.write(POWER_UP)
        while True:
            look()
            try:
                self._turn()
            except BackendGone as gone:
                self._begin_anew(gone)

    def close(self) -> None:
        """Close the backend; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self.sut.close()
            self._device.end()

    def _turn(self) -> None:
        # What is due counts only when a read that began after it found nothing: a late
        # scheduler is no silence.
        now_s = time.monotonic()
        wait_s = min(max(self._device.wake_s - now_s, 0.0), LOOK_S)
        block = self._endpoint.read(wait_s)
        if block:
            self._endpoint.write(self._device.receive(block, time.monotonic()))
            return
        sent = self._device.silence(now_s)
        if sent:
            self._restarts = 0
            self._endpoint.write(sent)

    def _begin_anew(self, gone: BackendGone) -> None:
        """Be a device that restarted: the host hears of it, and loads again what it had
        loaded."""
        self._tell(
            f"the device restarts: {gone.error.cause} {gone.error.evidence}".rstrip()
        )
        self._restarts += 1
        if self._restarts > _RESTARTS_MAX:
            raise BenchError(
                f"the backend was lost {self._restarts} times without one answer in"
                " between",
                evidence=gone.error.cause,
                try_next=gone.error.try_next
                or "rig run on this computer, with the same bench",
            ) from gone
        if not isinstance(gone.error, DeviceRestarted):
            self.sut.close()
            self._device.end()
            self.sut = self._open_sut()
        self._device = self._new_device()
        self._endpoint.read(0.0)  # asked of the device that was
        self._endpoint.write(POWER_UP)

    def _new_device(self) -> ServedDevice:
        return ServedDevice(self.sut, lambda: self._endpoint.read(0.0))
