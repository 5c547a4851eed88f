# SPDX-License-Identifier: Apache-2.0
"""The emulator of a whole board: qemu-system-arm with the firmware's image, its line
and its edge wire on sockets of ours.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from rig.errors import BenchError, DeviceNotFound
from rig.firmware import toolchain
from rig.host.kill_with_parent import KillWithParent
from sut_backends.processes.child_process import ChildProcess, sha256_of

_BUILD = (
    "make -C firmware emulated in a checkout; else rig firmware new firmware --port"
    " mps2, and build it"
)
_VERSION_S = 10.0
_TRY = "start it by hand; it is to be QEMU's system emulation for Arm"

#: How the edge wire of each machine leaves the emulator; microbit has only one UART.
_WIRES = {
    "mps2-an385": ("-serial", "chardev:wire"),
    "netduinoplus2": ("-serial", "chardev:wire"),
    "microbit": (
        *("-semihosting-config", "enable=on,target=native,chardev=wire"),
        *("-global", "driver=nrf51-soc,property=sram-size,value=32768"),
    ),
}


class EmulatorProcess(ChildProcess):
    """A running emulator; `line` and `wire` are our ends of the UART and of the edge
    wire, which the caller closes.

    Virtual time is instructions executed, 2**`icount_shift` ns each, and the host's
    while the processor sleeps.
    """

    def __init__(
        self, emulator: str, machine: str, program: Path, icount_shift: int
    ) -> None:
        path = toolchain.find(emulator)
        self.program, self.sha256 = program, sha256_of(program, _BUILD)
        if (
            program.read_bytes()[:4] != b"\x7fELF"
        ):  # the emulator would run anything, from its first byte
            raise DeviceNotFound(
                f"{program} is no ELF image",
                evidence="it does not begin as one",
                try_next=_BUILD,
            )
        self.version = _version(path)
        self.line, line = socket.socketpair()
        self.wire, wire = socket.socketpair()
        try:
            with line, wire:
                ends = (line.fileno(), wire.fileno())
                options = ["-M", machine, "-kernel", str(program)]
                options += ["-icount", f"shift={icount_shift}"]
                options += ["-display", "none", "-monitor", "none", "-nic", "none"]
                options += ["-chardev", f"socket,id=line,fd={ends[0]}"]
                options += ["-serial", "chardev:line"]
                options += ["-chardev", f"socket,id=wire,fd={ends[1]}"]
                options += _WIRES[machine]
                super().__init__(
                    [path, *options],
                    ends,
                    what=f"{emulator} -M {machine}",
                    try_next=_TRY,
                )
            self._hold()
        except BaseException:
            self.line.close()
            self.wire.close()
            raise

    def _hold(self) -> None:
        try:
            self._kill_with_parent = KillWithParent(self.pid)
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """End the process; closing twice is allowed."""
        super().close()
        self._kill_with_parent.close()


def _version(path: Path) -> str:
    try:
        process = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_VERSION_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BenchError(
            f"{path} does not say its version", evidence=str(error), try_next=_TRY
        ) from error
    return process.stdout.partition("\n")[0]
