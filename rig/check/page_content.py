# SPDX-License-Identifier: Apache-2.0
"""Content of a report that another revision must state too: labels, verdict, rows of
tables, tiles, and the numbers of all other text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, pairwise

from rig.check.page import Element, NotOfTheRig

_AROUND = "()[]{},;:.“”\"'=|*"
_UNIT = re.compile(
    r"(?:[fpnuµμmkMGT]?(?:s|J|W|A|V|Hz|B|Ω|C)(?:/[A-Za-z0-9]+)?|1/s|%|‰|ppm|ppb)"
)
_MARKS = ("✗", "▲")
#: The words of a verdict, as the head of a page has them.
_VERDICTS = ("PASS", "FAIL", "NOT TESTED", "INVALID")
#: Outcomes of a rule on a page, each the whole text of an element.
_HOLDS = ("holds", "does not hold", "was not tested")
_NUMBER = re.compile(r"[+-]?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,2})?")
_ROUNDED_MOST = Decimal("0.05")
#: Elements that a reader has to open, or never sees.
_HIDDEN = "details"
_PICTURE = "svg"


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """A cell of a row: the heading of its column, and its words. `due` are the words
    that every revision has there; a sentence that explains a missing interval is not
    among them.
    """

    heading: str
    words: tuple[str, ...]
    due: tuple[str, ...] = ()

    def tells_other(self, own: Cell) -> bool:
        """Check whether a cell has a word that `own`, made again, has not, or lacks a
        required word.
        """
        return bool(left_over(own.due, self.words) or left_over(self.words, own.words))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, or a tile: its subject, and its cells. `required`: a page
    without it lacks a metric or a problem.
    """

    about: str
    cells: tuple[Cell, ...]
    required: bool

    @property
    def whole(self) -> Cell:
        """The words of all cells as one cell."""
        words = chain.from_iterable(cell.words for cell in self.cells)
        due = chain.from_iterable(cell.due for cell in self.cells)
        return Cell("", tuple(words), tuple(due))

    @property
    def headings(self) -> list[str]:
        """The headings of its columns, sorted."""
        return sorted(cell.heading for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Fact:
    """A term of the page and what stands for it. At the head of a page, and in its
    provenance, both are data and no sentences.
    """

    term: str
    text: str
    at_head: bool = False
    in_provenance: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of a page: its name, its elements, and the words in it."""

    name: str
    element: Element
    text: str

    @property
    def images(self) -> frozenset[str]:
        """The images in it."""
        return frozenset(
            one.attributes.get("href", "")
            for one in self.element.each()
            if one.name == "image"
        )


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a page; `shown` are the texts of elements that a reader sees above all
    tables.
    """

    title: str
    shown: frozenset[str]
    verdicts: Counter[str]
    holds: Counter[str]
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]
    tiles: tuple[Row, ...]
    words: tuple[str, ...]
    drawings: tuple[Drawing, ...]
    sheet: str
    picture_sheets: frozenset[str]


def content(page: Element) -> Content:
    """Return the content of a page; raise NotOfTheRig where it has two style sheets, or
    two heads.
    """
    every = list(page.each(_PICTURE))
    sheets = [one for one in every if one.name == "style"]
    titles = [one.text() for one in every if one.name == "title"]
    if len(sheets) != 1 or len(titles) != 1:
        raise NotOfTheRig(f"has {len(sheets)} style sheets and {len(titles)} titles")
    text = page.text(_PICTURE, "style")
    seen = [one for one in _seen(page) if one.name != "title"]
    names = [one.name for one in seen]
    above = seen[: names.index("table")] if "table" in names else seen
    verdicts = {word: count for word in _VERDICTS if (count := _count(text, word))}
    drawings = []
    picture_sheets = []
    for one in page.each():
        if one.name == _PICTURE:
            css_class = one.attributes.get("class", "")
            drawings.append(Drawing(css_class, one, one.text("style")))
        elif one.name == "style" and one is not sheets[0]:
            picture_sheets.append(one.text())
    return Content(
        title=titles[0],
        shown=frozenset(one.text(_PICTURE) for one in above),
        verdicts=Counter(verdicts),
        holds=Counter(said for one in seen if (said := one.text()) in _HOLDS),
        facts=tuple(_facts(page)),
        rows=tuple(_rows(page)),
        tiles=tuple(_tile(one) for one in every if one.is_of("tile")),
        words=tuple(_telling(" ".join((text, *page.hints())), units=False)),
        drawings=tuple(drawings),
        sheet="".join(str(part) for part in sheets[0].inside),
        picture_sheets=frozenset(picture_sheets),
    )


def _count(text: str, word: str) -> int:
    return len(re.findall(rf"(?<![A-Za-z]){word}(?![A-Za-z])", text))


def _seen(element: Element) -> Iterator[Element]:
    """Yield the elements that a reader sees without opening anything."""
    if element.name in (_HIDDEN, _PICTURE, "style") or element.is_of("watermark"):
        return
    if element.attributes.get("aria-hidden"):
        return
    yield element
    for one in element.inside:
        if isinstance(one, Element):
            yield from _seen(one)


def _facts(
    element: Element, at_head: bool = False, in_provenance: bool = False
) -> Iterator[Fact]:
    """Yield each term with what stands for it; what stands for a term may have terms
    itself."""
    at_head = at_head or element.is_of("facts")
    in_provenance = in_provenance or element.is_of("tree")
    inside = [one for one in element.inside if isinstance(one, Element)]
    for term, stated in pairwise(inside):
        is_pair = term.name == "dt" and stated.name == "dd"
        if is_pair and not any(one.name == "dt" for one in stated.each()):
            yield Fact(term.text(), stated.text(), at_head, in_provenance)
    for one in inside:
        yield from _facts(one, at_head, in_provenance)


def _rows(page: Element, in_problems: bool = False) -> Iterator[Row]:
    """Yield the rows of all tables but those that only head columns."""
    if page.name == "table":
        yield from _of_table(page, in_problems)
        return
    in_problems = in_problems or page.attributes.get("id") == "problems"
    for one in page.inside:
        if isinstance(one, Element):
            yield from _rows(one, in_problems)


def _of_table(table: Element, in_problems: bool) -> Iterator[Row]:
    heads = [part for part in table.each() if part.name == "thead"]
    in_heads = chain.from_iterable(head.each() for head in heads)
    headings = [part.text() for part in in_heads if part.name == "th"]
    for row in table.each("thead"):
        if row.name != "tr":
            continue
        cells = [one for one in row.each() if one.name in ("td", "th")]
        if not cells:
            continue
        about = cells[0].text()
        named = headings if len(headings) == len(cells) else [""] * len(cells)
        columns = tuple(
            _cell(name, cell) for name, cell in zip(named, cells, strict=True)
        )
        is_metric = cells[0].attributes.get("scope") == "row"
        yield Row(about, columns, required=is_metric or in_problems)


def _cell(heading: str, cell: Element) -> Cell:
    words = tuple(_telling(cell.text(), units=True))
    return Cell(heading, words, () if cell.is_of("why") else words)


def _tile(tile: Element) -> Row:
    names = [one.text() for one in tile.each() if one.name == "code"]
    words = tuple(_telling(tile.text(), units=True))
    return Row(names[0] if names else "", (Cell("", words),), required=False)


def _telling(text: str, *, units: bool) -> Iterator[str]:
    """Yield the words that have a digit, and, where asked for, units and the signs of a
    failure."""
    for word in text.replace("−", "-").split():
        bare = word.strip(_AROUND)
        if any(map(str.isdigit, bare)) or (
            units and (bare in _MARKS or _UNIT.fullmatch(bare))
        ):
            yield bare


def left_over(words: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the words without an equal among the others; each of the others is the
    equal of at most one word.
    """
    free = list(others)
    left = []
    for word in words:
        match = next((one for one in free if is_same(word, one)), None)
        if match is None:
            left.append(word)
        else:
            free.remove(match)
    return left


def is_same(word: str, other: str) -> bool:
    """Check whether two words are the same, or two numbers that differ in the number
    of digits only: revisions print more or fewer. A number that was rounded keeps its
    magnitude.
    """
    if word == other:
        return True
    if not (_NUMBER.fullmatch(word) and _NUMBER.fullmatch(other)):
        return False
    one, again = Decimal(word), Decimal(other)
    coarse = max(int(one.as_tuple().exponent), int(again.as_tuple().exponent))
    apart = abs(one - again)
    half = Decimal(5).scaleb(coarse - 1)
    return apart <= half and apart <= _ROUNDED_MOST * min(abs(one), abs(again))
