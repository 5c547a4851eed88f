# SPDX-License-Identifier: Apache-2.0
"""Programs for a CPU that tests know everything about."""

from __future__ import annotations

import json
import os
import time

from rig.interfaces.cpu_program import Program, Routine

HERE = "tests.sut_backends.uart.public_programs"


def program(name: str) -> Program:
    """Return one of the programs below."""
    return Program(f"{HERE}:{name}", "null", "null")


def null() -> Routine:
    """Answer with the first 64 bytes of the input, as the firmware's null workload."""
    return Routine(bytes, (lambda block: block, lambda block: block[:64]), bytes)


def talkative() -> Routine:
    """Print."""

    def shout(block: bytes) -> bytes:
        print("not an answer", flush=True)
        return block

    return Routine(bytes, (shout,), bytes)


def moody() -> Routine:
    """Answer with a window's second byte; by its first be slow (1 to 99: so many times
    10 ms), 100 refuse it, 101 fail, 102 die.

    103 answers twice.
    """

    def load(payload: bytes) -> bytes:
        if payload[0] == 100:
            raise ValueError("not this one")
        return payload

    def first(block: bytes) -> bytes:
        if block[0] == 101:
            raise ZeroDivisionError("of no use")
        if block[0] == 102:
            os._exit(9)
        time.sleep(0.01 * block[0] if block[0] < 100 else 0)  # it computes so long
        return block

    return Routine(
        load, (first, lambda block: block[1:2] * (2 if block[0] == 103 else 1)), bytes
    )


class Stairs:
    """A search that goes down by one at every look, or by `stride`, to `bottom`, from
    its seed on; then it only spends its time.
    """

    def __init__(self, bottom: int, seed: int) -> None:
        self.cost = -seed
        self._bottom = bottom
        self.asked: list[int | None] = []

    def advance(self, left_s: float, until: int | None) -> bool:
        """Go down a step; slowly, so that marks need not wait for each other."""
        self.asked.append(until)
        time.sleep(0.002)  # a step takes time
        self.cost = max(self.cost - 1, self._bottom)
        return True

    def output(self, met: bool) -> bytes:
        """Answer with all there is to know."""
        return json.dumps([self.cost, met, self.asked]).encode()


def stairs() -> Routine:
    """Search: the payload is how far down the stairs go."""
    return Routine(lambda payload: -int(payload), (), bytes, Stairs)


class Sleeper(Stairs):
    """A search that looks up once only, far too late, and then says that it can do no
    more."""

    def advance(self, left_s: float, until: int | None) -> bool:
        """Sleep."""
        time.sleep(left_s + 0.05)  # longer than it may
        self.cost = self._bottom
        return False


def sleeper() -> Routine:
    """Search without looking at the time."""
    return Routine(lambda payload: -int(payload), (), bytes, Sleeper)


def mortal() -> Routine:
    """Die of an empty input, fail at one that begins with 0, refuse one that begins
    with 1; else answer the process's number.
    """

    def load(payload: bytes) -> bytes:
        if payload[:1] == b"\1":
            raise ValueError("no ones")
        return payload

    def solve(block: bytes) -> bytes:
        if not block:
            os._exit(7)
        return str(os.getpid() // block[0]).encode()

    return Routine(load, (solve,), bytes)
