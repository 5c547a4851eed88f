# SPDX-License-Identifier: Apache-2.0
"""The demonstration: five trials without hardware, one drifts, and it is made only
once."""

from __future__ import annotations

from pathlib import Path

import pytest

import rig
from rig.api import demonstration


def test_one_of_five_trials_drifts(drifting_session: Path) -> None:
    session = rig.open_session(drifting_session)
    assert session.valid and not session.verdict
    assert "SIMULATED" in session.labels
    values = session.metrics["energy_infer"].per_trial
    others = [value for number, value in enumerate(values, start=1) if number != 4]
    assert demonstration.DRIFTING_TRIAL == 4
    assert values[3] > 1.03 * max(others)


def test_the_session_is_made_once(
    drifting_session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert demonstration.found_or_made(drifting_session.parent) == drifting_session
    monkeypatch.setattr(demonstration, "make", lambda root, *rest: root / "made")
    assert demonstration.found_or_made(tmp_path / "demo") == tmp_path / "demo" / "made"
