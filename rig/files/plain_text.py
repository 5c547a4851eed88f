# SPDX-License-Identifier: Apache-2.0
"""Text from outside, made safe to show: in a terminal or in a window."""

from __future__ import annotations

import codecs
import re

#: Control characters but tabs and ends of lines, marks that turn the direction of
#: writing, and halves of characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
#: Signs of ours in letters that every encoding has.
_SPELT = str.maketrans(
    {"±": "+-", "µ": "u", "μ": "u", "Ω": "Ohm", "−": "-", "–": "-", "²": "2"}
)


def spelt(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of characters that an encoding lacks, as codecs expect it:
    the rig's own signs in letters, others by their numbers.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    spelling = lacking.translate(_SPELT)
    return spelling.encode("ascii", "backslashreplace").decode(), error.end


#: The name of `spelt` for streams, once `register_spelling` was called.
SPELT = "rig.spelt"


def register_spelling() -> None:
    """Register `SPELT`, which replaces characters that an encoding lacks."""
    codecs.register_error(SPELT, spelt)


def visible(text: str) -> str:
    """Return a text with a sign in the place of characters that command a terminal,
    turn the direction of writing, or are none.

    Bytes of a name that are no UTF-8 are shown by their numbers, so that the file can
    be found.
    """
    return _UNSEEN.sub(
        lambda unseen: (
            ascii(unseen[0])[1:-1] if "\udc80" <= unseen[0] <= "\udcff" else "\ufffd"
        ),
        text,
    )


def one_line(text: str) -> str:
    """Return a text for a place within a line: as `visible`, and no end of a line in it
    either."""
    return visible(text).replace("\n", "\\n")
