# SPDX-License-Identifier: Apache-2.0
"""The support bundle: a zip with the facts that remote support needs, listed before it
is written.

Versions, the bench file, attached devices, the provenance and the course of a session;
no traces and no data. Every text passes rig/api/support/redaction.py. Of the link's log
only its end, without the bytes that it carried.

Text made fit to be shown to others: without secrets, home folders, names of people
and computers, addresses of a network, and, where wanted, without serial numbers.
"""

from __future__ import annotations

import getpass
import io
import ipaddress
import json
import os
import platform
import re
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from rig.bench.scan import ScanRow
from rig.errors import DataError, RigError
from rig.files import foreign_files, user_folders
from rig.files.plain_text import visible
from rig.store import inventory, provenance, verified
from rig.store.session_folder import (
    BENCH,
    EVENTS,
    PROVENANCE,
    RESULTS,
    UART,
    SessionFolder,
    read_json,
    write_bytes,
)

_TEXT_MAX_B = 1 << 20
_LINES_MAX = 400


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file of a bundle: its name there, its content in a few words, and its
    text."""

    name: str
    what: str
    text: str

    @property
    def size_b(self) -> int:
        """The size of the text, in bytes."""
        return len(self.text.encode())


@dataclass(frozen=True, slots=True)
class Bundle:
    """Content of a bundle before it is written."""

    files: tuple[BundleFile, ...]
    serials_kept: bool

    def write(self, path: Path) -> Path:
        """Write the zip, whole or not at all; return its path."""
        block = io.BytesIO()
        with zipfile.ZipFile(block, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in self.files:
                archive.writestr(
                    zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0)), file.text
                )
        write_bytes(path, block.getvalue())
        return path


def collect(
    session: Path | None = None,
    bench: Path | None = None,
    *,
    keep_serials: bool = False,
    scan: Callable[[], Sequence[ScanRow]] | None = None,
    notes: str = "",
) -> Bundle:
    """Return the bundle of a session, a bench file, or neither; `scan` lists attached
    devices.

    `notes` are the words of the person who asks.
    """
    if session is not None:
        if not session.is_dir():
            raise DataError(
                f"{session} is no folder", try_next="the folder of a session"
            )
        inventory.refuse_strange(session)
    scanned = scan() if scan is not None else ()
    trees = [*_trees(session, bench), [asdict(row) for row in scanned]]
    serials = set().union(*(serials_in(tree) for tree in trees))
    serials |= {row.serial for row in scanned if row.serial}
    hosts = set().union(*(hosts_in(tree) for tree in trees))
    redaction = Redaction.here(hosts, () if keep_serials else sorted(serials))
    files = [
        BundleFile(
            "versions.txt", "versions of the rig and of what it runs on", versions()
        )
    ]
    if notes:
        files.append(BundleFile("notes.txt", "what you wrote", notes))
    if bench is not None:
        files.append(BundleFile("bench.toml", "the bench file", _text(bench)))
    if scan is not None:
        rows = json.dumps(
            [asdict(row) for row in scanned], indent=1, ensure_ascii=False
        )
        files.append(BundleFile("scan.json", "what is attached", rows + "\n"))
    if session is not None:
        files += _of_session(session)
    clean = [
        replace(one, text=redaction.text(visible(one.text), one is not files[0]))
        for one in files
    ]
    return Bundle(tuple(clean), keep_serials)


def versions() -> str:
    """Return the versions of the rig, of Python, of the system and of every package, a
    line each.
    """
    installed = sorted(
        {f"{each.name} {each.version}" for each in distributions()}, key=str.lower
    )
    version = provenance.version_of("neurorig")
    lines = [
        f"neurorig {version} {provenance.own_revision()}".rstrip(),
        f"python {sys.version.split()[0]}",
        f"system {platform.platform()}",
        f"machine {platform.machine()}",
        "",
        *installed,
    ]
    return "\n".join(lines) + "\n"


def _trees(session: Path | None, bench: Path | None) -> Iterator[Any]:
    texts: list[Callable[[], str]] = []
    if bench is not None:
        texts.append(partial(foreign_files.read_text, bench))
    if session is not None:
        texts.append(SessionFolder(session).bench_text)
        try:
            yield read_json(session / PROVENANCE)
        except RigError:
            yield {}
    for text in texts:
        try:
            yield tomllib.loads(text())
        except (OSError, ValueError, RigError):
            yield {}


def _of_session(path: Path) -> Iterator[BundleFile]:
    for name, what in (
        (BENCH, "the bench file as resolved"),
        (PROVENANCE, "how the session came about"),
        (EVENTS, "what happened in the session"),
    ):
        if (path / name).is_file():
            yield BundleFile(f"session/{name}", what, _text(path / name, path))
    if (path / RESULTS).is_file():
        yield BundleFile(
            "session/metrics.json", "metrics and problems", _metrics(path / RESULTS)
        )
    for number in SessionFolder(path).trials():
        place = path / f"trial-{number}" / UART
        if place.is_file():
            yield BundleFile(
                f"session/trial-{number}/uart.txt",
                "times and lengths on the link, at its end",
                _lengths(place, path),
            )


def _metrics(path: Path) -> str:
    try:
        content = read_json(path)
        chosen = {
            key: content[key]
            for key in ("schema", "metrics", "problems", "replication")
        }
        if changed_files := verified.changes(SessionFolder(path.parent)):
            chosen = {
                "changed after the run": [str(change) for change in changed_files]
            } | chosen
    except (RigError, LookupError, TypeError) as error:
        chosen = {"not readable": str(error)}
    return json.dumps(chosen, indent=1, ensure_ascii=False) + "\n"


def _lengths(path: Path, session: Path) -> str:
    """Return time, direction and length of the last blocks on a link, without their
    bytes, which are the task's.
    """
    lines = _text(path, session).splitlines()
    kept = [" ".join(line.split(" ")[:3]) for line in lines[-_LINES_MAX:]]
    more = (
        [f"... {len(lines) - _LINES_MAX} lines before"]
        if len(lines) > _LINES_MAX
        else []
    )
    return "\n".join([*more, *kept]) + "\n"


def _text(path: Path, folder: Path | None = None) -> str:
    """Return a text file, of a long one its end; where `folder` is given, one that lies
    in it."""
    try:
        with foreign_files.opened(path, folder) as stream:
            size_b = os.fstat(stream.fileno()).st_size
            stream.seek(max(size_b - _TEXT_MAX_B, 0))
            content = stream.read()
    except (OSError, RigError) as error:
        return f"{path.name} cannot be read: {error}\n"
    if size_b > _TEXT_MAX_B:
        content = content.partition(b"\n")[2]
    return content.decode("utf-8", "replace")


REMOVED = "<removed>"
SERIAL = "<serial>"
HOST = "<host>"
USER = "<user>"
HOME = "~"
IP = "<ip>"
MAC = "<mac>"

_SECRET = (
    r"pass(?:word|wd|phrase|code)?|pwd|psk|secret|token|api[-_]?key|access[-_]?key"
    r"|private[-_]?key|pre[-_]?shared[-_]?key|credentials?|authorization|auth|cookie"
    r"|session[-_]?id|community"
)
#: A number that opens something. Alone it may be the pin of a board: `pin = 13` is
#: taken out, `sync_pin = 13` stays.
_PIN = (
    r"(?<![\w.-])(?:(?:sim|card|user|device|wifi|wlan|wps|ble|bluetooth|pairing|unlock)[-_])?pin"
    r"(?:[-_]?(?:code|number))?"
)
#: A key that names a secret, and its value in TOML, JSON, a command line or a log.
_KEYED = re.compile(
    rf"""((?:(?<![A-Za-z])[\w.-]*?(?<![A-Za-z])(?:{_SECRET})s?(?![A-Za-z])[\w.-]*|{_PIN})"""
    r"""["']?\s*[=:]\s*)"""
    r'("{3}[\s\S]*?"{3}|\'{3}[\s\S]*?\'{3}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\[[^\]]*\]'
    r"|\{[^}]*\}|(?:bearer|basic)\s+\S+|[^\s,;&}\]]+)",
    re.IGNORECASE,
)
#: Secrets that are known by their form.
_FORMS = (
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*KEY-----|\Z)"
    ),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"),
    re.compile(r"\b(?:hf|npm)_[A-Za-z0-9]{16,}|\bpypi-[\w-]{16,}|\bAIza[\w-]{30,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"),
    re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._-]{8,}"),
)
#: user:password@ in an address.
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s@\"']+@")
_MAC = re.compile(
    r"(?<![\w:.-])(?:[0-9A-F]{2}(?:([:-])[0-9A-F]{2})(?:\1[0-9A-F]{2}){4}"
    r"|[0-9A-F]{4}\.[0-9A-F]{4}\.[0-9A-F]{4})(?![\w:-])",
    re.IGNORECASE,
)
#: Candidates for an address of the Internet protocol, version 4 or 6; ipaddress
#: decides.
_IP = re.compile(
    r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\w)"
    r"|(?<![\w.:-])(?=[0-9A-F:]*\d)(?:[0-9A-F]{0,4}:){2,7}"
    r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-F]{0,4})(?![\w:])",
    re.IGNORECASE,
)
_HOMES = re.compile(
    r"/(?:home|Users)/[^/\s\"'\\:;,]+|[A-Za-z]:(?:\\\\?|/)Users(?:\\\\?|/)[^\\/\s\"':;,]+"
    r"|/root(?![\w-])"
)
#: A key of a serial number; pyserial is a package.
_SERIAL_KEY = re.compile(r"(?<![a-z])serial", re.IGNORECASE)
#: Shorter names would be found inside of other words' meanings, such as "pi" or "vm".
_NAME_MIN = 3
_ORDINARY_NAMES = frozenset(("root", "user", "admin", "localhost", "home"))


@dataclass(frozen=True, slots=True)
class Redaction:
    """Parts to remove from texts; `serials` are the serial numbers to remove, none to
    leave them.
    """

    home: str = ""
    user: str = ""
    hosts: tuple[str, ...] = ()
    serials: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def here(cls, hosts: Iterable[str] = (), serials: Iterable[str] = ()) -> Redaction:
        """Return the names that identify this computer and its user, and other
        hosts."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = ""
        home = str(user_folders.home() or "")
        named = dict.fromkeys((platform.node(), *hosts))
        return cls(home, user, tuple(filter(None, named)), tuple(filter(None, serials)))

    def text(self, content: str, addresses: bool = True) -> str:
        """Return a text without them; `addresses` is False for a list of versions, as
        some of these look like addresses.
        """
        content = _KEYED.sub(_without_value, content)
        for form in _FORMS:
            content = form.sub(REMOVED, content)
        content = _IN_ADDRESS.sub(f"{REMOVED}@", content)
        if addresses:
            content = _IP.sub(_without_address, _MAC.sub(MAC, content))
        if len(self.home) > 1:
            for home in {self.home, self.home.replace("\\", "\\\\")}:
                content = re.sub(rf"{re.escape(home)}(?![\w-])", HOME, content)
        content = _HOMES.sub(HOME, content)
        for name, instead in (
            (self.user, USER),
            *((host, HOST) for host in self.hosts),
        ):
            if len(name) >= _NAME_MIN and name.lower() not in _ORDINARY_NAMES:
                content = _word(name).sub(instead, content)
        for serial in sorted(self.serials, key=len, reverse=True):
            if len(serial) >= _NAME_MIN:
                content = _word(serial).sub(SERIAL, content)
        return content


def _without_value(match: re.Match[str]) -> str:
    value = match[2]
    quote = value[0] if value[0] in "\"'" else '"' if value[0] in "[{" else ""
    return f"{match[1]}{quote}{REMOVED}{quote}"


def _without_address(match: re.Match[str]) -> str:
    """Return what stands for an address; an address of this computer stays
    (127.0.0.1)."""
    try:
        address = ipaddress.ip_address(match[0])
    except ValueError:
        return match[0]
    return match[0] if address.is_loopback or address.is_unspecified else IP


def _word(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.IGNORECASE
    )


def serials_in(tree: Any) -> set[str]:
    """Return every serial number that a tree of JSON or TOML states by a key that says
    so."""
    serials: set[str] = set()
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if _SERIAL_KEY.search(str(key)) and isinstance(value, (str, int)):
                serials.add(str(value))
            else:
                serials |= serials_in(value)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            serials |= serials_in(value)
    return serials - {"", "True", "False"}


def hosts_in(provenance: Any) -> set[str]:
    """Return the names of computers that a provenance states."""
    host = provenance.get("host") if isinstance(provenance, Mapping) else None
    node = host.get("node") if isinstance(host, Mapping) else None
    return {node} if isinstance(node, str) and node else set()
