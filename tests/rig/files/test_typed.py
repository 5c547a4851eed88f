# SPDX-License-Identifier: Apache-2.0
"""Dataclasses to and from JSON: refusals, omitted fields, and older schemas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rig.errors import DataError
from rig.files import typed


@dataclass(frozen=True, slots=True)
class Inner:
    count: int


@dataclass(frozen=True, slots=True)
class Outer:
    number: float
    perhaps: float | None
    row: tuple[int, ...]
    inner: dict[str, Inner]
    free: dict[str, Any]
    newer: int = typed.since(4, 3)
    segments: int = typed.renamed(4, "sittings", 1)
    word: str | None = typed.optional()
    beside_word: int | None = typed.beside("word")
    block: bytes = typed.optional(b"")


OUTER = Outer(0.5, None, (1, 2), {"a": Inner(1)}, {"x": [1, {"y": None}]})
TREE: dict[str, Any] = {
    "number": 0.5,
    "perhaps": None,
    "row": [1, 2],
    "inner": {"a": {"count": 1}},
    "free": {"x": [1, {"y": None}]},
    "newer": 3,
}


def read(tree: Any, schema: int = typed.NEWEST) -> Outer:
    return typed.from_json(Outer, tree, "a file", schema)


def test_the_tree_has_the_fields_in_order_and_reads_back() -> None:
    assert list(typed.to_json(OUTER)) == list(TREE) and typed.to_json(OUTER) == TREE
    assert read(TREE) == OUTER


def test_what_is_not_finite_is_null_and_an_int_stays_one() -> None:
    outer = Outer(1, math.inf, (), {}, {"a": (math.nan, 2)})
    tree = typed.to_json(outer)
    assert tree["number"] == 1 and isinstance(tree["number"], int)
    assert tree["perhaps"] is None and tree["free"] == {"a": [None, 2]}
    assert math.isnan(read(TREE | {"number": None}).number)


def test_a_key_beside_another_is_there_with_it_alone() -> None:
    with_word = typed.to_json(replace(OUTER, word="w"))
    assert with_word["beside_word"] is None and "beside_word" not in typed.to_json(
        OUTER
    )
    assert typed.to_json(replace(OUTER, word="w", beside_word=2)) == with_word | {
        "beside_word": 2
    }


def test_bytes_are_hexadecimal() -> None:
    assert typed.to_json(replace(OUTER, block=b"\x00\xff"))["block"] == "00ff"
    assert read(TREE | {"block": "00ff"}).block == b"\x00\xff"
    with pytest.raises(DataError, match=r"\$\.block"):
        read(TREE | {"block": "0g"})


def test_what_a_class_takes_of_a_tree_is_gone() -> None:
    tree = {"count": 1, "more": 2}
    assert typed.take(Inner, tree, "a file") == Inner(1) and tree == {"more": 2}
    with pytest.raises(DataError, match="'count' is missing"):
        typed.take(Inner, tree, "a file")


def test_an_older_schema_has_its_own_keys() -> None:
    outer = Outer(0.5, None, (), {}, {}, newer=9, segments=2)
    older = typed.to_json(outer, 3)
    assert "newer" not in older and older["sittings"] == 2 and "segments" not in older
    assert read(older, 3) == Outer(0.5, None, (), {}, {}, segments=2)
    assert typed.to_json(outer, 4)["segments"] == 2
    with pytest.raises(DataError, match="unknown key 'newer'"):
        read(TREE, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, r"unknown key 'more' @ \$"),
        ({"number": "1"}, r"'1' is not a number @ \$\.number"),
        ({"row": [1, True]}, r"True is not an int @ \$\.row\[1\]"),
        ({"inner": {"a": {"count": 1, "b": 2}}}, r"unknown key 'b' @ \$\.inner\['a'\]"),
        ({"inner": {"a": {}}}, r"key 'count' is missing @ \$\.inner\['a'\]\.count"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(TREE | change)


@pytest.mark.parametrize("tree", [None, [], 3, "text"])
def test_an_input_that_is_no_object_is_refused(tree: Any) -> None:
    with pytest.raises(DataError, match="a file is not of the form"):
        read(tree)


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    share: float
    proven: bool
    published: int | None


@pytest.mark.parametrize("row", [Row("a", 0.05, True, None), Row("", 1e-9, False, -3)])
def test_a_row_of_a_table_reads_back(row: Row) -> None:
    cells = {name: str(cell) for name, cell in typed.to_row(row).items()}
    assert typed.from_row(Row, cells | {"more": "1"}, "a table") == row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proven": "True"}, r"\$\.proven"),
        ({"published": "1.5"}, r"\$\.published"),
        ({"share": "much"}, r"\$\.share"),
        ({"name": None}, "a row without name"),
    ],
)
def test_a_row_of_another_form_is_refused(change: dict[str, Any], message: str) -> None:
    cells = {"name": "a", "share": "1", "proven": "no", "published": ""} | change
    with pytest.raises(DataError, match=message):
        typed.from_row(Row, cells, "a table")
