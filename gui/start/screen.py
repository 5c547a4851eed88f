# SPDX-License-Identifier: Apache-2.0
"""The start screen."""

from __future__ import annotations

from gui.screen import Screen


class StartScreen(Screen):
    """The start screen."""
