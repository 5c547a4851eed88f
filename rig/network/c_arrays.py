# SPDX-License-Identifier: Apache-2.0
"""Constant arrays of C, of numbers and of structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

COLUMNS = 100


def numbers(kind: str, name: str, values: Sequence[int]) -> Iterator[str]:
    """Write a constant array, as many numbers in a line as fit."""
    words = [_word(number) for number in values or [0]]
    yield f"static const {kind} {name}[{len(words)}] = {{"
    yield from _filled(words)
    yield "};"


def rows(
    kind: str, name: str, values: Sequence[tuple[int, ...]], head: int
) -> Iterator[str]:
    """Write a constant array of structs; numbers after the head are structs of two."""
    yield f"static const {kind} {name}[{len(values)}] = {{"
    for row in values:
        words = [_word(number) for number in row[:head]]
        pairs = zip(row[head::2], row[head + 1 :: 2], strict=True)
        words += [f"{{{_word(one)}, {_word(other)}}}" for one, other in pairs]
        lines = [*_filled(words)]
        lines[0] = f"    {{{lines[0].strip()}"
        lines[-1] = f"{lines[-1].removesuffix(',')}}},"
        yield from (lines[0], *(f"     {line.strip()}" for line in lines[1:]))
    yield "};"


def _filled(words: Iterable[str]) -> Iterator[str]:
    line = "   "
    for word in words:
        if len(line) + len(word) + 4 > COLUMNS:
            yield line
            line = "   "
        line += f" {word},"
    yield line


def _word(number: int) -> str:
    if number > 2**31 - 1:
        return f"{number}U"
    return "INT32_MIN" if number == -(2**31) else str(number)
