# SPDX-License-Identifier: Apache-2.0
"""The session folder: names of its files, and how they are read, written and hashed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.errors import DAMAGE, BenchError, DataError, storage_error
from rig.files import foreign_files
from rig.model import catalogue
from rig.model.catalogue import Entry
from rig.store import inventory, journal, strict_json
from rig.store.journal import Journal, JournalEvent
from rig.trace.jls_file import utf8_name
from rig.trace.trace import EDGES, GAPS, REDUCED, SAID, TRACE

BENCH = "bench.toml"
PROVENANCE = "provenance.json"
EVENTS = "events.jsonl"
RESULTS = "results.json"
REPORT = "report.html"

#: Spike trains of a finished session, which a comparison of backends records: an array
#: (steps, outputs) for each sample, by its index.
TRAINS = "trains.npz"

CATALOGUE = "catalogue.csv"

#: The folder of files of the task: a model and inputs of the bench's owner.
KEPT = "task"

#: The folder of calibration files of the monitors, by their rails.
CALIBRATIONS = "calibration"

COMPLETIONS = "completions.jsonl"
SAMPLES = "samples.jsonl"
UART = "uart.log"
LINES = "results.txt"

#: What helps where a finished session lies in a folder that may not be written to.
READ_ONLY_TRY = "a copy of the session in a folder that you may write to"
#: A detached signature of events.jsonl, whose chain commits to every other file
#: (docs/reference/RESULTS.md).
SIGNATURE = EVENTS + ".sig"

RECORDED = (TRACE, GAPS, EDGES, REDUCED, SAID)

#: Suffix of a file that is not whole yet.
PARTIAL_SUFFIX = ".partial"

#: Files that are hashed at a time, at most.
_HASHED_AT_ONCE = 4
#: Names of new folders, and what is written into one before the first line of
#: events.jsonl.
_CREATED = re.compile(r"[0-9]{8}T[0-9]{6}Z-")
_BEGINNING = (BENCH, PROVENANCE, CATALOGUE)
#: Sessions that begin in one second have numbers below this.
_OF_A_SECOND = 1000
_TRIAL = re.compile(r"trial-([1-9][0-9]{0,5})")

#: Name of a trial that was cut off and could not go on.
CUT_OFF = re.compile(r"(trial|segment|sitting)-[0-9]+-cut-off-[0-9]+")


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """Names of things in one session folder."""

    path: Path

    @classmethod
    def create(cls, root: Path, bench: str) -> SessionFolder:
        """Make a new, empty folder root/<utc>-<bench>; never an existing one."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        for suffix in ("", *(f"-{count}" for count in range(2, _OF_A_SECOND))):
            path = root / f"{stamp}-{bench}{suffix}"
            utf8_name(path.absolute())
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise storage_error(error, root) from error
            return cls(path)
        raise BenchError(
            f"{root} has {_OF_A_SECOND - 1} sessions of this second",
            try_next="start it again, or begin fewer at once, or in other folders",
        )

    def trial(self, number: int) -> Path:
        """Return the folder of a trial."""
        return self.path / f"trial-{number}"

    def recorded(self, number: int) -> Path:
        """Return the folder of a trial's recording: that of the first one where
        trials were interleaved, as they have one recording, else its own.
        """
        return self.trial(1 if self.provenance().get("interleaved") is True else number)

    def trials(self) -> list[int]:
        """Return the numbers of the trials that were begun, in order."""
        numbers = []
        for path in self.path.iterdir():
            found = _TRIAL.fullmatch(path.name)
            if found:
                numbers.append(int(found[1]))
        return sorted(numbers)

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of the session."""
        content: dict[str, Any] = read_json(self.path / PROVENANCE)
        return content

    def catalogue(self) -> tuple[Entry, ...]:
        """Return the task's samples; none if the task does not describe them."""
        path = self.path / CATALOGUE
        return catalogue.parse(self._text(path)) if os.path.lexists(path) else ()

    def bench_text(self) -> str:
        """Return the bench file; DataError where it is missing or no text."""
        return self._text(self.path / BENCH)

    def _text(self, path: Path) -> str:
        try:
            return foreign_files.read_text(path, self.path)
        except (OSError, UnicodeDecodeError) as error:
            evidence = getattr(error, "strerror", "") or str(error)
            raise DataError(
                f"{path} cannot be read",
                evidence=evidence,
                try_next=f"rig check {self.path}; ask whoever made it for another copy",
            ) from error

    def journal(self) -> Journal:
        """Return the lines of events.jsonl and their faults."""
        return journal.read(self.path / EVENTS)

    def events(self) -> tuple[JournalEvent, ...]:
        """Return the events that were written completely; raise DataError where they
        are not as they were written.
        """
        found = self.journal()
        if found.faults:
            raise DataError(
                f"{self.path / EVENTS} is not as it was written",
                evidence=found.faults[0],
                try_next=f"rig check {self.path}",
            )
        return found.events

    def refuse_other(self) -> None:
        """Raise DataError where this is no session folder of this version, or holds
        what belongs into none.

        A reader of a session that may come from an untrusted source calls this first.
        """
        inventory.refuse_strange(self.path)
        if self.is_unbegun():
            raise DataError(
                f"{self.path} is empty: the run ended before its first line",
                evidence=f"{EVENTS} has no whole line, and no trial was begun",
                try_next="the folder can be removed: nothing was measured",
            )
        first = _first_line(self.path / EVENTS)
        try:
            schema = strict_json.parse_object(first.decode()).get("schema")
        except ValueError as error:
            said = (
                f"{EVENTS}, line 1: {error}"
                if first
                else f"no {EVENTS}, or an empty one"
            )
            raise no_session(self.path, said) from error
        if schema != journal.SCHEMA:
            raise no_session(
                self.path,
                f"{EVENTS}, line 1 has schema {schema!r:.60}, not {journal.SCHEMA!r}",
            )

    def is_unbegun(self) -> bool:
        """Check whether this is the folder of a run that ended before its first line:
        it holds at most the files that are written before it.
        """
        try:
            inside = {entry.name: entry for entry in self.path.iterdir()}
        except OSError:
            return False
        whole = {*_BEGINNING, EVENTS}
        known = whole | {name + PARTIAL_SUFFIX for name in whole}
        known |= {KEPT, CALIBRATIONS}
        is_ours = bool(inside) or _CREATED.match(self.path.name) is not None
        return (
            is_ours
            and set(inside) <= known
            and b"\n" not in _first_line(self.path / EVENTS)
        )

    def is_denied(self) -> bool:
        """Check whether this is a folder with the name of a session into which the
        account may not look.
        """
        is_named = _CREATED.match(self.path.name) is not None
        return (
            is_named
            and self.path.is_dir()
            and not os.access(self.path, os.R_OK | os.X_OK)
        )

    def refuse_unfinished(self) -> None:
        """Raise DataError where there are no results."""
        if not (self.path / RESULTS).exists():
            raise DataError(
                f"{self.path} has no {RESULTS}: its session did not finish",
                try_next=f"rig check {self.path}",
            )

    def set_aside(self) -> dict[str, str]:
        """Return the SHA-256 of every file of trials that were cut off and begun again,
        by its name in the session's folder.
        """
        apart = [path for path in self.path.iterdir() if CUT_OFF.fullmatch(path.name)]
        digests = {}
        for path in sorted(apart):
            for name, digest in hashes(path).items():
                digests[f"{path.name}/{name}"] = digest
        return digests


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Raise DataError for an error that a damaged file of a session causes."""
    try:
        yield
    except DAMAGE as error:
        raise DataError(
            f"a file of {folder} was damaged",
            evidence=repr(error),
            try_next=f"rig check {folder}",
            see="session-damaged",
        ) from error


def refuse_unwritable(folder: Path, try_next: str = "") -> None:
    """Raise BenchError if no file can be made in a folder, which need not exist yet;
    the folder stays as it was. `try_next` as of `storage_error`.
    """
    try:
        above = (folder, *folder.absolute().parents)
        there = next(each for each in above if os.path.lexists(each))
        Path(tempfile.mkdtemp(prefix=".rig-", dir=there)).rmdir()
    except OSError as error:
        raise storage_error(error, folder, try_next) from error


def _first_line(path: Path) -> bytes:
    """Return the first line of a file, as far as one may be long; empty where there is
    no file."""
    try:
        with foreign_files.opened(path, path.parent) as stream:
            return stream.readline(1 << 20)
    except FileNotFoundError:
        return b""


def no_session(path: Path, found: str) -> DataError:
    """Return the error that says why a folder is no session."""
    return DataError(
        f"{path} is no session folder of this version",
        evidence=found,
        try_next="rig list shows the sessions here",
    )


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder and those below it, by its name
    there."""
    return {name: sha256(path) for name, path in inventory.files(folder).items()}


def sha256_of(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the SHA-256 of files, in their order; each processor hashes another one."""
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _HASHED_AT_ONCE)) as pool:
        yield from pool.map(sha256, paths)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with foreign_files.opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def to_disk(folder: Path) -> None:
    """Have the system write all files of a folder, and the names of those, to the disk:
    they then survive a power cut.
    """
    names = {folder.parent, folder}
    for name in inventory.folders(folder):
        names.add(folder / name)
    for path in (*inventory.files(folder).values(), *sorted(names)):
        if path.is_dir() and sys.platform == "win32":  # there is no handle of a folder
            continue
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def json_text(content: Any) -> str:
    """Return JSON as it is stored: the same content always gives the same bytes."""
    return (
        json.dumps(
            content, indent=1, sort_keys=False, ensure_ascii=False, allow_nan=False
        )
        + "\n"
    )


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes, try_next: str = "") -> None:
    """Write a file whole or not at all: it has its name once all of it is on the disk.
    A link of its name is replaced, not followed. `try_next` as of `storage_error`.
    """
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        partial.unlink(missing_ok=True)
        with partial.open("xb") as stream:  # a link of that name is refused
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as error:
        raise storage_error(error, path, try_next) from error


def read_json(path: Path) -> Any:
    """Read a JSON file of a session folder, or one beside session folders; raises
    DataError."""
    folder = foreign_files.session_of(path) or path.parent
    try:
        return strict_json.parse(foreign_files.read_text(path, folder))
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing") from error
    except ValueError as error:
        raise DataError(f"{path} is not readable JSON", evidence=str(error)) from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; an incomplete last line (the writer was killed in it) is left
    out, any other bad line is a DataError.
    """
    try:
        lines = foreign_files.read_text(path, errors="replace").split("\n")
    except FileNotFoundError:
        return []
    content = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            content.append(strict_json.parse_object(line))
        except ValueError as error:
            if number == len(lines):
                break
            raise DataError(
                f"{path}, line {number} is not JSON", evidence=f"{error}: {line[:80]}"
            ) from error
    return content
