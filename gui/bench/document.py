# SPDX-License-Identifier: Apache-2.0
"""The open bench file: its text, its first error, its form, its wiring; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rig.bench import config
from rig.bench.bench_file import BenchFile
from rig.bench.config import Config
from rig.bench.diagram import Diagram, diagram
from rig.bench.editing import BenchText, TextProblem
from rig.bench.forms import BenchForm, form_of
from rig.bench.wiring import due
from rig.errors import ConfigError, RigError
from rig.files.shipped import shipped


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """The contents of a bench file: `resolved` and `picture` are None where it has an
    error; `due` are the rows of a proof of its wiring.
    """

    text: str
    form: BenchForm
    problem: TextProblem | None
    resolved: Config | None
    picture: Diagram | None
    due: tuple[tuple[str, str], ...] = ()

    @property
    def sentence(self) -> str:
        """The error in a line; "" where there is none."""
        return self.problem.sentence if self.problem is not None else ""


def read_text(text: str, folder: Path) -> DocumentReading:
    """Parse the text of a bench file that lies in a folder."""
    bench = BenchText(text)
    problem = bench.problem(folder)
    form = form_of(bench, problem)
    if problem is not None:
        return DocumentReading(text, form, problem, None, None)
    resolved = config.parsed(text, folder)
    try:
        rows = tuple((str(wire), rail) for wire, rail in due(resolved))
        drawn = diagram(resolved)
        return DocumentReading(text, form, None, resolved, drawn, due=rows)
    except ConfigError as error:
        return DocumentReading(text, form, TextProblem(error, None), None, None)


def is_example(path: Path) -> bool:
    """Check whether a file came with the rig, and is not to be written over."""
    resolved = path.resolve()
    package = Path(config.__file__).resolve().parents[1]
    try:
        examples = shipped("benches").resolve()
    except RigError:
        examples = package
    return examples in resolved.parents or package in resolved.parents


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """The difference of two texts: characters removed and inserted at one place."""

    start: int
    taken: int
    put: str


def change_between(before: str, after: str) -> DocumentChange:
    """Return the shortest edit that makes one text of another."""
    most = min(len(before), len(after))
    start = 0
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return DocumentChange(
        start, len(before) - start - end, after[start : len(after) - end]
    )


def file_title(file: BenchFile | None, changed: bool) -> str:
    """Return the name of the file, with a dot where it was changed here."""
    if file is None:
        return "No bench file"
    return f"{file.path.name}{' •' if changed else ''}"
