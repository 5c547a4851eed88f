# SPDX-License-Identifier: Apache-2.0
"""The sessions screen."""

from __future__ import annotations

from gui.screen import Screen


class SessionsScreen(Screen):
    """The sessions screen."""
