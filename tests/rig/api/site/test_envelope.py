# SPDX-License-Identifier: Apache-2.0
"""Columns of traces as a browser unpacks them, by an unpacking of the test's own."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from rig.api.site import envelope
from rig.api.site.envelope import DrawnWindows, PowerColumns
from rig.api.traces.trace import open_trace
from tests.rig.api.site.test_site import named

pytestmark = pytest.mark.computes


def unpacked(text: str, planes: int) -> list[int]:
    """Return the numbers of a text."""
    content = zlib.decompress(base64.b64decode(text), wbits=-15)
    count = len(content) // planes
    numbers = []
    for at in range(count):
        found = bytes(content[plane * count + at] for plane in range(planes))
        numbers.append(int.from_bytes(found.ljust(4, b"\0"), "big"))
    return numbers


def floats(text: str, planes: int) -> np.ndarray:
    numbers = unpacked(text, planes)
    return np.array([struct.unpack(">f", struct.pack(">I", n))[0] for n in numbers])


def test_columns_hide_no_extreme_and_keep_twelve_bits() -> None:
    rng = np.random.default_rng(3)
    sizes = 10.0 ** rng.uniform(-9, 2, 4000)
    least = (rng.choice([-1, 1], 4000) * sizes).astype(np.float32)
    most = (least + np.abs(least) * 0.1).astype(np.float32)
    least[7] = most[7] = np.nan
    most[9] = least[9] = 0.0
    found = floats(PowerColumns(64, least, most).text(), 3)
    low, high = found[:4000], found[4000:]
    known = ~np.isnan(least)
    assert np.isnan(low[7]) and np.isnan(high[7]) and low[9] == high[9] == 0
    for given, kept, sign in ((least, low, -1), (most, high, 1)):
        away = sign * (kept[known] - given[known].astype(np.float64))
        assert (away >= 0).all()
        assert (away <= np.abs(given[known]) * 2**-12).all()


def test_wider_columns_are_of_whole_narrow_ones() -> None:
    rng = np.random.default_rng(1)
    least = rng.normal(size=1001).astype(np.float32)
    found, text = envelope.within(PowerColumns(64, least, least + 1), 1200)
    assert found.width in (256, 512) and len(text) <= 1200
    parts = found.width // 64
    expected = [least[at : at + parts].min() for at in range(0, 1001, parts)]
    assert found.least.tolist() == pytest.approx(expected)


def test_columns_and_tiles_are_those_of_every_sample(sessions: Path) -> None:
    path = named(sessions, "quick") / "trial-1" / "trace.jls"
    trace = open_trace(path)
    power = trace.power()
    columns = envelope.of_trace(trace.recorded)
    assert len(columns.least) == -(-len(power) // 64)
    for at in (0, 5, len(columns.least) - 1):
        part = power[64 * at : 64 * at + 64]
        assert columns.least[at] == pytest.approx(part.min(), rel=1e-6)
        assert columns.most[at] == pytest.approx(part.max(), rel=1e-6)
    (tile,) = envelope.tiles(trace.recorded)
    assert floats(tile, 4) == pytest.approx(power, rel=1e-6)


def test_windows_are_those_of_the_trial(sessions: Path) -> None:
    path = named(sessions, "quick") / "trial-1" / "trace.jls"
    trace = open_trace(path)
    spans = trace.spans
    found = DrawnWindows.of(spans, trace.sample_hz)
    numbers = unpacked(found.text, 4)
    starts = np.cumsum(numbers[: found.count])
    lengths = numbers[found.count : 2 * found.count]
    phases = [found.phases[at] for at in numbers[2 * found.count :]]
    assert spans is not None
    due = [one for one in spans if not one.warm_up]
    assert [one.phase for one in due] == phases and "idle" in phases
    assert starts / trace.sample_hz == pytest.approx(
        [one.start_s for one in due], abs=1 / trace.sample_hz
    )
    assert np.array(lengths) / trace.sample_hz == pytest.approx(
        [one.stop_s - one.start_s for one in due], abs=1 / trace.sample_hz
    )
