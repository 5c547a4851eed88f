# SPDX-License-Identifier: Apache-2.0
"""Every command of `rig` that a message, a docstring or the documentation names exists,
with the options that are named with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import chain

import click
import pytest

from rig.cli.main import rig
from tests.conftest import ROOT
from tests.sources import parsed

#: A command in a message stands at its beginning, or after a mark; after a word, "rig"
#: is the program itself. It goes on to the next mark; "rig bench: FILE" is a label.
_IN_TEXT = re.compile(r"(?:^|[`:;,.(] ?)rig (?!\w+:)([a-z][^`:;,()]*)")
#: Files of others need not be parsed.
_NAMED = re.compile(r"""\brig[\s"'\\{]""")
#: In a page: in a block of code at the start of a line, or in code within a line.
_IN_BLOCK = re.compile(r"^ *(?:\$ )?rig ([a-z][^#\n]*)", re.MULTILINE)
_IN_LINE = re.compile(r"`rig ([a-z][^`]*)`")
_FENCED = re.compile(r"^```.*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRODUCT = ("rig", "drivers", "sut_backends", "scenarios", "gui")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/[A-Z]*.md"))]


def in_messages() -> Iterator[tuple[str, str]]:
    sources = ((ROOT / folder).rglob("*.py") for folder in PRODUCT)
    for path in sorted(chain.from_iterable(sources)):
        if not _NAMED.search(path.read_text(encoding="utf-8")):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = " ".join(node.value.split())
                yield from (
                    (f"{path.relative_to(ROOT)}:{node.lineno}", result)
                    for result in _IN_TEXT.findall(text)
                )


def in_pages() -> Iterator[tuple[str, str]]:
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        result = list(
            chain.from_iterable(map(_IN_BLOCK.findall, _FENCED.findall(text)))
        )
        result += _IN_LINE.findall(_FENCED.sub("", text))
        yield from ((str(path.relative_to(ROOT)), item) for item in result)


def unknown(words: list[str]) -> str:
    """Return what of a command line does not exist; empty where all does."""
    command: click.Command = rig
    while (
        isinstance(command, click.Group)
        and words
        and re.fullmatch(r"[a-z][\w-]*", words[0])
    ):
        result = command.get_command(click.Context(command), words[0])
        if result is None:
            return words[0]
        command = result
        words = words[1:]
    options = {"--help"}
    for parameter in command.params:
        options.update(parameter.opts, parameter.secondary_opts)
    return ", ".join(
        word
        for word in words
        if re.fullmatch(r"--[a-z][\w-]*", word) and word not in options
    )


@pytest.mark.parametrize(
    ("mentions", "least"),
    [
        (in_messages, {"check", "measure", "resume", "scan"}),
        (in_pages, {"probe", "run"}),
    ],
)
def test_every_command_that_is_named_exists(
    mentions: Callable[[], Iterator[tuple[str, str]]], least: set[str]
) -> None:
    named = list(mentions())
    assert least <= {line.split()[0] for _, line in named}, (
        "the search finds what is known to be there"
    )
    wrong = [
        f"{where}: rig {line} ({what})"
        for where, line in named
        if (what := unknown(line.rstrip(". ").split()))
    ]
    assert not wrong, "\n".join(wrong)
