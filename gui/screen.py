# SPDX-License-Identifier: Apache-2.0
"""A screen: one page of the window."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from PySide6.QtWidgets import QWidget

from gui.shell import Shell, TraceRequest
from rig.api.sessions.session import Session


class Screen(QWidget):
    """One page of the window; `shell` is what it shares with the others.

    It is made when it is first shown, or when something is handed to it. KEYS are its
    own keys and what each does, for the sheet of shortcuts.
    """

    KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, shell: Shell) -> None:
        super().__init__()
        self.shell = shell

    def enter(self) -> None:
        """Do what is due when the screen is shown."""

    def leave(self) -> None:
        """Do what is due when another screen is shown."""

    def show_session(self, session: Session) -> None:
        """Take a session that was opened; called on every screen that exists, and on
        one that is made later.
        """

    def show_trace(self, request: TraceRequest) -> None:
        """Show a trace; only the trace screen can."""

    def open_file(self, path: Path) -> bool:
        """Take a file that was dropped or named; return whether this screen can use
        it."""
        return False

    def close_down(self) -> bool:
        """End threads and let go of devices, the DUT's supply off; return whether the
        window may close.
        """
        return True
