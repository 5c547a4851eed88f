# SPDX-License-Identifier: Apache-2.0
"""The stand-in for Lava with a chip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sut_backends.loihi import runner
from tests.stand_ins import lava_loihi


@pytest.fixture
def lava(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Put the stand-in in place of Lava, in the version that the runner wants."""
    monkeypatch.setattr(runner.imports.metadata, "version", lambda name: runner.LAVA)
    with lava_loihi.installed() as boards:
        yield boards
