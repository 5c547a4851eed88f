# SPDX-License-Identifier: Apache-2.0
"""A trace is opened for the window, or it is said why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gui.trace.shown.engine import open_subject
from rig.errors import RigError


def test_options_that_an_error_names_are_said_to_be_of_another_command(tmp_path: Path) -> None:
    path = tmp_path / "current.csv"
    rows = "".join(f"{at / 1000},0.01\n" for at in range(3000))
    path.write_text(f"time [s],current [A]\n{rows}", encoding="utf-8")
    with pytest.raises(RigError) as caught:
        open_subject(path)
    assert "--supply-v VOLTS" in caught.value.try_next
    assert caught.value.try_next.endswith(" (options of rig measure)")
    with pytest.raises(RigError) as caught:
        open_subject(tmp_path / "nosuch.csv")
    assert "rig measure" not in caught.value.try_next
