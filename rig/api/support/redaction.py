# SPDX-License-Identifier: Apache-2.0
"""Text made fit to be shown to others: without secrets, home folders, names of people
and computers, addresses of a network, and, where wanted, without serial numbers.
"""

from __future__ import annotations

import getpass
import ipaddress
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rig.files import user_folders

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
        names = [(self.user, USER), *((host, HOST) for host in self.hosts)]
        for name, instead in names:
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
