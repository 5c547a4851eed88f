# SPDX-License-Identifier: Apache-2.0
"""The echo of a text device: what it says of a command before it answers."""

from __future__ import annotations

from sut_backends.shim.text_answers import NAME_BEGINS

#: With a `{}` for the command: a terminal's echo, with and without the `%`, on the line
#: of the answer or on one of its own; and the line of the public firmware for streaming
#: wake words.
_FORMS = ("Received command: {}", "{}%")
_BARE = "{}"


def form_of(lines: list[str]) -> str:
    """Return how a device echoes, from what it said around the answer to `name`; empty
    where it does not.
    """
    at = max(number for number, line in enumerate(lines) if NAME_BEGINS in line)
    on_its_line = lines[at].partition(NAME_BEGINS)[0]
    said = on_its_line or (lines[at - 1] if at else "")
    if said == "name":
        return _BARE
    # What an earlier host left may stand before these.
    return next((form for form in _FORMS if said.endswith(form.format("name"))), "")


def without(form: str, words: str, lines: list[str]) -> list[str] | None:
    """Return the first lines of an answer to `words` without the echo; None where they
    begin with anything but exactly that.
    """
    echo = form.format(words)
    if not lines[0].startswith(echo):
        return None
    rest = lines[0].removeprefix(echo)
    return [*([rest] if rest else []), *lines[1:]]
