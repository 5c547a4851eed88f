# SPDX-License-Identifier: Apache-2.0
"""Programs for a CPU that tests know everything about."""

from __future__ import annotations

import os

from rig.program import Program, Routine

HERE = "tests.sut_backends.public_programs"


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


def mortal() -> Routine:
    """Die of an empty input, fail at one that begins with 0, refuse one that begins with 1; else answer the process's number."""

    def load(payload: bytes) -> bytes:
        if payload[:1] == b"\1":
            raise ValueError("no ones")
        return payload

    def solve(block: bytes) -> bytes:
        if not block:
            os._exit(7)
        return str(os.getpid() // block[0]).encode()

    return Routine(load, (solve,), bytes)
