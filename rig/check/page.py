# SPDX-License-Identifier: Apache-2.0
"""The page of a report as a tree, read so strictly that every browser reads it alike.

A page is refused where it has a part that no report of the rig has: a script, an image,
a reference to another place, an element that is not closed. Such a part may show a text
that is not compared.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rig.files.plain_text import visible

_DOCTYPE = "<!DOCTYPE html>"
_TAG = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9]*)"
    r'((?:\s+[A-Za-z][A-Za-z0-9:-]*(?:="[^"<>]*")?)*)\s*(/?)>'
)
_ATTRIBUTE = re.compile(r'([A-Za-z][A-Za-z0-9:-]*)(?:="([^"<>]*)")?')
_TEXT = re.compile(r"[^<]+")
_VOID = frozenset(("br", "col", "hr", "meta"))
#: In these a browser reads no element.
_OF_CHARACTERS = ("style", "title")
_DEPTH_MAX = 64
_TEXT_ELEMENTS = """
    a b body br caption code col colgroup dd details dfn div dl dt em figcaption
    figure footer h1 h2
    h3 h4 head header hr html i li main meta ol p pre section small span strong
    style sub summary
    sup table tbody td tfoot th thead title tr ul
"""
_PICTURE_ELEMENTS = """
    circle clipPath defs ellipse g image line path pattern polygon polyline rect
    style svg text
    title tspan use
"""
_TEXT_ATTRIBUTES = """
    aria-hidden aria-label charset class colspan content href id lang name open role
    rowspan scope
    title
"""
_PICTURE_ATTRIBUTES = """
    class clip-path cx cy d height href id patternUnits points preserveAspectRatio r
    rx ry style
    title transform type viewBox width x x1 x2 xmlns y y1 y2
"""
_OF_TEXT = (frozenset(_TEXT_ELEMENTS.split()), frozenset(_TEXT_ATTRIBUTES.split()))
_OF_PICTURE = (
    frozenset(_PICTURE_ELEMENTS.split()),
    frozenset(_PICTURE_ATTRIBUTES.split()),
)
_ALLOWED = {False: _OF_TEXT, True: _OF_PICTURE}
#: Elements whose text stands in one word with the text around it.
_IN_LINE = frozenset(
    ("a", "b", "code", "dfn", "em", "i", "small", "span", "strong", "sub", "sup")
)
#: In these a `small` has a line of its own.
_OF_LINES = ("li", "td", "th")
#: What matplotlib writes into the `style` of a part of a picture, or beside it; none of
#: it leaves the picture.
_PICTURE_STYLE = re.compile(
    r"\s*(fill|stroke|font|opacity|text-anchor|letter-spacing|line-height)[a-z-]*\s*"
)
_REFERENCE = re.compile(
    r"url\((?!#)|expression|image-set|javascript:|data:|https?:", re.IGNORECASE
)
#: What matplotlib writes for a part of a picture that has too many points, or is an
#: image.
_IMAGE = "data:image/png;base64,"
_NAMESPACE = "http://www.w3.org/2000/svg"


class NotOfTheRig(ValueError):
    """The page has something that no report of the rig has; the text says what."""


@dataclass(slots=True)
class Element:
    """An element of a page: its name, its attributes, the texts and elements in it."""

    name: str
    attributes: Mapping[str, str]
    inside: list[Element | str] = field(default_factory=list)

    def each(self, *without: str) -> Iterator[Element]:
        """Yield this element and those in it, but for those with one of these names."""
        if self.name in without:
            return
        yield self
        for one in self.inside:
            if isinstance(one, Element):
                yield from one.each(*without)

    def text(self, *without: str) -> str:
        """Return the text in this element as a reader sees it, with single blanks, but
        for that of elements with one of these names.
        """
        return " ".join("".join(self._texts(without)).split())

    def hints(self) -> Iterator[str]:
        """Yield the texts that a pointer brings up."""
        return filter(None, (one.attributes.get("title", "") for one in self.each()))

    def _texts(self, without: tuple[str, ...]) -> Iterator[str]:
        for one in self.inside:
            if isinstance(one, str):
                yield one
            elif one.name not in without:
                own_line = one.name == "small" and self.name in _OF_LINES
                apart = "" if one.name in _IN_LINE and not own_line else " "
                yield apart
                yield from one._texts(without)
                yield apart

    def is_of(self, name: str) -> bool:
        """Check whether the element has a class."""
        return name in self.attributes.get("class", "").split()


def parsed(source: str) -> Element:
    """Return the tree of a page; raise NotOfTheRig."""
    if not source.startswith(_DOCTYPE):
        raise NotOfTheRig(f"begins with {source[:20]!r}")
    if visible(source) != source:
        raise NotOfTheRig("has characters that cannot be seen")
    root = Element("", {})
    above = [root]
    at = len(_DOCTYPE)
    while at < len(source):
        inside = above[-1]
        if text := _TEXT.match(source, at):
            inside.inside.append(html.unescape(text[0]))
            at = text.end()
            continue
        tag = _TAG.match(source, at)
        if tag is None:
            raise NotOfTheRig(f"has {source[at : at + 60]!r}")
        at = tag.end()
        ends, name, attributes, is_empty = tag.groups()
        if not ends and (inside.name in _OF_CHARACTERS or len(above) > _DEPTH_MAX):
            raise NotOfTheRig(f"has {tag[0][:60]!r} in <{inside.name}>")
        if ends:
            if name != inside.name or attributes:
                raise NotOfTheRig(f"has {tag[0]!r} where <{inside.name}> is open")
            above.pop()
            continue
        element = _element(tag, any(one.name == "svg" for one in above))
        inside.inside.append(element)
        if name not in _VOID and not is_empty:
            above.append(element)
    if len(above) > 1:
        raise NotOfTheRig(f"ends before </{above[-1].name}>")
    return root


def _element(tag: re.Match[str], in_picture: bool) -> Element:
    """Return the element of a tag; raise NotOfTheRig where no report has such a one."""
    _, name, attributes, is_empty = tag.groups()
    of_picture = in_picture or name == "svg"
    elements, _ = _ALLOWED[of_picture]
    if name not in elements or (is_empty and not of_picture):
        raise NotOfTheRig(f"has {tag[0][:60]!r}")
    found: dict[str, str] = {}
    for key, value in _ATTRIBUTE.findall(attributes):
        if key in found or not _is_allowed(name, key, html.unescape(value), of_picture):
            raise NotOfTheRig(f"has {key}={value[:60]!r} at <{name}>")
        found[key] = html.unescape(value)
    return Element(name, found)


def _is_allowed(element: str, key: str, value: str, of_picture: bool) -> bool:
    if of_picture and _PICTURE_STYLE.fullmatch(key):
        return _is_local(value)
    if key not in _ALLOWED[of_picture][1]:
        return False
    if key == "xmlns":
        return value == _NAMESPACE
    if key == "href":
        return value.startswith(_IMAGE if element == "image" else "#")
    if key == "style":
        parts = [part.partition(":")[0] for part in value.split(";") if part.strip()]
        return (
            element != "svg"
            and all(map(_PICTURE_STYLE.fullmatch, parts))
            and _is_local(value)
        )
    return key == "title" or _is_local(value)


def _is_local(value: str) -> bool:
    """Check whether a value refers to the page alone, and runs no program."""
    return not _REFERENCE.search(value)
