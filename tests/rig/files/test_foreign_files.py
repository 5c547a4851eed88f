# SPDX-License-Identifier: Apache-2.0
"""Files of a foreign folder: only regular ones that lie in it are opened, also where
another process puts something else there at the last moment.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.errors import DataError
from rig.files import foreign_files

pytestmark = pytest.mark.posix

SECRET = "elsewhere"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session folder with a file in a folder of it; beside it lies a secret."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file.txt").write_text(SECRET)
    (tmp_path / "session" / "trial-1").mkdir(parents=True)
    (tmp_path / "session" / foreign_files.MARK).write_text("{}\n")
    (tmp_path / "session" / "trial-1" / "file.txt").write_text("one\r\ntwo\n")
    return tmp_path / "session"


@pytest.fixture(params=[True, False], ids=["walking", "looking"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Open as a system does that can walk, and as one that cannot."""
    monkeypatch.setattr(foreign_files, "_CAN_WALK", request.param)
    return bool(request.param)


@pytest.mark.usefixtures("way")
def test_a_regular_file_is_read(folder: Path) -> None:
    path = folder / "trial-1" / "file.txt"
    assert foreign_files.read_text(path) == "one\ntwo\n"
    assert foreign_files.read_bytes(path, folder) == b"one\r\ntwo\n"
    with foreign_files.opened(path) as stream:
        assert list(stream) == [b"one\r\n", b"two\n"]
    assert foreign_files.checked(path) == str(path)
    with pytest.raises(FileNotFoundError):
        foreign_files.opened(folder / "missing.txt")


def linked(path: Path) -> None:
    path.symlink_to(path.parents[2] / "secret" / "file.txt")


def listened_at(path: Path) -> None:
    os.chdir(path.parent)  # a name of a socket has 107 bytes at most
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


PUT: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a link": (linked, "is a link, which leads elsewhere"),
    "a pipe": (os.mkfifo, "is a pipe, whose reader may wait for ever"),
    "a folder": (Path.mkdir, "is a folder"),
    "a socket": (listened_at, "is a socket"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("what", PUT)
def test_an_input_that_is_no_regular_file_is_refused(
    folder: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    path = folder / "trial-1" / "file.txt"
    path.unlink()
    put, why = PUT[what]
    put(path)
    with pytest.raises(DataError, match=why):
        foreign_files.read_text(path)


@pytest.mark.usefixtures("way")
def test_a_folder_that_is_a_link_is_not_entered(folder: Path) -> None:
    (folder / "trial-2").symlink_to(folder.parent / "secret")
    with pytest.raises(DataError, match="trial-2 is a link"):
        foreign_files.read_text(folder / "trial-2" / "file.txt")


@pytest.mark.usefixtures("way")
def test_a_file_that_does_not_lie_in_the_folder_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="does not lie in"):
        foreign_files.read_text(folder / ".." / "secret" / "file.txt", folder)


def test_a_file_that_is_larger_than_any_of_its_name_is_refused(folder: Path) -> None:
    with (folder / "provenance.json").open("wb") as stream:
        stream.truncate((1 << 24) + 1)
    with pytest.raises(DataError, match="has 16777217 bytes, more than any"):
        foreign_files.read_text(folder / "provenance.json")


@pytest.mark.parametrize("what", ["a link", "a pipe", "a folder"])
def test_what_is_put_there_after_the_look_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = folder / "trial-1" / "file.txt"
    real = os.open

    def late(name: Any, flags: int, *rest: Any, **options: Any) -> int:
        if name == path.name:
            path.unlink()
            PUT[what][0](path)
        return real(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", late)
    monkeypatch.setattr(foreign_files, "_CAN_WALK", True)
    with pytest.raises(DataError, match=r"cannot be read|is a pipe|is a folder"):
        foreign_files.read_text(path)


def test_a_folder_that_becomes_a_link_after_the_look_is_not_entered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def late(name: Any, flags: int, *rest: Any, **options: Any) -> int:
        if name == "trial-1":
            (folder / "trial-1").rename(folder / "trial-9")
            (folder / "trial-1").symlink_to(folder.parent / "secret")
        return real(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", late)
    monkeypatch.setattr(foreign_files, "_CAN_WALK", True)
    with pytest.raises(DataError, match="cannot be read"):
        foreign_files.read_text(folder / "trial-1" / "file.txt")


def test_outside_of_a_session_the_links_are_the_users(folder: Path) -> None:
    link = folder.parent / "link.txt"
    link.symlink_to(folder.parent / "secret" / "file.txt")
    assert foreign_files.read_text(link) == SECRET
    pipe = folder.parent / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="is a pipe"):
        foreign_files.read_text(pipe)


def test_the_outer_session_of_two_counts(folder: Path) -> None:
    """A folder that is entered by a link may have the mark of a session itself."""
    (folder.parent / "secret" / foreign_files.MARK).touch()
    (folder / "trial-2").symlink_to(folder.parent / "secret")
    assert foreign_files.session_of(folder / "trial-2" / "file.txt") == folder
    with pytest.raises(DataError, match="trial-2 is a link"):
        foreign_files.read_text(folder / "trial-2" / "file.txt")
