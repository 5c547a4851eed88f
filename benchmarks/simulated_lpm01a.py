# SPDX-License-Identifier: Apache-2.0
"""A simulated X-NUCLEO-LPM01A in a process of its own."""

from __future__ import annotations

import signal
import threading
import time
from typing import TextIO

from drivers.st_lpm01a.sim.simulator import Lpm01aSimulator, Lpm01aSimulatorSettings
from rig.interfaces.context import BenchContext
from rig.simulation.world import World


def serve(out: TextIO) -> None:
    """Be a board in a process of its own until a signal ends it, in a world of real
    time with a DUT that draws 33 mW.

    Writes the lines `pty PORT`, then `supply on` or `supply off` at every change.
    """

    def tell(line: str) -> None:
        out.write(line + "\n")
        out.flush()

    world = World()
    began_ns = time.monotonic_ns()
    ended = threading.Event()
    world.follow(
        lambda: time.monotonic_ns() - began_ns, lambda: time.monotonic_ns() - began_ns
    )
    world.put(0, True, 0.033)
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    board = Lpm01aSimulator(
        Lpm01aSimulatorSettings(),
        BenchContext(world=world),
        lambda on: tell(f"supply {'on' if on else 'off'}"),
    )
    try:
        tell(f"pty {board.port}")
        while not ended.wait(0.1):
            pass
    except KeyboardInterrupt:
        pass
    finally:
        board.close()
