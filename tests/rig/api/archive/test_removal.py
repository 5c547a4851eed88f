# SPDX-License-Identifier: Apache-2.0
"""Sessions taken away: to the trash and back, for good, never one that runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rig.api.archive import removal
from rig.api.archive.listing import Listing
from rig.errors import DataError, DeviceBusy
from rig.session.session import open_bench
from rig.store.events import TrialStarted
from tests.checking import check
from tests.conftest import VIRTUAL_NULL


@pytest.fixture
def finished(copied: Callable[[int], Path]) -> Path:
    return copied(1)


def test_to_the_trash_and_back(finished: Path) -> None:
    root = finished.parent
    gone = removal.to_trash(finished)
    assert Listing(root).rows() == []
    assert list((root / removal.TRASH).glob("*")) == [gone]
    assert removal.restore(gone) == finished
    assert check(finished).ok
    assert list((root / removal.TRASH).glob("*")) == []


def test_two_of_one_name_both_keep_a_place(finished: Path) -> None:
    gone = removal.to_trash(finished)
    finished.mkdir()
    (finished / "bench.toml").write_text("")
    assert removal.to_trash(finished).name == f"{finished.name}~2"
    assert gone.is_dir()


def test_for_good(finished: Path) -> None:
    removal.delete(finished)
    assert not finished.exists()
    assert list((finished.parent / removal.TRASH).glob("*")) == []


def test_a_running_session_is_refused(tmp_path: Path) -> None:
    refused: list[str] = []

    def attempt(event: object) -> None:
        if isinstance(event, TrialStarted):
            for take in (removal.to_trash, removal.delete):
                with pytest.raises(DeviceBusy, match="is running"):
                    take(next(tmp_path.iterdir()))
                refused.append(take.__name__)

    with open_bench(
        VIRTUAL_NULL, ["task.null.samples=4", "scenario.single_stream.idle_s=0.1"]
    ) as bench:
        folder = bench.run(1, tmp_path, (attempt,)).folder
    assert refused == ["to_trash", "delete"]
    assert check(folder).ok


def test_an_input_that_is_no_session_is_never_touched(
    tmp_path: Path, finished: Path
) -> None:
    other = tmp_path / "data"
    other.mkdir()
    (other / "file").write_text("")
    link = tmp_path / "link"
    link.symlink_to(finished)
    for path in (other, link, tmp_path / "missing"):
        with pytest.raises(DataError):
            removal.delete(path)
    with pytest.raises(DataError):
        removal.restore(finished)
    assert (other / "file").exists() and finished.is_dir()
