# SPDX-License-Identifier: Apache-2.0
"""Recordings of Nordic's Power Profiler (.ppk2): archives written here after the
application's source.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import ConfigError, DataError
from rig.importers.open import open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from tests.length import length

NOT_KNOWN, LOW, HIGH, BOTH = range(4)
ABOUT = {
    "metadata": {"samplesPerSecond": 100_000, "startSystemTime": 1_700_000_000_000},
    "formatVersion": 2,
}


def frame(current_ua: float, lines: dict[int, int] | None = None) -> bytes:
    """One sample: lines by their number; those that are not named are low."""
    states = dict.fromkeys(range(8), LOW) | (lines or {})
    return struct.pack("<f", current_ua) + struct.pack(
        ">H", sum(state << (2 * number) for number, state in states.items())
    )


def archive(
    raw: bytes, about: Any = ABOUT, method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as out:
        out.writestr("session.raw", raw)
        out.writestr("minimap.raw", b"{}")
        out.writestr(
            "metadata.json", about if isinstance(about, str) else json.dumps(about)
        )
    return stream.getvalue()


def opened(
    tmp_path: Path, content: bytes, name: str = "a.ppk2", **options: Any
) -> Opened:
    (tmp_path / name).write_bytes(content)
    try:
        return open_any(tmp_path / name, tmp_path / "scratch", Options(**options))
    finally:
        assert (tmp_path / name).read_bytes() == content, "the original was changed"


@given(
    values=st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=300),
    hz=st.sampled_from([1, 1000, 100_000]),
)
@settings(max_examples=length(15, 8), deadline=None)
def test_energy_is_that_of_the_samples(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], hz: int
) -> None:
    raw = b"".join(frame(value) for value in values)
    about = {"metadata": {"samplesPerSecond": hz}, "formatVersion": 2}
    trace = opened(
        tmp_path_factory.mktemp("ppk2"), archive(raw, about), supply_v=3.0
    ).trace
    expected_j = math.fsum(values) * 1e-6 * 3.0 / hz
    assert trace.sample_hz == hz and trace.length == len(values)
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(
        expected_j, rel=1e-6, abs=1e-30
    )


def test_edges_of_each_line_are_its_own(tmp_path: Path) -> None:
    states = {0: [LOW] * 10 + [HIGH] * 10, 7: [HIGH] * 5 + [BOTH] + [LOW] * 14}
    raw = b"".join(
        frame(1.0, {0: d0, 7: d7}) for d0, d7 in zip(states[0], states[7], strict=True)
    )
    first = opened(tmp_path, archive(raw), supply_v=3.0, sync="D0").trace
    assert first.rises_s.tolist() == pytest.approx([9.5e-5]) and not len(first.falls_s)
    last = opened(tmp_path, archive(raw), supply_v=3.0, sync="D7").trace
    assert last.falls_s.tolist() == pytest.approx([5.5e-5]) and not len(last.rises_s)
    assert "D0 to D7" in " ".join(opened(tmp_path, archive(raw), supply_v=3.0).notes)


def test_samples_that_the_instrument_lost_are_a_gap_without_edges(
    tmp_path: Path,
) -> None:
    # The application writes them as no number, and all lines as low.
    raw = frame(1.0, {0: HIGH}) * 10 + frame(math.nan) * 3 + frame(1.0, {0: HIGH}) * 10
    result = opened(tmp_path, archive(raw), supply_v=3.0, sync="D0")
    assert [(gap.start, gap.stop) for gap in result.trace.gaps] == [(10, 13)]
    assert not len(result.trace.falls_s) and not len(result.trace.rises_s)


def test_a_large_recording_is_read_in_pieces_without_a_seam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.importers.profilers.ppk2._PIECE", 7)
    raw = b"".join(
        frame(float(k), {3: HIGH if k % 50 < 25 else LOW}) for k in range(500)
    )
    result = opened(
        tmp_path, archive(raw, method=zipfile.ZIP_STORED), supply_v=2.0, sync="D3"
    )
    assert result.trace.energy_j(0.0, 5e-3) == pytest.approx(
        2.0 * 1e-6 * sum(range(500)) / 100_000, rel=1e-6
    )
    assert result.trace.falls_s.tolist() == pytest.approx(
        [(50 * k + 24.5) / 100_000 for k in range(10)]
    )


def test_a_last_sample_that_was_cut_off_is_left_out_and_reported(
    tmp_path: Path,
) -> None:
    result = opened(tmp_path, archive(frame(1.0) * 3 + b"\0"), supply_v=3.0)
    assert (
        result.trace.length == 3
        and "the last sample is cut off and left out" in result.notes
    )


WHOLE = archive(frame(1000.0) * 50)


@given(cut=st.integers(4, len(WHOLE) - 1))
@settings(max_examples=length(25, 12), deadline=None)
def test_an_archive_cut_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    with pytest.raises(DataError, match="is damaged"):
        opened(tmp_path_factory.mktemp("ppk2"), WHOLE[:cut], supply_v=3.0)


@given(at=st.integers(4, len(WHOLE) - 1), bit=st.integers(0, 7))
@settings(max_examples=length(60, 25), deadline=None)
def test_a_byte_that_changed_gives_an_error_or_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: int
) -> None:
    damaged = WHOLE[:at] + bytes([WHOLE[at] ^ 1 << bit]) + WHOLE[at + 1 :]
    try:
        trace = opened(tmp_path_factory.mktemp("ppk2"), damaged, supply_v=3.0).trace
    except DataError as error:
        assert error.cause
        return
    assert trace.length == 50 and trace.sample_hz == 100_000
    assert trace.energy_j(0.0, trace.duration_s) == pytest.approx(
        50 * 3e-3 / 100_000, rel=1e-6
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (WHOLE, {}, "no voltage beside the current"),
        (WHOLE, {"power": "power"}, "no signal is called power"),
        (WHOLE, {"supply_v": 3.0, "sync": "D8"}, "no line is called D8"),
        (archive(b""), {"supply_v": 3.0}, "has no samples"),
        (
            archive(frame(1.0), {"formatVersion": 2}),
            {"supply_v": 3.0},
            "does not say its sampling rate",
        ),
        (
            archive(frame(1.0), "no JSON"),
            {"supply_v": 3.0},
            "does not say its sampling rate",
        ),
        (
            archive(frame(1.0), ABOUT | {"formatVersion": 3}),
            {"supply_v": 3.0},
            "format version 3",
        ),
        (
            archive(frame(1.0), ABOUT | {"metadata": {"samplesPerSecond": 0}}),
            {"supply_v": 3.0},
            "has no sampling rate",
        ),
    ],
)
def test_what_a_recording_lacks_is_reported(
    tmp_path: Path, content: bytes, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as error:
        opened(tmp_path, content, **options)
    assert error.value.try_next or error.value.evidence


def test_a_rate_that_was_given_needs_none_in_the_file(tmp_path: Path) -> None:
    result = opened(
        tmp_path, archive(frame(1000.0) * 10, "no JSON"), supply_v=3.0, rate_hz=10.0
    )
    assert result.trace.energy_j(0.0, 1.0) == pytest.approx(3e-3)


def test_other_archives_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as out:
        out.writestr("data.csv", "x")
    with pytest.raises(DataError, match="none of Power Profiler") as error:
        opened(tmp_path, stream.getvalue(), name="a.zip")
    assert "no metadata.json and no session.raw" in error.value.evidence
    with pytest.raises(ConfigError, match="no column of times"):
        opened(tmp_path, WHOLE, supply_v=3.0, time="t")
