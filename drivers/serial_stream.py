# SPDX-License-Identifier: Apache-2.0
"""The bytes that an instrument sends by itself over a serial port, in blocks of
some 50 ms.
"""

from __future__ import annotations

import time

from rig.errors import DeviceLost
from rig.host.serial_port import SerialPort

_BLOCK_S = 0.05
#: USB brings up to 64 or 1024 bytes at a time, up to 3000 times a second: taking each
#: packet alone costs a tenth of a core. In this time at most 2000 bytes arrive, half of
#: a terminal's buffer.
_GATHER_S = 0.005
_PIECE_B = 2048


def gathered(port: SerialPort) -> bytes:
    """Return the bytes of some 50 ms; raises DeviceLost once none are left."""
    block = bytearray()
    end_s = time.monotonic() + _BLOCK_S
    while (left_s := end_s - time.monotonic()) > 0:
        try:
            piece = port.read(left_s)
        except DeviceLost:
            if not block:
                raise
            break  # the bytes before it count; the next call raises again
        block += piece
        if len(piece) < _PIECE_B:
            time.sleep(min(_GATHER_S, left_s))
    return bytes(block)
