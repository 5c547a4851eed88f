# SPDX-License-Identifier: Apache-2.0
"""A screen: one page of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtWidgets import QWidget

from gui.engine_thread import EngineThread
from gui.shell import Shell, TraceRequest
from gui.widgets.notice import Notice, Severity
from rig.api.sessions.session import Session

_STILL_ON = (
    "the engine has not ended yet: the supply may still be on\n"
    "try: close the window again in a moment, or switch the supply off by hand"
)


class Screen(QWidget):
    """One page of the window; `shell` holds the state that screens share. It is made
    when it is first shown, or when it is sent a session or trace. KEYS are its own keys
    with their actions, for the sheet of keys; errors stand in its `notice`.
    """

    KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, shell: Shell) -> None:
        super().__init__()
        self.shell = shell
        self.notice = Notice()

    def enter(self) -> None:
        """Called when the screen is shown."""

    def leave(self) -> None:
        """Called when another screen is shown."""

    def show_session(self, session: Session) -> None:
        """Take a session that was opened; called on every screen that exists, and on
        one that is made later.
        """

    def show_trace(self, request: TraceRequest) -> None:
        """Show a trace; only the trace screen can."""

    def close_down(self) -> bool:
        """End threads and let go of devices, the DUT's supply off; return whether the
        window may close.
        """
        return True

    def work(
        self,
        key: str,
        function: Callable[[], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Call a function in the background, then `done` with its result; a later call
        of the same key replaces it. Without `failed` an error is shown.
        """
        worker = self.shell.worker
        worker.do(function, done, failed or self.notice.show_error, key=key)

    def _ends(self, thread: EngineThread | None, limit_s: float) -> bool:
        """Stop work of the engine; return whether it ended within a limit, else a
        notice warns of the supply.
        """
        if thread is None or not thread.alive:
            return True
        thread.stop()
        if thread.wait(limit_s):
            return True
        self.notice.show_text(_STILL_ON, Severity.ERROR)
        return False
