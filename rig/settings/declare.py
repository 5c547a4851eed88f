# SPDX-License-Identifier: Apache-2.0
"""Annotations that declare a setting, in addition to annotated_types (Ge, Gt, Interval,
Unit, doc).

idle_s: Annotated[float, Interval(ge=0.1, le=600), Unit("s"), doc("Idle time before
all.")] = 0.5
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Unit

PATH = "path"
#: Names a file: relative to the bench file, or to the working directory where it comes
#: from the command line. A value equal to the field's default stays as it is.
PathText = Annotated[str, PATH]
FOLDER = "folder"
#: Names a folder, in the same way.
FolderText = Annotated[str, PATH, FOLDER]
PROGRAM = "program"
#: Names the program that a device is, which has to be there before anything is begun.
ProgramText = Annotated[str, PATH, PROGRAM]
#: Names the device or instrument that a session has for itself: a port, an address, a
#: serial number. Of a kind without such a setting there is one.
DEVICE = "device"
#: A number of things.
Count = Annotated[int, Unit("count")]
#: Names one of several: it is neither counted nor measured.
Number = Annotated[int, Unit("number")]
#: Seeds a generator of random numbers, which takes no negative one.
Seed = Annotated[int, Ge(0), Unit("number")]
#: A part of a whole, or a relative error.
Ratio = Annotated[float, Unit("1")]
#: Units of numbers that have none.
UNITLESS = ("count", "number", "1")


@dataclass(frozen=True, slots=True)
class Or:
    """A value allowed in addition to the range, and its meaning: Or(0, "none")."""

    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Why:
    """The reason of a range, in a few words that follow it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Matches:
    """Form of a text: a regular expression, and the same in words."""

    pattern: str
    meaning: str

    def holds(self, text: str) -> bool:
        """Check whether all of a text is of this form."""
        return re.fullmatch(self.pattern, text) is not None
