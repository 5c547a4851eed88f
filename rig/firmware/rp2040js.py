# SPDX-License-Identifier: Apache-2.0
"""rp2040js, an emulator of the Raspberry Pi Pico, under QEMU's options."""

from __future__ import annotations

from pathlib import Path

from rig.model.need import Need, NeedKind

#: What node runs: it finds the package rp2040js, which npm installs, in or above the
#: present folder or that of the image, or where npm installs for all.
BRIDGE = Path(__file__).with_suffix(".cjs")
NEED = Need(
    NeedKind.PROGRAM,
    "node",
    "npm install rp2040js@1.4.1, in the folder of the image or in one above it",
    (str(BRIDGE),),
)
