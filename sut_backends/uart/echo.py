# SPDX-License-Identifier: Apache-2.0
"""The echo of a text device: the copy of a command that precedes its answer."""

from __future__ import annotations

from sut_backends.shim.text_answers import NAME_BEGINS

#: With a `{}` for the command: a terminal's echo, with and without the `%`, on the line
#: of the answer or on one of its own; and the line of the public firmware for streaming
#: wake words.
_FORMS = ("Received command: {}", "{}%")
_BARE = "{}"


def form_of(lines: list[str]) -> str:
    """Return the form of a device's echo, from the lines around its answer to `name`;
    empty where it does not echo.
    """
    at = max(number for number, line in enumerate(lines) if NAME_BEGINS in line)
    on_its_line = lines[at].partition(NAME_BEGINS)[0]
    before = on_its_line or (lines[at - 1] if at else "")
    if before == "name":
        return _BARE
    # The rest of an earlier host's command may stand before these.
    for form in _FORMS:
        if before.endswith(form.format("name")):
            return form
    return ""


def without(form: str, words: str, lines: list[str]) -> list[str] | None:
    """Return the first lines of an answer to `words` without the echo; None where they
    do not begin with exactly that echo.
    """
    echo = form.format(words)
    if not lines[0].startswith(echo):
        return None
    rest = lines[0].removeprefix(echo)
    return [*([rest] if rest else []), *lines[1:]]
