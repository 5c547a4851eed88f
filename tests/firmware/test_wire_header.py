# SPDX-License-Identifier: Apache-2.0
"""The firmware's header of wire numbers agrees with the host's messages."""

from __future__ import annotations

import sys

from sut_backends.shim import messages
from tests.conftest import ROOT
from tests.programs import captured

FIRMWARE = ROOT / "firmware"


def test_the_header_is_what_its_generator_makes_of_the_messages() -> None:
    made = captured(
        [sys.executable, str(FIRMWARE / "wire_header.py")], check=True, cwd=ROOT
    ).stdout
    assert made == (FIRMWARE / "core" / "nr_wire.h").read_text(encoding="utf-8")


def test_every_message_with_a_payload_has_its_size_in_the_header() -> None:
    header = (FIRMWARE / "core" / "nr_wire.h").read_text(encoding="utf-8")
    bare = {"GO", "PING", "PONG", "TEXT", "STATUS"}  # any bytes, or none
    for kind in messages.MessageKind:
        sized = f"NR_{kind.name}_B =" in header or f"NR_{kind.name}_FIXED_B =" in header
        assert sized != (kind.name in bare), kind
