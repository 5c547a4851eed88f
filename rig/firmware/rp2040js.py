# SPDX-License-Identifier: Apache-2.0
"""rp2040js, an emulator of the Raspberry Pi Pico, under QEMU's options."""

from __future__ import annotations

from pathlib import Path

#: What node runs: it finds the package rp2040js, which npm installs, in or above the
#: present folder or that of the image, or where npm installs for all.
BRIDGE = Path(__file__).with_suffix(".cjs")
#: Command that installs the package.
INSTALL = "npm install rp2040js@1.4.1, in the folder of the image or in one above it"
