# SPDX-License-Identifier: Apache-2.0
"""A picture that a scenario draws for the report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with its heading and a sentence about it; without a figure the sentence
    says why.

    The report draws it in its own colours, and puts the labels of the session on it.
    `name` is that of its section, in small letters, digits and underscores.
    """

    name: str
    title: str
    figure: Figure | None
    caption: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a picture: {_NAME.pattern}")
