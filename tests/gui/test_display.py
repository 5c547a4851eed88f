# SPDX-License-Identifier: Apache-2.0
"""The whole way once more on a virtual display, with X11 as Qt's platform."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.conftest import ROOT
from tests.programs import captured

_XVFB = shutil.which("xvfb-run")


@pytest.mark.repeats
@pytest.mark.skipif(
    _XVFB is None, reason="no virtual display: xvfb-run is not installed"
)
def test_the_whole_way_on_a_virtual_display() -> None:
    assert _XVFB is not None
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"]
    done = captured(
        [
            _XVFB,
            "-a",
            "-s",
            "-screen 0 1600x1000x24",
            *words,
            "tests/gui/test_story.py",
        ],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "xcb", "QT_XCB_GL_INTEGRATION": "none"},
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "1 passed" in done.stdout
