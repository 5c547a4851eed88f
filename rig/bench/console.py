# SPDX-License-Identifier: Apache-2.0
"""A listener that puts into words what passes the line to a device, as its backend
knows how to."""

from __future__ import annotations

import time
from collections.abc import Callable

from rig.bench import plugins
from rig.interfaces.console import Decoded, WireLine


def console(kind: str, out: Callable[[WireLine], None]) -> Decoded:
    """Return a listener for `open_bench` and `probe` that calls `out` with each line,
    in the thread that talks to the device.
    """
    return Decoded(plugins.find("sut", kind).decoder(), out, time.monotonic)
