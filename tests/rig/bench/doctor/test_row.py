# SPDX-License-Identifier: Apache-2.0
"""A question of `rig doctor` ends with its limit."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from rig.bench.doctor import row
from rig.errors import DeadlineError


def test_a_call_that_hangs_ends_with_its_limit_and_errors_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row, "_LIMIT_S", 0.05)
    with pytest.raises(DeadlineError, match=r"no answer of it within 0\.05 s"):
        row.limited("answer of it", partial(_hang, Path()))
    monkeypatch.setattr(row, "_LIMIT_S", 5.0)
    assert row.limited("x", lambda: 7) == 7
    with pytest.raises(OSError, match="broken"):
        row.limited("x", _broken)


def _hang(folder: Path) -> None:
    time.sleep(3)  # longer than the limit, and the thread ends by itself


def _broken() -> None:
    raise OSError("broken")
