# SPDX-License-Identifier: Apache-2.0
"""A monitor that plays recordings back: each of its recordings is a copy of a file, of
any format that `rig measure` reads.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Interval, Unit, doc

from rig.errors import BenchError, ConfigError, DataError, DeviceNotFound, storage_error
from rig.files import toml_text
from rig.importers.advice import NoSync, Suggestion, worded
from rig.importers.open import accuracy_beside, open_any
from rig.importers.opened import Opened
from rig.importers.options import Options
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.plugin_classes import Driver
from rig.settings.declare import PathText
from rig.settings.fields import fields_of
from rig.simulation.world import NS_PER_S
from rig.trace.trace import EDGES, GAPS, PARTIAL, REDUCED, TRACE
from rig.uncertainty import accuracy
from rig.uncertainty.accuracy import Accuracy

_NUMBER = "{n}"
#: Options whose values stand without quotation marks in a bench file.
_NUMBERS = {field.name for field in fields_of(Options) if field.is_number}
_NO_SYNC = (
    "SIGNALS.sync = NAME, a column or signal with the levels of the line; where a"
    " program exports a file for each channel, as Otii does, put its digital input"
    " beside the numbers first, row by row"
)


class Playback(Driver):
    """Plays recorded traces back: the rig's own, JLS files, CSV tables; without a
    measurement."""

    @dataclass(frozen=True, slots=True)
    class Settings:
        """The recording, and what its instrument promises."""

        path: Annotated[
            PathText,
            doc(
                "File or folder of a trial; {n} in it is the number of the trial,"
                " from 1."
            ),
        ] = ""
        calibration: Annotated[
            PathText,
            doc(
                "File of the instrument's limits of error; not needed inside a session"
                " folder."
            ),
        ] = ""
        signals: Annotated[Options, doc("Facts that the file does not state.")] = field(
            default_factory=Options
        )
        start_s: Annotated[
            float,
            Interval(ge=0, le=60),
            Unit("s"),
            doc("How long the original recording ran before anything else happened."),
        ] = 0.0

    def __init__(
        self,
        settings: Settings,
        context: BenchContext,
        scratch: tempfile.TemporaryDirectory[str],
        first: Opened,
        promised: Accuracy,
    ) -> None:
        self._settings = settings
        self._context = context
        self._section = context.section or "monitor.playback"
        self._scratch = scratch
        self._first = first
        self._accuracy = promised

    @staticmethod
    def simulates(settings: Settings) -> None:
        """Return None: the recording states it, not a setting."""
        return

    @classmethod
    def open(cls, settings: Settings, context: BenchContext) -> Self:
        """Open the first recording; raises ConfigError and DataError."""
        section = context.section or "monitor.playback"
        if not settings.path:
            raise ConfigError(
                "no file is named",
                path=f"{section}.path",
                try_next='path = "trial-{n}/trace.jls"',
            )
        path = _numbered(settings, 1)
        if not path.exists():
            hint = (
                f"{section}.path, relative to the bench file; {_NUMBER} in it is the"
                " number of the trial"
            )
            raise DataError(
                f"{path} cannot be read",
                evidence="No such file or directory",
                try_next=hint,
            )
        promised = (
            accuracy.load(Path(settings.calibration))
            if settings.calibration
            else accuracy_beside(path)
        )
        if promised is None:
            raise ConfigError(
                "what recorded this is not known, so its energies would have no"
                " uncertainty",
                path=f"{section}.calibration",
                evidence=f"{path} lies in no session folder",
                try_next=(
                    'calibration = "FILE.toml" with the limits from its data sheet: '
                    "docs/explanation/UNCERTAINTY.md shows one"
                ),
            )
        scratch = tempfile.TemporaryDirectory(prefix="rig-playback-")
        try:
            with _translated(path, section):
                first = _even(path, Path(scratch.name) / "1", settings.signals)
            if not first.has_current:
                raise ConfigError(
                    f"{path} tells power alone, and limits of current and voltage say"
                    " nothing of it",
                    path=f"{section}.signals.power",
                    try_next=(
                        "rig measure takes it; a session needs current and voltage"
                    ),
                )
            return cls(settings, context, scratch, first, first.promised(promised))
        except BaseException:
            scratch.cleanup()
            raise

    @property
    def info(self) -> MonitorInfo:
        """Description of the recording."""
        trace = self._first.trace
        as_keys = partial(_as_keys, self._section)
        no_sync = [note for note in self._first.notes if isinstance(note, NoSync)]
        return MonitorInfo(
            name="playback",
            kind="playback",
            simulated=bool(self._first.about.get("simulated", False)),
            sample_hz=trace.sample_hz,
            edge_hz=trace.edge_hz,
            accuracy=self._accuracy,
            sync=self._first.sync,
            no_sync=(
                "; ".join(note.worded(as_keys) for note in no_sync),
                _NO_SYNC.replace("SIGNALS", f"{self._section}.signals"),
            ),
            details={
                "path": self._settings.path,
                "recordings": (
                    "one each"
                    if _NUMBER in self._settings.path
                    else "all are copies of one file"
                ),
                "power": "not switched: nothing is measured",
                "notes": [worded(note, as_keys) for note in self._first.notes],
            },
            # The rest of a trial has no recording: the recording begins with the whole
            # trial.
            resumable=False,
            switches=False,
        )

    def power(self, on: bool) -> None:
        """Ignore the request: a recording has no supply to switch."""

    def record(self, folder: Path) -> PlaybackRecording:
        """Copy the recording of the trial at hand into `folder`."""
        return PlaybackRecording(self, folder, self._context.state.trial)

    def opened(self, number: int) -> Opened:
        """Return the recording of trial `number`.

        Raises DeviceNotFound when there is none, BenchError when it cannot be read or
        is of another kind than the first.
        """
        if number == 1 or _NUMBER not in self._settings.path:
            return self._first
        path = _numbered(self._settings, number)
        try:
            with _translated(path, self._section):
                scratch = Path(self._scratch.name) / str(number)
                opened = _even(path, scratch, self._settings.signals)
        except (ConfigError, DataError) as error:
            cause = f"recording {number}: {error.cause}"
            if path.exists():
                raise BenchError(
                    cause, evidence=error.evidence, try_next=error.try_next
                ) from error
            raise DeviceNotFound(
                cause, evidence=error.evidence, try_next="fewer trials"
            ) from error
        have = opened.trace
        first = self._first.trace
        due = (first.sample_hz, first.edge_hz, self._first.sync)
        if (have.sample_hz, have.edge_hz, opened.sync) != due:
            rates = (
                f"{have.sample_hz:.10g} Hz with SYNC {opened.sync}, not "
                f"{first.sample_hz:.10g} Hz with {self._first.sync}"
            )
            raise BenchError(
                f"recording {number} is not of the kind of the first",
                evidence=rates,
                try_next="recordings of one instrument with one setting",
            )
        return opened

    def start(self) -> None:
        """Let the time pass that the original recording took to begin."""
        self._context.world.wait(round(self._settings.start_s * NS_PER_S))

    def close(self) -> None:
        """Delete the converted file; closing twice is allowed."""
        self._scratch.cleanup()


class PlaybackRecording:
    """One recording: its file is there from the beginning, and the same as its
    original."""

    def __init__(self, monitor: Playback, folder: Path, number: int) -> None:
        self._monitor = monitor
        self._folder = folder
        self._number = number

    def __enter__(self) -> PlaybackRecording:
        original = self._monitor.opened(self._number).trace.path
        try:
            for name in (GAPS, EDGES, REDUCED):
                if original.with_name(name).exists():
                    _copy(original.with_name(name), self._folder / name)
            partial = self._folder / PARTIAL
            _copy(original, partial)
            partial.rename(self._folder / TRACE)
        except OSError as error:
            raise storage_error(error, self._folder) from error
        self._monitor.start()
        return self

    def check(self) -> None:
        """Raise no error: a finished recording cannot fail."""

    def __exit__(self, *error: object) -> None:
        """Return: the file is complete."""


def _even(path: Path, scratch: Path, signals: Options) -> Opened:
    """Open a recording; raises DataError where it is a table of uneven rows: a session
    has no uncertainty for the times between them.
    """
    opened = open_any(path, scratch, signals)
    if opened.stamped is not None:
        raise DataError(
            f"{path.name} has rows at uneven times, whose uncertainty no session has",
            evidence=opened.stamped.note(path.name),
            try_next=opened.rate_advice
            or "rig measure takes it, or resample it at even times",
        )
    return opened


def _numbered(settings: Playback.Settings, number: int) -> Path:
    return Path(settings.path.replace(_NUMBER, str(number)))


@contextmanager
def _translated(path: Path, section: str) -> Iterator[None]:
    """Add the file to the evidence of an error; name keys of the bench file in place of
    options."""
    try:
        yield
    except (ConfigError, DataError) as error:
        evidence = f"{path}: {error.evidence}" if error.evidence else str(path)
        try_next = worded(error.try_next, partial(_as_keys, section))
        if isinstance(error, ConfigError):
            signals = f"{section}.signals"
            keys = [f"{signals}.{key}" if key else signals for key in error.keys]
            raise ConfigError(
                error.fault, path=tuple(keys), evidence=evidence, try_next=try_next
            ) from error
        raise DataError(error.cause, evidence=evidence, try_next=try_next) from error


def _as_keys(section: str, suggestion: Suggestion) -> str:
    """Word a suggestion by the keys of this bench file; return nothing for one that a
    session refuses: power has no current, and without SYNC there are no windows.
    """
    options = dict(suggestion.options)
    if "power" in options or options.get("sync") == "none":
        return ""
    stated = []
    for name, value in options.items():
        text = value if name in _NUMBERS else toml_text.of_value(value)
        stated.append(f"{section}.signals.{name} = {text}")
    return " and ".join(stated) + suggestion.remark


def _copy(original: Path, copy: Path) -> None:
    shutil.copyfile(original, copy)
    if _sha256(original) != _sha256(copy):
        raise BenchError(
            f"the copy of {original} differs from it",
            try_next="is the disk sound? does another program write the original?",
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
