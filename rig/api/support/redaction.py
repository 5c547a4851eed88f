# SPDX-License-Identifier: Apache-2.0
"""Text made fit to be shown to others: without secrets, home folders, names of people and
computers, and, where wanted, without serial numbers.
"""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REMOVED = "<removed>"
SERIAL = "<serial>"
HOST = "<host>"
USER = "<user>"
HOME = "~"

_SECRET = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|credentials?|authorization|auth|cookie|session[-_]?id|community"
)
#: A key that names a secret, and its value in TOML, JSON, a command line or a log.
_KEYED = re.compile(
    rf"""((?<![A-Za-z])[\w.-]*?(?<![A-Za-z])(?:{_SECRET})s?(?![A-Za-z])[\w.-]*["']?\s*[=:]\s*)"""
    r'("{3}[\s\S]*?"{3}|\'{3}[\s\S]*?\'{3}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\[[^\]]*\]'
    r"|\{[^}]*\}|(?:bearer|basic)\s+\S+|[^\s,;&}\]]+)",
    re.IGNORECASE,
)
#: Secrets that are known by their form.
_FORMS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*KEY-----|\Z)"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/=._-]{8,}"),
)
#: user:password@ in an address.
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s@\"']+@")
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
    """What is taken out of texts; `serials` are the serial numbers to take out, none to leave
    them.
    """

    home: str = ""
    user: str = ""
    hosts: tuple[str, ...] = ()
    serials: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def here(cls, hosts: Iterable[str] = (), serials: Iterable[str] = ()) -> Redaction:
        """Return what this computer and its user are known by; besides other hosts."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = ""
        try:
            home = str(Path.home())
        except RuntimeError:
            home = ""
        named = dict.fromkeys((platform.node(), *hosts))
        return cls(home, user, tuple(filter(None, named)), tuple(filter(None, serials)))

    def text(self, content: str) -> str:
        """Return a text without them."""
        content = _KEYED.sub(_without_value, content)
        for form in _FORMS:
            content = form.sub(REMOVED, content)
        content = _IN_ADDRESS.sub(f"{REMOVED}@", content)
        if len(self.home) > 1:
            for home in {self.home, self.home.replace("\\", "\\\\")}:
                content = re.sub(rf"{re.escape(home)}(?![\w-])", HOME, content)
        content = _HOMES.sub(HOME, content)
        for name, instead in ((self.user, USER), *((host, HOST) for host in self.hosts)):
            if len(name) >= _NAME_MIN and name.lower() not in _ORDINARY_NAMES:
                content = _word(name).sub(instead, content)
        for serial in sorted(self.serials, key=len, reverse=True):
            if len(serial) >= _NAME_MIN:
                content = _word(serial).sub(SERIAL, content)
        return content


def _without_value(found: re.Match[str]) -> str:
    value = found[2]
    quote = value[0] if value[0] in "\"'" else '"' if value[0] in "[{" else ""
    return f"{found[1]}{quote}{REMOVED}{quote}"


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.IGNORECASE)


def serials_in(tree: Any) -> set[str]:
    """Return every serial number that a tree of JSON or TOML states by a key that says so."""
    found: set[str] = set()
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if _SERIAL_KEY.search(str(key)) and isinstance(value, (str, int)):
                found.add(str(value))
            else:
                found |= serials_in(value)
    elif isinstance(tree, (list, tuple)):
        for value in tree:
            found |= serials_in(value)
    return found - {"", "True", "False"}


def hosts_in(provenance: Any) -> set[str]:
    """Return the names of computers that a provenance states."""
    host = provenance.get("host") if isinstance(provenance, Mapping) else None
    node = host.get("node") if isinstance(host, Mapping) else None
    return {node} if isinstance(node, str) and node else set()
