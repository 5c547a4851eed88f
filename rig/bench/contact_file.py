# SPDX-License-Identifier: Apache-2.0
"""The first contact with instruments as a file: every command and raw answer, a line of
JSON each, written while they pass.

The first line has the form's version and the program's. Others have `t`, the seconds
since then, and `part`, a section of the bench file; `opened` says how its instrument is
talked to, `dir` with `text` (Latin-1) or `hex` is a block of bytes, `finding` a row of
the probe, `bench` the bench file with all defaults, `end` why there is no more.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

from rig.errors import ConfigError, DataError, storage_error
from rig.files import typed
from rig.interfaces.contact import Conversation, Heard
from rig.model.finding import Finding
from rig.store import provenance, strict_json

VERSION = 1
#: Bytes that are stored as text: Latin-1 without most control characters.
_TEXT = bytes([*range(0x20, 0x7F), *b"\r\n\t\0"])


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A line of the file: `t` seconds after the first; of the other fields those of its
    kind."""

    t: float
    contact: int | None = typed.optional()
    created_utc: str | None = typed.optional()
    neurorig: str | None = typed.optional()
    revision: str | None = typed.optional()
    python: str | None = typed.optional()
    system: str | None = typed.optional()
    bench: str | None = typed.optional()
    part: str | None = typed.optional()
    opened: Conversation | None = typed.optional()
    dir: str | None = typed.optional()
    text: str | None = typed.optional()
    hex: str | None = typed.optional()
    finding: Finding | None = typed.optional()
    end: dict[str, str] | None = typed.optional()

    @property
    def block(self) -> bytes:
        """The bytes that passed; raises ValueError."""
        if self.text is not None:
            return self.text.encode("latin-1")
        if self.hex is None:
            raise ValueError("neither text nor hex")
        return bytes.fromhex(self.hex)


class ContactWriter:
    """Writes a contact file while a bench is probed; safe to call from any thread."""

    plays = False

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._began_s = time.monotonic()
        self._path = path
        self._failure: OSError | None = None
        try:
            self._file = path.open("x", encoding="utf-8", newline="\n")
        except FileExistsError as error:
            raise ConfigError(
                f"{path} exists",
                path="--contact",
                try_next="another name: no record is replaced",
            ) from error
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be written", path="--contact", evidence=str(error)
            ) from error
        self._write(
            contact=VERSION,
            created_utc=provenance.utc_now(),
            neurorig=provenance.version_of("neurorig"),
            revision=str(provenance.own_revision()),
            python=sys.version.split()[0],
            system=platform.platform(),
        )

    def begin(self, bench_toml: str) -> None:
        """Note the bench file as resolved: the settings of all drivers."""
        self._write(bench=bench_toml)

    def tap(self, part: str, conversation: Conversation) -> Heard:
        """Note the address of an instrument; return a listener that notes blocks."""
        self._write(part=part, opened=conversation)
        return self.line(part)

    def line(self, part: str) -> Heard:
        """Return the listener to a part that has no driver."""
        return partial(self._block, part)

    def played(self, part: str) -> str:
        """Return no address: the instrument itself is used."""
        return ""

    def found(self, finding: Finding) -> None:
        """Note a row of the probe."""
        self._write(finding=finding)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        failure = {"cause": str(error) or repr(error)} if error is not None else {}
        failure |= {
            name: text
            for name in ("evidence", "try_next")
            if (text := getattr(error, name, ""))
        }
        self._write(end=failure)
        with self._lock, suppress(OSError):
            self._file.close()
        if self._failure is not None and error is None:
            raise storage_error(self._failure, self._path)

    def _block(self, part: str, direction: str, block: bytes) -> None:
        if block.translate(None, _TEXT):
            content = {"hex": block.hex()}
        else:
            content = {"text": block.decode("latin-1")}
        self._write(part=part, dir=direction, **content)

    def _write(self, **content: Any) -> None:
        with self._lock:
            # Also of a thread that outlives the probe.
            if self._file.closed or self._failure is not None:
                return
            line = Line(round(time.monotonic() - self._began_s, 6), **content)
            try:
                self._file.write(
                    json.dumps(typed.to_json(line), allow_nan=False) + "\n"
                )
                # The file is complete up to the moment at which a cable is pulled.
                self._file.flush()
            except OSError as error:
                # Not here: a driver would take a full disk for an instrument that is
                # gone.
                self._failure = error


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Bytes that passed: time in seconds, direction, and line of the file."""

    at_s: float
    direction: str
    content: bytes
    line: int


@dataclasses.dataclass(slots=True)
class RecordedConversation:
    """The recorded conversation with one instrument."""

    conversation: Conversation
    blocks: list[Block]


def read(path: Path) -> tuple[dict[str, RecordedConversation], list[Finding]]:
    """Return the recorded conversations by the sections of their instruments, and the
    rows of the probe; raises DataError. A file that was cut off is read as far as it
    goes.
    """
    parts: dict[str, RecordedConversation] = {}
    findings: list[Finding] = []
    for number, content in _lines(path):
        try:
            if number == 1 and content.get("contact") != VERSION:
                raise ValueError(f"form {content.get('contact')!r}, known is {VERSION}")
            line = typed.from_json(Line, content, "it")
            part = line.part or ""
            if line.opened is not None:
                for pattern in line.opened.varies:
                    re.compile(pattern)
                parts.setdefault(part, RecordedConversation(line.opened, []))
            elif line.dir is not None and part in parts:
                parts[part].blocks.append(Block(line.t, line.dir, line.block, number))
            elif line.finding is not None:
                findings.append(line.finding)
        except DataError as error:
            raise _damaged(path, number, f"{error.cause}: {error.evidence}") from error
        except (AttributeError, KeyError, TypeError, ValueError, re.error) as error:
            raise _damaged(path, number, repr(error)) from error
    return parts, findings


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} cannot be read",
            evidence=str(error),
            try_next="a file of rig probe --contact",
        ) from error
    # A program that was killed may have left an incomplete last line.
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield number, strict_json.parse_object(line)
        except ValueError as error:
            raise _damaged(path, number, str(error)) from error
    if len(lines) < 2:
        raise _damaged(path, 1, "it is empty")


def _damaged(path: Path, number: int, evidence: str) -> DataError:
    return DataError(
        f"{path} is no contact file",
        evidence=f"line {number}: {evidence}",
        try_next="a file of rig probe --contact, its first line with it",
    )
