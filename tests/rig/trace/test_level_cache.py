# SPDX-License-Identifier: Apache-2.0
"""Levels of a trace are kept by its content, and only so many bytes of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rig.trace import level_cache, levels
from rig.trace.trace import TRACE, Trace
from tests.traces import trace_writer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep levels of traces of a thousand samples in a folder of the test."""
    position = tmp_path / "kept"
    position.mkdir()
    monkeypatch.setattr(level_cache, "_LEAST", 1000)
    monkeypatch.setattr(
        level_cache.user_folders, "remembered", lambda name: position / name
    )
    (position / "levels").mkdir()
    return position / "levels"


def recorded(folder: Path, count: int) -> Trace:
    folder.mkdir()
    current = np.arange(count, dtype=np.float32) % 7
    with trace_writer(folder, 1000.0) as writer:
        writer.analog(current, np.full(count, 2.0, np.float32))
    trace = Trace.open(folder / TRACE)
    assert trace.length == count
    return trace


def test_kept_levels_are_those_of_the_trace(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "a", 9000)
    built = levels.build(trace)
    assert built is not None
    assert level_cache.load(trace) is None
    level_cache.save(trace, built)
    result = level_cache.load(trace)
    assert result is not None
    assert (result.length, result.unknown) == (9000, ())
    assert len(result.tables) == len(built.tables) == 2
    for item, other in zip(result.tables, built.tables, strict=True):
        np.testing.assert_array_equal(item.rows, other.rows)
        np.testing.assert_array_equal(item.known, other.known)
    # Another trace has other levels, also of the same length.
    assert level_cache.load(recorded(tmp_path / "b", 9000)) is None


def test_gaps_are_kept_with_them(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "a", 1000)
    built = levels.build(trace)
    assert built is not None
    gaps = (levels.Gap(5, 9, "samples are no numbers"),)
    level_cache.save(trace, levels.Levels(built.length, built.tables, gaps))
    result = level_cache.load(trace)
    assert result is not None
    assert result.unknown == gaps


def test_a_short_trace_is_not_kept(tmp_path: Path, folder: Path) -> None:
    trace = recorded(tmp_path / "a", 999)
    built = levels.build(trace)
    assert built is not None
    level_cache.save(trace, built)
    assert list(folder.iterdir()) == []
    assert level_cache.load(trace) is None


@pytest.mark.parametrize("damage", ["columns", "rows", "bytes"])
def test_levels_of_another_shape_are_not_taken(
    tmp_path: Path, folder: Path, damage: str
) -> None:
    trace = recorded(tmp_path / "a", 1000)
    built = levels.build(trace)
    assert built is not None
    level_cache.save(trace, built)
    (kept,) = folder.iterdir()
    if damage == "bytes":
        kept.write_bytes(kept.read_bytes()[:-50])
    else:
        with np.load(kept) as content:
            parts = dict(content)
        cut = slice(None, -1)
        parts["rows"] = parts["rows"][(..., cut) if damage == "columns" else (cut,)]
        np.savez(kept, **parts)
    assert level_cache.load(trace) is None


def test_what_was_unused_for_longest_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level_cache, "_MOST_B", 250)
    for number, used_s in enumerate((300, 100, 400, 200)):
        path = folder / f"{number}.npz"
        path.write_bytes(bytes(100))
        os.utime(path, (used_s, used_s))
    (folder / "other").write_bytes(bytes(100))
    level_cache._tidy(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["0.npz", "2.npz", "other"]
    monkeypatch.setattr(level_cache, "_MOST_B", 200)
    level_cache._tidy(folder)
    assert len(list(folder.iterdir())) == 3


def test_a_change_anywhere_in_a_file_of_its_length_and_time_gives_another_key(
    tmp_path: Path,
) -> None:
    trace = recorded(tmp_path / "a", 200_000)
    about = trace.path.stat()
    original = trace.path.read_bytes()
    key = level_cache.fingerprint(trace)
    # Pieces lie further apart than the length of one, so some of these bytes are read.
    for part in range(8):
        changed = bytearray(original)
        start = len(original) * part // 8
        changed[start : start + len(original) // 8] = bytes(len(original) // 8)
        trace.path.write_bytes(changed)
        os.utime(trace.path, ns=(about.st_atime_ns, about.st_mtime_ns))
        assert level_cache.fingerprint(trace) != key
