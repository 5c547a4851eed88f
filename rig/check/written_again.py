# SPDX-License-Identifier: Apache-2.0
"""samples.jsonl and results.txt of a trial compared with the same made again, line by
line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from rig.check import older_schema
from rig.check.versions import is_this_revision
from rig.files import foreign_files
from rig.model.finding import Finding
from rig.model.metric import Prominence
from rig.model.trial import Trial
from rig.results import result_lines
from rig.store import sample_lines, session_folder, strict_json
from rig.store.provenance_file import Provenance
from rig.store.session_folder import SAMPLES
from rig.units import quantity

SHOWN = 5
#: Sums of many samples are rounded in the order of addition by a processor, or a
#: release of numpy: closer than that is equal.
_RELATIVE = 1e-9
_ABSOLUTE = 1e-15
BYTES = "byte for byte equal"
ROUNDED = (
    "equal to 1e-9, not byte for byte: another processor, numpy or rig rounds otherwise"
)


def of_samples(path: Path, trial: Trial, older: bool = False) -> Iterator[Finding]:
    """Yield whether samples.jsonl of a trial equals the recomputed one; of an `older`
    schema uncertainties are not compared.
    """
    if (path / SAMPLES).exists():
        stored = foreign_files.read_text(path / SAMPLES, errors="replace").split("\n")
    else:
        stored = []
    again = sample_lines.text(trial).split("\n")
    rounded = False
    different = []
    for number in range(max(len(stored), len(again))):
        one = _line(stored, number)
        other = _line(again, number)
        if one != other and (text := _sample_difference(one, other, older)):
            different.append(f"line {number + 1}: {text}")
        rounded = rounded or one != other
    yield from shown(f"{path.name}/{SAMPLES}", different)
    if not different:
        count = len(trial.measured.samples)
        how = ROUNDED if rounded else BYTES
        yield Finding(
            f"{path.name}/{SAMPLES}",
            True,
            f"{count} samples recomputed, {how}{means(trial)}",
        )


def shown(name: str, different: Sequence[str]) -> Iterator[Finding]:
    """Yield the first differences of a file, and the number of the others."""
    for text in different[:SHOWN]:
        yield Finding(name, False, text)
    if len(different) > SHOWN:
        yield Finding(name, False, f"{len(different) - SHOWN} more lines differ")


def _sample_difference(stored: str, again: str, older: bool) -> str:
    if not older:
        return difference(stored, again)
    try:
        pair = [
            older_schema.sample(strict_json.parse(text)) for text in (stored, again)
        ]
    except ValueError:
        return difference(stored, again)
    return difference_of(*pair)


def _line(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def difference(stored: str, again: str) -> str:
    """Return the differences between two JSON texts beyond rounding; empty where there
    are none.
    """
    try:
        return difference_of(strict_json.parse(stored), json.loads(again))
    except ValueError:
        return f"stored {stored[:60]!r}, recomputed {again[:60]!r}"


def difference_of(stored: Any, again: Any) -> str:
    """Return where two trees of JSON differ; empty where they do not."""
    # Most trees are equal, and a comparison as a whole is much quicker.
    if stored == again:
        return ""
    return "; ".join(islice(_paths(stored, again, ""), SHOWN))


def _paths(stored: Any, again: Any, place: str) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(again, dict):
        for key in {**stored, **again}:
            yield from _paths(
                stored.get(key), again.get(key), f"{place}.{key}" if place else str(key)
            )
    elif (
        isinstance(stored, list)
        and isinstance(again, list)
        and len(stored) == len(again)
    ):
        for number, (one, other) in enumerate(zip(stored, again, strict=True)):
            yield from _paths(one, other, f"{place}[{number}]")
    elif not _equal(stored, again):
        yield f"{place} is {repr(stored)[:120]}, recomputed {repr(again)[:120]}"


def _equal(stored: Any, again: Any) -> bool:
    numbers = isinstance(stored, float) and isinstance(again, float)
    return stored == again or (
        numbers and math.isclose(stored, again, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    )


def of_lines(path: Path, trial: Trial) -> Iterator[Finding]:
    """Compare results.txt, which states a trial's results in the words of its
    benchmark."""
    at, one, other = first_difference(_stored(path), _text(trial.lines))
    if at:
        yield Finding(
            f"{path.name}/{session_folder.LINES}",
            False,
            f"line {at} is {one[:100]!r}, recomputed {other[:100]!r}",
        )


def in_its_words(path: Path, trial: Trial, provenance: Provenance) -> Trial:
    """Return a trial with its result lines as the revision of the rig worded them that
    measured it: some had no marks.
    """
    lines = result_lines.unmarked(provenance.stored, trial.lines)
    is_older = not is_this_revision(provenance) and _stored(path) == _text(lines)
    return replace(trial, lines=lines) if is_older else trial


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _stored(path: Path) -> str:
    file = path / session_folder.LINES
    return foreign_files.read_text(file, errors="replace") if file.exists() else ""


def first_difference(stored: str, again: str) -> tuple[int, str, str]:
    """Return the number of the first line that differs, and both; 0 where none does."""
    pairs = zip_longest(stored.split("\n"), again.split("\n"), fillvalue="")
    for number, (stored_line, line_again) in enumerate(pairs, start=1):
        if stored_line != line_again:
            return number, stored_line, line_again
    return 0, "", ""


def means(trial: Trial) -> str:
    """Return the headline metrics of a trial in words."""
    shown = []
    for name, metric in trial.metrics.items():
        if metric.prominence is Prominence.HEADLINE:
            shown.append(f"{name} {quantity(metric.value, metric.unit)}")
    return ": " + ", ".join(shown) if trial.measured.samples else ""
