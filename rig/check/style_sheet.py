# SPDX-License-Identifier: Apache-2.0
"""The style sheet of a report by another revision: whether it may hide or add text.

A style sheet can take the label SIMULATED off a page whose text has it. Rules that only
place things may differ from those of this revision; any other rule has to be one of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Properties that place a text or draw a frame around it, and neither hide nor add any.
_PLACING_NAMES = """
    align-items align-self border-collapse border-radius box-sizing break-after
    break-before
    break-inside cursor flex-wrap font-family font-style font-variant-numeric
    font-weight gap
    grid-column grid-template-columns justify-content justify-items letter-spacing
    list-style
    min-width overflow-wrap text-align vertical-align white-space word-break
"""
_PLACING = frozenset(_PLACING_NAMES.split())
_PLACING_PARTS = ("border", "margin", "padding")
_FONT_SIZE = re.compile(r"(\d+(?:\.\d+)?)px")
_FONT_LEAST_PX = 7.0
#: A part of a plain value: a word, a colour, a number of at most three digits that is
#: not negative.
_PLAIN = re.compile(
    r"[A-Za-z][A-Za-z-]*|#[0-9a-f]{3,6}|\d{1,3}(\.\d{1,3})?(px|em|rem|%|fr)?|"
    r"\.\d{1,3}(em|rem)?|--[a-z0-9]+"
)
_BETWEEN = re.compile(r"[\s,()/\"]+")
_COLOUR = re.compile(r"color: var\(--[a-z]+\)")
#: What would have a browser read a style sheet otherwise than it is read here.
_ODD = re.compile(r"/\*|\\|<|&|'|@(?!media|page)|\"")
_QUOTED = re.compile(r'"[^"{};:()\n]*"')

Rule = tuple[str, str, str]


def foreign(sheet: str, own: str) -> str:
    """Return the first rule of a style sheet that may hide or add text and is none of
    this revision's `own`; empty where there is none.
    """
    if sheet == own:
        return ""
    if odd := _ODD.search(_QUOTED.sub("", sheet)):
        return odd[0]
    try:
        known = set(_rules(own, ""))
        # Colours of text that is seen on every background of the page.
        colours = {one for _, _, one in known if _COLOUR.fullmatch(one)}
        for rule in _rules(sheet, ""):
            around, selector, declaration = rule
            if rule not in known and not (
                declaration in colours or _only_places(declaration)
            ):
                return f"{around} {selector} {{ {declaration} }}".strip()
    except ValueError as error:
        return str(error)
    return ""


def _rules(sheet: str, around: str) -> Iterator[Rule]:
    """Yield each declaration with its media rule and its selector; raise ValueError."""
    at = 0
    while sheet[at:].strip():
        opened = sheet.find("{", at)
        if opened < 0:
            raise ValueError(sheet[at : at + 60].strip())
        head = " ".join(sheet[at:opened].split())
        closed = _end(sheet, opened)
        if head.startswith("@media"):
            yield from _rules(sheet[opened + 1 : closed], f"{around} {head}".strip())
        else:
            for text in sheet[opened + 1 : closed].split(";"):
                declaration = " ".join(text.split())
                if declaration.count("(") != declaration.count(")"):
                    raise ValueError(declaration[:60])
                if declaration:
                    yield around, head, declaration
        at = closed + 1


def _end(sheet: str, opened: int) -> int:
    depth = 0
    for at in range(opened, len(sheet)):
        depth += {"{": 1, "}": -1}.get(sheet[at], 0)
        if not depth:
            return at
    raise ValueError(sheet[opened : opened + 60])


def _only_places(declaration: str) -> bool:
    name, colon, value = (part.strip() for part in declaration.partition(":"))
    parts = [part for part in _BETWEEN.split(value) if part]
    if not colon or not all(map(_PLAIN.fullmatch, parts)) or "url" in parts:
        return False
    if name == "font-size":
        size = _FONT_SIZE.fullmatch(value)
        return size is not None and float(size[1]) >= _FONT_LEAST_PX
    return name in _PLACING or name.partition("-")[0] in _PLACING_PARTS
