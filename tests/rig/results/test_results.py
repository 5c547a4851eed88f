# SPDX-License-Identifier: Apache-2.0
"""Recordings of a session are read once, and one at a time is in memory."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rig.results import results
from rig.results.results import Recordings


class Steps(list[Any]):
    """A list that can be referenced weakly."""


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each recording that is read: whether those before it are free by then."""
    before: list[weakref.ref[Steps]] = []
    free: list[bool] = []

    def counted(folder: Path) -> list[Steps]:
        free.append(all(steps() is None for steps in before))
        steps = Steps()
        before.append(weakref.ref(steps))
        return [steps]

    monkeypatch.setattr(results, "counted", counted)
    monkeypatch.setattr(results, "segments", lambda folder: [folder])
    monkeypatch.setattr(results, "rails_of", lambda context, folder: [])
    return free


def test_a_recording_is_free_before_the_next_is_read(free: list[bool]) -> None:
    context: Any = SimpleNamespace(
        provenance=SimpleNamespace(sut=SimpleNamespace(clock="")), interleaved=False
    )
    recordings = Recordings()
    for name in ("trial-1", "trial-1", "trial-2", "trial-3"):
        recordings.of(context, Path(name), Path(name))
    assert free == [True, True, True]
