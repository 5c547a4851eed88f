# SPDX-License-Identifier: Apache-2.0
"""A firmware image in QEMU or rp2040js, its UART on a TCP port of this machine. Its
times and energies are not results of a device.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rig.errors import DeviceLost
from rig.firmware import toolchain
from rig.firmware.rp2040js import BRIDGE
from rig.host.kill_with_parent import KillWithParent

#: What runs each emulator.
_PROGRAMS = {"qemu": "qemu-system-arm", "rp2040js": "node"}
#: The machine that rp2040js has.
PICO = "pico"
_END_S = 2.0
#: No display, no network; the board's clock goes with this machine's, as a real one
#: would.
_OPTIONS = ("-display", "none", "-monitor", "none", "-nic", "none")


def program(emulator: str) -> list[Path]:
    """Return the words that start an emulator; raise DeviceNotFound where its program
    is not installed.
    """
    path = toolchain.find(_PROGRAMS[emulator])
    return [path, BRIDGE] if emulator == "rp2040js" else [path]


class Emulator:
    """A running image; `url` is its UART as pyserial takes it. Ends with its `with`
    block; `options` are more of the emulator's own.
    """

    def __init__(
        self,
        image: Path,
        machine: str,
        options: Sequence[str] = (),
        emulator: str = "qemu",
    ) -> None:
        words = program(emulator)
        self._program = words[-1].name
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.url = f"socket://127.0.0.1:{listener.getsockname()[1]}"
            # The open listener goes to QEMU: a port number alone could be taken by
            # another program meanwhile. Without nodelay each byte the firmware sends
            # waits for the acknowledgement of the one before.
            line = (
                f"socket,id=uart,fd={listener.fileno()},server=on,wait=off,nodelay=on"
            )
            uart = ["-chardev", line, "-serial", "chardev:uart"]
            command = [
                *map(str, words),
                "-M",
                machine,
                "-kernel",
                str(image),
                *_OPTIONS,
                *options,
                *uart,
            ]
            try:
                pass_fds = (listener.fileno(),)
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stderr=self._stderr,
                    pass_fds=pass_fds,
                )
            except BaseException:
                self._stderr.close()
                raise
        try:
            self._kill_with_parent = KillWithParent(self._process.pid)
        except BaseException:
            self._end()
            raise

    def wait(self, timeout_s: float | None = None) -> None:
        """Return after `timeout_s` (None: never), or raise DeviceLost when the emulator
        ends by itself.
        """
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return
        self._stderr.seek(0)
        stderr = self._stderr.read().decode("utf-8", "backslashreplace").strip()
        hint = (
            f"{self._program} -M help lists the machines; the image must be built for"
            " this one"
        )
        raise DeviceLost(
            f"the emulator ended, exit code {code}",
            evidence=stderr or "it said nothing",
            try_next=hint,
        )

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._kill_with_parent.close()

    def _end(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._process.kill()
        self._process.wait()
        self._stderr.close()
