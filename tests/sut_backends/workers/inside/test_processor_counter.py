# SPDX-License-Identifier: Apache-2.0
"""The report on the processor's energy counter: readable, not for this user, none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sut_backends.workers.inside.processor_counter import availability


def test_a_rail_of_the_processor_is_there_or_omitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert availability(tmp_path).startswith("none on this machine")
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    (zone / "energy_uj").write_text("1\n", encoding="ascii")
    (zone / "name").write_text("package-0\n", encoding="ascii")
    assert availability(tmp_path) == "readable: package-0 ([monitor.rapl])"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert availability(tmp_path).endswith("the processor's energy is omitted")
