# SPDX-License-Identifier: Apache-2.0
"""Sessions on folders that know no locks, as some of a network, and many of one
second."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

import pytest

from rig.api.archive import listing
from rig.errors import BenchError
from rig.session.session import open_bench
from rig.store.session_folder import SessionFolder
from tests.checking import check
from tests.conftest import VIRTUAL_NULL


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_session_is_measured_on_a_folder_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with open_bench(VIRTUAL_NULL, ["task.null.samples=2"]) as bench:
        result = bench.run(1, tmp_path)
    assert check(result.folder).ok
    assert not listing.is_running(result.folder)


def test_many_sessions_of_one_second_have_folders_of_their_own_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        time, "gmtime", lambda: time.struct_time((2026, 1, 2, 3, 4, 5, 4, 2, 0))
    )
    made = {SessionFolder.create(tmp_path, "bench").path.name for _ in range(999)}
    assert len(made) == 999
    with pytest.raises(BenchError, match="999 sessions of this second") as caught:
        SessionFolder.create(tmp_path, "bench")
    assert "in other folders" in caught.value.try_next
