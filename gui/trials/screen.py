# SPDX-License-Identifier: Apache-2.0
"""The trials screen."""

from __future__ import annotations

from gui.screen import Screen


class TrialsScreen(Screen):
    """The trials screen."""
