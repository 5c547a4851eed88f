# SPDX-License-Identifier: Apache-2.0
"""A session's report made again, and compared with the stored one.

The same versions write the same bytes. Of other versions layout, wording and pictures
may differ, and numbers and labels may not (docs/how-to/CHECK.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path

from rig.check import page_content, style_sheet
from rig.check.page import NotOfTheRig, parsed
from rig.check.page_content import Content, Row, left_over
from rig.check.reasons import cannot
from rig.check.versions import is_this_source
from rig.check.written_again import BYTES, SHOWN, first_difference
from rig.files import foreign_files
from rig.model.finding import Finding
from rig.model.trial import Trial
from rig.report import known_pages
from rig.results.labels import Label
from rig.store.provenance import packages
from rig.store.provenance_file import Provenance
from rig.store.session_folder import REPORT, SessionFolder

#: A page of other versions has at most so many times the characters of the one made
#: again.
_LARGER_MOST = 4
#: What every report names at its head, in whichever terms.
_NAMED = ("task", "scenario", "system under test", "energy monitor")


def compared(
    folder: Path,
    recorded: Provenance,
    trials: Sequence[Trial],
    is_remembered: bool = False,
) -> Iterator[Finding]:
    """Yield whether the report follows from the session's files.

    The page is drawn once more, from traces that were hashed and `trials` that were
    reduced, and compared byte for byte where the same versions wrote it, else in its
    numbers and labels. `is_remembered`: a page that this computer drew from the same
    files is not drawn again. A session without a report has no finding.
    """
    path = folder / REPORT
    if not path.exists():
        return
    stored = foreign_files.read_text(path, errors="replace")
    session = SessionFolder(folder)
    if is_remembered and known_pages.is_known(session, stored):
        yield Finding(REPORT, True, f"drawn here from the same files, {BYTES}")
        return
    # Imported here, as it brings matplotlib.
    from rig.report.report import labels_of, rendered

    try:
        again = rendered(folder, hashed=True, trials=trials)
        labels = labels_of(folder, trials)
    except Exception as error:
        yield Finding(REPORT, False, cannot("it", error))
        return
    at, one, other = first_difference(stored, again)
    if not at:
        known_pages.remember(session, again)
        yield Finding(REPORT, True, f"made again, {BYTES}")
    elif differing := _other_versions(recorded):
        yield from _by_content(stored, again, labels, differing, folder.name)
    else:
        said = f"line {at} is {one[:100]!r}, made again it is {other[:100]!r}"
        yield Finding(REPORT, False, said)


def _other_versions(recorded: Provenance) -> str:
    neurorig = recorded.neurorig == version("neurorig")
    same = {
        "neurorig": neurorig,
        "revision": is_this_source(recorded),
        "packages": recorded.packages == packages(),
    }
    return " and ".join(name for name, is_same in same.items() if not is_same)


def _by_content(
    stored: str, again: str, labels: Sequence[Label], differing: str, name: str
) -> Iterator[Finding]:
    """Compare the content of a report of other versions with the page made again."""
    try:
        own = page_content.content(parsed(again))
    except NotOfTheRig as error:
        said = (
            f"made by another {differing}, and not compared: the page made again"
            f" {error}"
        )
        yield Finding(REPORT, False, f"{said}; try: rig report, which writes it again")
        return
    try:
        if len(stored) > _LARGER_MOST * len(again):
            raise NotOfTheRig(f"has {len(stored)} characters, made again {len(again)}")
        page = page_content.content(parsed(stored))
    except NotOfTheRig as error:
        yield Finding(REPORT, False, f"{error}: no report of the rig has that")
        return
    # A page made to keep the check busy differs in more things than anyone reads.
    different = list(islice(_differences(page, own, labels, name), SHOWN + 1))
    for said in different[:SHOWN]:
        yield Finding(REPORT, False, f"made by another {differing}: {said}")
    if len(different) > SHOWN:
        yield Finding(REPORT, False, "more things differ")
    if different:
        return
    drawn = [(drawing.name, drawing.element) for drawing in own.drawings]
    same = sum((drawing.name, drawing.element) in drawn for drawing in page.drawings)
    yield Finding(
        REPORT,
        True,
        f"made by another {differing}: {len(labels)} labels, the verdict,"
        f" {len(page.rows)} rows of tables and {len(page.words)} numbers are those of"
        f" the report made again; {same} of {len(page.drawings)} pictures are equal,"
        " the others, wording and layout were not compared (rig report makes the page"
        " again)",
    )


def _differences(
    page: Content, own: Content, labels: Sequence[Label], name: str
) -> Iterator[str]:
    """Yield the differences of a page from the one made again; some pages contain the
    folder's `name`.
    """
    if rule := style_sheet.foreign(page.sheet, own.sheet):
        yield f"its style sheet has {rule!r}, which may hide or add text"
    # A browser applies the style sheet of a picture to the whole page.
    for sheet in sorted(page.picture_sheets - own.picture_sheets):
        yield f"a picture has the style sheet {sheet[:60]!r}, which none made again has"
    yield from _labels(page, labels)
    yield from _verdicts(page, own)
    yield from _facts(page, own)
    yield from _rows(page, own)
    yield from _tiles(page, own)
    yield from _drawings(page, own, labels)
    # Rows and tiles, which may have fewer digits, are compared by now.
    compared_already = [one.whole.words for one in (*page.rows, *page.tiles)]
    known = {*own.words, name, *chain.from_iterable(compared_already)}
    for word in dict.fromkeys(page.words):
        if word not in known:
            yield f"it has {word!r}, which is nowhere on the page made again"


def _labels(page: Content, labels: Sequence[Label]) -> Iterator[str]:
    for label in labels:
        if label.text not in page.shown:
            yield f"it does not show the label {label.text} above its tables"
        if label.text not in page.title:
            yield f"its title lacks the label {label.text}"


def _verdicts(page: Content, own: Content) -> Iterator[str]:
    if page.verdicts != own.verdicts:
        yield (
            f"its verdict is {_listed(page.verdicts)}, made again"
            f" {_listed(own.verdicts)}"
        )
    # Another revision may say of its rules in other words, and then in none of these.
    if page.holds - own.holds:
        yield (
            f"of its rules it says {_listed(page.holds)}, made again"
            f" {_listed(own.holds)}"
        )


def _listed(words: Counter[str]) -> str:
    return ", ".join(sorted(words.elements())) or "none"


def _facts(page: Content, own: Content) -> Iterator[str]:
    """Compare the facts on task, device and instruments, at the head of a page and in
    its provenance; another revision may have other terms, and fewer.
    """
    for fact in own.facts:
        if fact.at_head and fact.term in _NAMED and fact.text not in page.shown:
            yield f"it does not name the {fact.term} {fact.text[:60]!r}"
    of_term: dict[str, set[str]] = {}
    for fact in own.facts:
        if fact.at_head or fact.in_provenance:
            of_term.setdefault(fact.term, set()).add(fact.text)
    for fact in page.facts:
        if fact.text not in of_term.get(fact.term, {fact.text}):
            yield f"it says {fact.text[:60]!r} of {fact.term[:60]!r}"


def _rows(page: Content, own: Content) -> Iterator[str]:
    """Compare the rows of tables: those of one metric, file or problem with each other,
    cell by cell where the columns have the same headings, else by what all cells
    together tell.
    """
    if len(page.rows) > _LARGER_MOST * len(own.rows):
        yield f"it has {len(page.rows)} rows of tables, made again {len(own.rows)}"
        return
    left = list(own.rows)
    apart = set()
    for row in page.rows:
        of_name = [one for one in left if one.about == row.about]
        match = next((one for one in of_name if _tells_same(row, one)), None)
        if match is not None:
            left.remove(match)
        elif of_name:
            apart.add(row.about)
            yield f"its row {row.about[:60]!r} tells {_apart(row, of_name[0])}"
        elif row.required:
            yield f"it has a row {row.about[:60]!r} more than the page made again"
        elif all(left_over(row.whole.words, one.whole.words) for one in own.rows):
            said = " ".join(row.whole.words)
            yield (
                f"it has a row {row.about[:60]!r} with {said[:60]!r}, made again there"
                " is none"
            )
    for row in left:
        if row.required and row.about not in apart:
            yield f"it lacks the row {row.about[:60]!r}"


def _tells_same(row: Row, other: Row) -> bool:
    return not _apart(row, other)


def _apart(row: Row, other: Row) -> str:
    """Return the first difference between two rows; empty where they have the same
    content.
    """
    pairs = [(row.whole, other.whole)]
    if row.headings == other.headings:
        pairs = list(zip(sorted(row.cells), sorted(other.cells), strict=True))
    for cell, again in pairs:
        if cell.tells_other(again):
            place = f" as {cell.heading!r}" if cell.heading else ""
            one, own = " ".join(cell.words), " ".join(again.words)
            return f"{one[:60]!r}{place}, made again {own[:60]!r}"
    return ""


def _tiles(page: Content, own: Content) -> Iterator[str]:
    """Compare each tile with the tile of that metric, or with its row."""
    for name, count in Counter(tile.about for tile in page.tiles).items():
        if count > 1:
            yield f"it has {count} tiles of {name[:60]!r}"
    own_metrics = (*own.tiles, *own.rows)
    for tile in page.tiles:
        words = tile.whole.words
        known = [one.whole.words for one in own_metrics if one.about == tile.about]
        if all(left_over(words, one) for one in known):
            yield f"its tile {tile.about[:60]!r} tells {' '.join(words)[:60]!r}"


def _drawings(page: Content, own: Content, labels: Sequence[Label]) -> Iterator[str]:
    more = Counter(one.name for one in page.drawings) - Counter(
        one.name for one in own.drawings
    )
    for name in more:
        yield f"it has a picture {name[:60]!r} more than the page made again"
    images = set().union(*(drawing.images for drawing in own.drawings))
    for one in page.drawings:
        if not images.issuperset(one.images):
            yield f"its picture {one.name[:60]!r} has an image that none made again has"
        for label in labels:
            if label.text not in one.text:
                yield f"its picture {one.name[:60]!r} lacks the label {label.text}"
