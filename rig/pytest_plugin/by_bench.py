# SPDX-License-Identifier: Apache-2.0
"""Tests of one bench on one worker of pytest-xdist: a board has one user at a time.

xdist's own groups travel in the names of tests, which pytest 9.2 no longer lets it
change (pytest-xdist issue 1386); the parameter of a bench is in its name anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling


class ByBench(LoadGroupScheduling):  # type: ignore[misc]
    """`--dist loadgroup` with a group for each bench of `--rig-bench`, by its name."""

    def __init__(self, config: pytest.Config, log: Any, benches: Iterable[str]) -> None:
        super().__init__(config, log)
        self._benches = sorted(benches, key=len, reverse=True)

    def _split_scope(self, nodeid: str) -> str:
        _, _, parameters = nodeid.partition("[")
        for name in self._benches:
            if re.search(rf"(?:^|-){re.escape(name)}(?:-|\])", parameters):
                return name
        return str(super()._split_scope(nodeid))
