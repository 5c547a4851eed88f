# SPDX-License-Identifier: Apache-2.0
"""Long tests begin first, some in each process."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.order import long_ones_first


def item(file: str, long: bool) -> Any:
    return SimpleNamespace(
        path=Path(file), get_closest_marker=lambda mark: "mark" if long else None
    )


SHORT = [item(f"a{number}", False) for number in range(20)]
#: Three files with two long tests each, the last ones by their names.
LONG = [item(f"z{number // 2}", True) for number in range(6)]


@pytest.mark.parametrize(
    ("processes", "files_begun"),
    [(1, [3]), (2, [2, 1]), (3, [1, 1, 1]), (4, [1, 1, 1, 0])],
)
def test_each_process_begins_with_the_long_tests_of_some_files(
    processes: int, files_begun: list[int]
) -> None:
    ordered = long_ones_first([*SHORT, *LONG], processes)
    assert sorted(map(id, ordered)) == sorted(map(id, [*SHORT, *LONG]))
    begun = []
    for number in range(processes):
        # As pytest-xdist deals them out.
        dealt, ordered = (
            ordered[: len(ordered) // (processes - number)],
            ordered[len(ordered) // (processes - number) :],
        )
        begun.append(len({each.path for each in dealt if each in LONG}))
        assert all(each in LONG for each in dealt[: 2 * begun[-1]])
    assert begun == files_begun and not ordered


def test_more_processes_than_tests_lose_none() -> None:
    assert len(long_ones_first(LONG, 50)) == len(LONG)


def test_short_tests_keep_their_order() -> None:
    ordered = long_ones_first([*SHORT, *LONG], 3)
    assert [each for each in ordered if each in SHORT] == SHORT
