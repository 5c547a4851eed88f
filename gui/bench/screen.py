# SPDX-License-Identifier: Apache-2.0
"""The bench screen."""

from __future__ import annotations

from gui.screen import Screen


class BenchScreen(Screen):
    """The bench screen."""
