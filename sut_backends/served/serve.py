# SPDX-License-Identifier: Apache-2.0
"""Serve a backend until a request to stop: pass bytes from the host to the device and
back, and open the backend again where it is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rig.errors import BenchError, DeviceRestarted
from rig.host.stop import LOOK_S, heard_again, look
from rig.interfaces.sut import SystemUnderTest
from sut_backends.served.device import POWER_UP, ServedDevice
from sut_backends.served.endpoints import Endpoint
from sut_backends.served.requests import BackendGone

#: A backend that is lost more often, with no request served in between, is given up.
_RESTARTS_MAX = 3


class Server:
    """Serve a backend, opened by `open_sut`, at an endpoint; `tell` is called with
    messages for the user.
    """

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
        gone: BackendGone | None = None
        while True:
            look()
            # A request catches each error of its backend: also the guard's of a Stop.
            with heard_again():
                gone = self._turn(gone)

    def close(self) -> None:
        """Close the backend; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self.sut.close()
            self._device.end()

    def _turn(self, gone: BackendGone | None) -> BackendGone | None:
        """Restart where the backend is gone, else serve; return how it went in this
        turn.
        """
        try:
            if gone is None:
                self._serve()
            else:
                self._restart(gone)
        except BackendGone as lost:
            return lost
        return None

    def _serve(self) -> None:
        # A time-out counts only after a read that began later returned no byte: where
        # this process was scheduled late, the bytes are waiting in a buffer.
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

    def _restart(self, gone: BackendGone) -> None:
        """Act as a device that restarted: the host notices it and loads its samples
        again.
        """
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
        self._endpoint.read(0.0)  # requests to the lost device
        self._endpoint.write(POWER_UP)

    def _new_device(self) -> ServedDevice:
        return ServedDevice(self.sut, lambda: self._endpoint.read(0.0))
