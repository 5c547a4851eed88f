# SPDX-License-Identifier: Apache-2.0
"""The trace screen."""

from __future__ import annotations

from gui.screen import Screen


class TraceScreen(Screen):
    """The trace screen."""
