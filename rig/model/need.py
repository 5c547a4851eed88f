# SPDX-License-Identifier: Apache-2.0
"""One thing that a part of a bench needs on this computer, for `rig doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NeedKind(StrEnum):
    """The kinds of needed things."""

    #: The packages of an extra of neurorig.
    EXTRA = "extra"
    FILE = "file"
    #: A serial port by its path; a URL has no port on this computer.
    PORT = "port"
    #: A program on PATH.
    PROGRAM = "program"
    #: An instrument on USB, by the name of its maker in rig/files/72-neurorig.rules.
    USB = "usb"


@dataclass(frozen=True, slots=True)
class Need:
    """One needed thing: its kind, its name or path, and what helps where it is
    missing. `script`: the program is an interpreter, and this is to run in it, with its
    options.
    """

    kind: NeedKind
    name: str
    try_next: str = ""
    script: tuple[str, ...] = ()
