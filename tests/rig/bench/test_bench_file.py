# SPDX-License-Identifier: Apache-2.0
"""A bench file on the disk: saved whole, and never over another writer's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rig.bench.bench_file import BenchFile, write
from rig.errors import BenchError, ConfigError


def test_a_file_is_saved_and_can_be_saved_again(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("one\n")
    path.chmod(0o640)
    saved = BenchFile.read(path).saved("two\n").saved("three\n")
    assert path.read_text() == saved.text == "three\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.toml"]


def test_a_file_that_changed_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("one\n")
    file = BenchFile.read(path)
    path.write_text("of somebody else\n")
    with pytest.raises(ConfigError, match="changed by something else"):
        file.saved("mine\n")
    assert path.read_text() == "of somebody else\n"
    path.unlink()
    assert file.changed_on_disk()


def test_line_ends_of_another_system_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"a = 1\r\nb = 2\r\n")
    file = BenchFile.read(path)
    assert file.text == "a = 1\nb = 2\n"
    file.saved("a = 3\nb = 2\n")
    assert path.read_bytes() == b"a = 3\r\nb = 2\r\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target.toml"
    target.write_text("one\n")
    link = tmp_path / "link.toml"
    link.symlink_to(target)
    BenchFile.read(link).saved("two\n")
    assert link.is_symlink()
    assert target.read_text() == "two\n"


def test_a_new_file_takes_no_others_place_and_a_missing_folder_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.toml"
    write(path, "one\n", new=True)
    with pytest.raises(ConfigError, match="is there already"):
        write(path, "two\n", new=True)
    assert path.read_text() == "one\n"
    with pytest.raises(BenchError):
        write(tmp_path / "nowhere" / "a.toml", "one\n", new=True)


def test_an_input_that_is_no_text_or_not_there_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="no text"):
        BenchFile.read(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        BenchFile.read(tmp_path / "none.toml")
