# SPDX-License-Identifier: Apache-2.0
"""Recordings of Power Profiler's first format: written here after the reader in its
source."""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import DataError, RigError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from tests.length import length

LOW, HIGH = 1, 2


def bson(document: dict[str, Any]) -> bytes:
    """Return a BSON document of numbers, texts, truths, null and documents."""
    body = b""
    for name, value in document.items():
        key = name.encode() + b"\0"
        match value:
            case bool():
                body += b"\x08" + key + bytes([value])
            case int():
                body += b"\x10" + key + struct.pack("<i", value)
            case float():
                body += b"\x01" + key + struct.pack("<d", value)
            case str():
                text = value.encode() + b"\0"
                body += b"\x02" + key + struct.pack("<i", len(text)) + text
            case None:
                body += b"\x0a" + key
            case dict():
                body += b"\x03" + key + bson(value)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def packed(*parts: bytes) -> bytes:
    code = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return code.compress(b"".join(parts)) + code.flush()


def section(block: bytes) -> bytes:
    return struct.pack("<I", len(block)) + block


FACTS = {
    "samplesPerSecond": 1000,
    "timestamp": 100_000.0,
    "index": 99,
    "mode": "ampere",
}
CURRENT_UA = np.arange(120, dtype="<f4") + 5


def recording(
    facts: dict[str, Any] = FACTS, legacy: bool = False, lines: bytes = b""
) -> bytes:
    head = (
        bson(facts) + bson({"windowBegin": 0, "yMax": None})
        if legacy
        else bson({"version": 1, "options": facts, "chartState": {"live": False}})
    )
    return packed(head, section(CURRENT_UA.tobytes()), section(lines) if lines else b"")


def opened(tmp_path: Path, block: bytes, **options: Any) -> Opened:
    path = tmp_path / "old.ppk"
    path.write_bytes(block)
    return open_any(path, tmp_path / "scratch", Options(**options))


@pytest.mark.parametrize("legacy", [False, True], ids=["with a version", "without"])
def test_energy_is_that_of_the_samples_up_to_the_recordings_end(
    tmp_path: Path, legacy: bool
) -> None:
    result = opened(tmp_path, recording(legacy=legacy), supply_v=3.0)
    assert (result.trace.sample_hz, result.trace.length) == (1000, 100)
    due_j = math.fsum(CURRENT_UA[:100]) * 1e-6 * 3.0 / 1000
    assert result.trace.energy_j(0.0, 0.1) == pytest.approx(due_j, rel=1e-6)
    assert any("20 samples after the recording's end" in note for note in result.notes)


def test_a_rate_may_be_given_as_the_time_of_a_sample_and_a_line_has_its_edges(
    tmp_path: Path,
) -> None:
    states = np.full(120, LOW << 4, dtype="<u2")  # D2
    states[30:60] = HIGH << 4
    facts = {"samplingTime": 10}
    result = opened(
        tmp_path, recording(facts, lines=states.tobytes()), supply_v=3.0, sync="D2"
    )
    assert result.trace.sample_hz == 100_000
    assert result.trace.rises_s.tolist() == pytest.approx([29.5e-5])
    assert result.trace.falls_s.tolist() == pytest.approx([59.5e-5])
    with pytest.raises(DataError, match="no digital lines"):
        opened(tmp_path, recording(), supply_v=3.0, sync="D2")


@settings(max_examples=length(60, 25), deadline=None)
@given(st.integers(0, 400), st.integers(0, 255), st.booleans())
def test_a_damaged_file_is_an_error_and_no_crash(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, before: bool
) -> None:
    block = bytearray(recording())
    if before:  # the packed content is damaged, not the packing
        content = bytearray(zlib.decompress(bytes(block), -zlib.MAX_WBITS))
        content[at % len(content)] = byte
        block = bytearray(packed(bytes(content)))
    else:
        block[at % len(block)] = byte
    try:
        opened(tmp_path_factory.mktemp("ppk"), bytes(block), supply_v=3.0)
    except RigError as error:
        assert error.cause
