# SPDX-License-Identifier: Apache-2.0
"""The writer of a session folder: a subscriber to the session's events."""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from rig import typed
from rig.errors import storage_error
from rig.model import catalogue
from rig.store import completion_lines, journal
from rig.store.event_lines import (
    EventLine,
    ProblemEntry,
    SessionFinishedLine,
    SessionResumedLine,
    SessionStartedLine,
    TrialFinishedLine,
    TrialResumedLine,
    TrialStartedLine,
)
from rig.store.events import (
    Event,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StepDone,
    TrialFinished,
    TrialResumed,
    TrialStarted,
)
from rig.store.provenance import utc_now
from rig.store.session_folder import (
    BENCH,
    CATALOGUE,
    COMPLETIONS,
    EVENTS,
    PROVENANCE,
    UART,
    SessionFolder,
    _opened,
    json_text,
    sha256,
    to_disk,
    write_text,
)

#: Longer blocks on the UART are logged by their length and beginning: payloads are the task's, and
#: hashed in the provenance.
_UART_SHOWN_B = 48
#: Behind these lines of events.jsonl stands what a power cut must not take.
_LASTING = ("session_started", "trial_finished", "session_finished")


class Store:
    """Write everything a session says into its folder, line by line, so that a killed process loses
    at most the line it was in.
    """

    def __init__(self, folder: SessionFolder, bench_toml: str | None) -> None:
        """Begin a session, or, without the text of a bench file, go on with one that was cut
        off.
        """
        self._folder = folder
        self._events: IO[str] | None = None
        self._completions: IO[str] | None = None
        self._uart: IO[str] | None = None
        self._wire_failure: OSError | None = None
        self._started_s = 0.0
        self._before = ""
        if bench_toml is not None:
            write_text(folder.path / BENCH, bench_toml)
        else:
            self._events = _opened(folder.path / EVENTS)
            self._before = folder.journal().last

    def __call__(self, event: Event) -> None:
        """Write one event."""
        try:
            if self._wire_failure is not None:
                raise self._wire_failure
            self._write(event)
        except OSError as error:
            raise storage_error(error, self._folder.path) from error

    def wire(self, direction: str, block: bytes) -> None:
        """Log one block that passed the UART."""
        if self._uart is not None:
            at_s = time.monotonic() - self._started_s
            more = "..." if len(block) > _UART_SHOWN_B else ""
            try:
                self._uart.write(
                    f"{at_s:.6f} {direction} {len(block)} {block[:_UART_SHOWN_B].hex()}{more}\n"
                )
            except OSError as error:
                # Raised with the next event: inside a conversation with a device it would be taken
                # for that device's.
                self._wire_failure = error

    def close(self) -> None:
        """Close all files; closing twice is allowed."""
        try:
            self.end_trial()
        finally:
            events = self._events
            self._events = None
            if events is not None:
                events.close()

    def _write(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self._begin(event)
            case SessionResumed():
                files = self._folder.set_aside()
                line = SessionResumedLine(finished=event.finished, at_utc=utc_now(), files=files)
                self._line(line)
            case TrialStarted():
                if not event.recorded:
                    self._open_trial(event.folder)
                self._line(TrialStartedLine(trial=event.trial, seed=event.seed))
            case TrialResumed():
                self._open_trial(event.folder)
                self._line(
                    TrialResumedLine(
                        trial=event.trial,
                        segment=event.segment,
                        step=event.step,
                        files=event.files,
                    )
                )
            case StepDone():
                assert self._completions is not None and self._uart is not None
                self._completions.write(json.dumps(completion_lines.to_json(event.done)) + "\n")
                self._completions.flush()
                self._uart.flush()
            case TrialFinished():
                # What the line says to be there survives a power cut from here on.
                to_disk(self._folder.trial(event.trial.number))
                trial = event.trial
                problems = tuple(ProblemEntry(one.code, one.detail) for one in trial.problems)
                self._line(
                    TrialFinishedLine(trial=trial.number, problems=problems, files=event.files)
                )
            case SessionFinished():
                to_disk(self._folder.path)
                self._line(
                    SessionFinishedLine(status=event.status, reason=event.reason, files=event.files)
                )

    def _begin(self, event: SessionStarted) -> None:
        """Write what is known before the first trial."""
        folder = self._folder.path
        write_text(folder / PROVENANCE, json_text(event.provenance))
        if event.catalogue:
            write_text(folder / CATALOGUE, catalogue.text(event.catalogue))
        self._events = _opened(folder / EVENTS)
        begun = (BENCH, PROVENANCE, *([CATALOGUE] if event.catalogue else []))
        files = {name: sha256(folder / name) for name in begun}
        to_disk(folder)
        self._line(SessionStartedLine(trials=event.trials, queries=event.queries, files=files))

    def _open_trial(self, folder: Path) -> None:
        self._completions = (folder / COMPLETIONS).open("a", encoding="utf-8")
        self._uart = (folder / UART).open("a", encoding="utf-8")
        self._started_s = time.monotonic()

    def end_trial(self) -> None:
        """Close the raw files of a trial, so that they can be hashed."""
        try:
            self._end_trial()
        except OSError as error:
            raise storage_error(error, self._folder.path) from error

    def _end_trial(self) -> None:
        streams = [stream for stream in (self._completions, self._uart) if stream is not None]
        self._completions = self._uart = None
        with ExitStack() as stack:
            for stream in streams:
                stack.callback(stream.close)

    def _line(self, line: EventLine) -> None:
        if self._events is not None:
            text, self._before = journal.line(typed.to_json(line), self._before)
            self._events.write(text)
            self._events.flush()
            if line.event in _LASTING:
                os.fsync(self._events.fileno())
