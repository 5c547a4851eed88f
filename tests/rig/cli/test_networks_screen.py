# SPDX-License-Identifier: Apache-2.0
"""What `rig compare` prints of two networks, as stored in screens/: in a narrow
terminal a column for each network on a system.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("tflite", reason="pip install 'neurorig[tflite]'")

from tests import screens
from tests.conftest import ROOT
from tests.rig.cli.test_screens import SCREENS

BENCH = "[scenario.single_stream]\nidle_s = 0.06\nwarmup = 0\n"


def test_two_networks_stand_beside_each_other_in_eighty_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asc = ROOT / "scenarios" / "tasks" / "asc"
    for name in ("asc.nir", "asc_cnn.tflite"):
        Path(name).symlink_to(asc / name)
    Path("short.toml").write_text(BENCH)
    words = ("compare", "asc.nir", "asc_cnn.tflite", "--suts", "virtual")
    words += ("--bench", "short.toml", "--samples", "4", "--trials", "5")
    screens.of_command(80, True, *words)  # runs the sessions

    def show(width: int, piped: bool) -> str:
        text = screens.of_command(width, piped, *words)
        return re.sub(r"\d{8}T\d{6}Z", "20261124T120000Z", text)

    path = SCREENS / "compare-networks.txt"
    screens.compare(path, screens.every(show))
    assert not screens.wider(path.read_text(encoding="utf-8"))
