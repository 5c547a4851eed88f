# SPDX-License-Identifier: Apache-2.0
"""Notes of a stopped or failed command about the session folder that it leaves."""

from __future__ import annotations

from pathlib import Path

from rig.errors import RigError
from rig.store.events import Event, SessionFinished, SessionResumed, SessionStarted


class KeptSession:
    """A subscriber of sessions, run one after the other, that adds notes to Ctrl-C and
    to errors: the folders that are kept, and the commands that continue them. `folder`
    is the folder of a resumed session.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folders = [] if folder is None else [folder]
        self._begun: list[Path] = []
        self._finished: set[Path] = set()

    def __call__(self, event: Event) -> None:
        """Hear one event."""
        if isinstance(event, SessionStarted | SessionResumed):
            self._folders.append(event.folder)
            self._begun.append(event.folder)
        elif isinstance(event, SessionFinished) and event.status == "success":
            self._finished.add(self._folders[-1])

    def __enter__(self) -> KeptSession:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        """Add the notes to a KeyboardInterrupt, or to an error within a session."""
        if isinstance(error, RigError):
            last = self._begun[-1] if self._begun else None
            if last is not None and last not in self._finished:
                error.add_note(f"rig resume {last} keeps its finished trials")
        if not isinstance(error, KeyboardInterrupt):
            return
        # Another note says that a supply may still be on.
        if not getattr(error, "__notes__", ()):
            error.add_note("the supply is off")
        if not self._folders:
            error.add_note("no session was begun")
        for folder in dict.fromkeys(self._folders):
            is_finished = folder in self._finished
            error.add_note(f"{folder} is {'finished' if is_finished else 'kept'}")
            error.add_note(f"try: rig {'report' if is_finished else 'resume'} {folder}")
