# SPDX-License-Identifier: Apache-2.0
"""The run screen."""

from __future__ import annotations

from gui.screen import Screen


class RunScreen(Screen):
    """The run screen."""
