# SPDX-License-Identifier: Apache-2.0
"""The disk, as `rig doctor` looks at it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rig.bench.doctor import row, storage
from rig.bench.doctor.row import RowState
from rig.bench.doctor.storage import Written
from tests import unprivileged


def _hang(folder: Path) -> None:
    time.sleep(3)  # longer than the limit, and the thread ends by itself


@pytest.mark.parametrize(
    ("rate", "state", "words"),
    [
        (33e6, RowState.OK, "over twice the 16 MB/s of a Joulescope"),
        (31e6, RowState.WRONG, "0.8 MB/s of a monitor at 100 kHz, not the 16 MB/s"),
        (5e5, RowState.WRONG, "under twice the 0.8 MB/s of a monitor"),
    ],
)
def test_the_disk_is_judged_by_its_rate(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rate: float,
    state: RowState,
    words: str,
) -> None:
    monkeypatch.setattr(storage, "written", lambda folder: Written(rate, 0.1))
    found = {each.name: each for each in storage.storage_rows(tmp_path / "new")}
    assert found["disk speed"].state is state and words in found["disk speed"].detail
    assert found["folder"].state is RowState.OK
    assert not (tmp_path / "new").exists()


def test_blocks_are_really_synchronised_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synchronised = []
    fsync = os.fsync
    monkeypatch.setattr(
        storage.os, "fsync", lambda fd: (synchronised.append(fd), fsync(fd))
    )
    found = storage.written(tmp_path)
    assert synchronised and found.rate > 0 and found.longest_s > 0
    assert not list(tmp_path.iterdir())


def test_a_file_system_that_cannot_synchronise_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(storage.os, "fsync", refuse)
    found = {each.name: each for each in storage.storage_rows(tmp_path)}
    assert (
        found["disk speed"].blocks and "Invalid argument" in found["disk speed"].detail
    )


def test_a_disk_that_does_not_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row, "_LIMIT_S", 0.3)
    monkeypatch.setattr(storage, "written", _hang)
    found = {each.name: each for each in storage.storage_rows(tmp_path)}
    assert found["disk speed"].blocks and "within 0.3 s" in found["disk speed"].detail


@unprivileged.needed
def test_a_folder_that_may_not_be_written_to_is_wrong(tmp_path: Path) -> None:
    import subprocess

    folder = tmp_path / "others"
    folder.mkdir()
    unprivileged.given_away(folder)
    done = subprocess.run(
        [*unprivileged.RIG, "doctor", "--sessions", folder / "new"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "cannot be written" in done.stdout and "wrong" in done.stdout
