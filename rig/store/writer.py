# SPDX-License-Identifier: Apache-2.0
"""The writer of a session folder: a subscriber to the session's events."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO

from rig.errors import storage_error
from rig.interfaces.recount import WireBlock
from rig.model import catalogue
from rig.store import completion_lines, wire_lines
from rig.store.event_file import EventFile
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
    CALIBRATIONS,
    CATALOGUE,
    COMPLETIONS,
    KEPT,
    PROVENANCE,
    UART,
    SessionFolder,
    json_text,
    sha256,
    to_disk,
    write_bytes,
    write_text,
)


class Store:
    """Write everything a session says into its folder, line by line, so that a killed
    process loses at most the line it was in.
    """

    def __init__(self, folder: SessionFolder, bench_toml: str | None) -> None:
        """Begin a session, or, without the text of a bench file, go on with one that
        was cut off.
        """
        self._folder = folder
        self._completions: IO[str] | None = None
        self._uart: IO[str] | None = None
        self._wire_failure: OSError | None = None
        self._opening: Sequence[WireBlock] = ()
        self._started_s = 0.0
        # First of all: who looks at the folder sees that it is being written.
        self._events = EventFile(folder.path)
        if bench_toml is not None:
            write_text(folder.path / BENCH, bench_toml)

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
            try:
                self._uart.write(wire_lines.text(WireBlock(at_s, direction, block)))
            except OSError as error:
                # Raised with the next event: inside a conversation with a device it
                # would be taken for that device's.
                self._wire_failure = error

    def opened(self, opening: Sequence[WireBlock]) -> None:
        """Take what passed the UART while the bench was opened: each log begins with
        it."""
        self._opening = tuple(opening)

    def close(self) -> None:
        """Close all files; closing twice is allowed."""
        try:
            self.end_trial()
        finally:
            self._events.close()

    def _write(self, event: Event) -> None:
        match event:
            case SessionStarted():
                self._begin(event)
            case SessionResumed():
                files = self._folder.set_aside()
                self._events.append(
                    "session_resumed",
                    finished=event.finished,
                    at_utc=utc_now(),
                    files=files,
                )
            case TrialStarted():
                if not event.recorded:
                    self._open_trial(event.folder)
                self._events.append("trial_started", trial=event.trial, seed=event.seed)
            case TrialResumed():
                self._open_trial(event.folder)
                self._events.append(
                    "trial_resumed",
                    trial=event.trial,
                    segment=event.segment,
                    step=event.step,
                    files=event.files,
                )
            case StepDone():
                assert self._completions is not None and self._uart is not None
                self._completions.write(
                    json.dumps(completion_lines.to_json(event.done)) + "\n"
                )
                self._completions.flush()
                self._uart.flush()
            case TrialFinished():
                # From here on the line's files survive a power cut.
                to_disk(self._folder.trial(event.trial.number))
                problems = [
                    {"code": problem.code, "detail": problem.detail}
                    for problem in event.trial.problems
                ]
                self._events.append(
                    "trial_finished",
                    trial=event.trial.number,
                    problems=problems,
                    files=event.files,
                )
            case SessionFinished():
                to_disk(self._folder.path)
                self._events.append(
                    "session_finished",
                    status=event.status,
                    reason=event.reason,
                    files=event.files,
                )

    def _begin(self, event: SessionStarted) -> None:
        """Write the information that is known before the first trial."""
        folder = self._folder.path
        write_text(folder / PROVENANCE, json_text(event.provenance))
        if event.catalogue:
            write_text(folder / CATALOGUE, catalogue.text(event.catalogue))
        kept = [
            *_written(folder, KEPT, event.kept),
            *_written(folder, CALIBRATIONS, event.calibrations),
        ]
        begun = (BENCH, PROVENANCE, *([CATALOGUE] if event.catalogue else []), *kept)
        files = {name: sha256(folder / name) for name in begun}
        to_disk(folder)
        self._events.append(
            "session_started", trials=event.trials, queries=event.queries, files=files
        )

    def _open_trial(self, folder: Path) -> None:
        self._completions = (folder / COMPLETIONS).open("a", encoding="utf-8")
        self._uart = (folder / UART).open("a", encoding="utf-8")
        self._started_s = time.monotonic()
        for block in self._opening:
            at_s = min(block.at_s - self._started_s, -1e-6)
            self._uart.write(wire_lines.text(replace(block, at_s=at_s)))

    def end_trial(self) -> None:
        """Close the raw files of a trial, so that they can be hashed."""
        try:
            self._end_trial()
        except OSError as error:
            raise storage_error(error, self._folder.path) from error

    def _end_trial(self) -> None:
        streams = [
            stream for stream in (self._completions, self._uart) if stream is not None
        ]
        self._completions = self._uart = None
        with ExitStack() as stack:
            for stream in streams:
                stack.callback(stream.close)


def _written(folder: Path, below: str, contents: Mapping[str, bytes]) -> list[str]:
    """Write files into a folder of a session, if there are any; return their names."""
    if contents:
        (folder / below).mkdir()
    for name, content in contents.items():
        write_bytes(folder / below / name, content)
    return [f"{below}/{name}" for name in contents]
