# SPDX-License-Identifier: Apache-2.0
"""The order of tests: at the end of a run no processor shall wait for a long test on
another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import pytest


def long_ones_first(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """Return tests so that each process begins with some of the long ones, those of a
    file in one: pytest-xdist deals them out in as many pieces (`--dist worksteal`).
    """
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("long") is not None:
            files[item.path].append(item)
    others = iter([item for item in items if item.get_closest_marker("long") is None])
    ordered: list[pytest.Item] = []
    for number in range(processes):
        piece = (len(items) - len(ordered)) // (processes - number)
        shares = list(files.values())[number::processes]
        long = list(chain.from_iterable(shares))
        ordered += [*long, *islice(others, max(piece - len(long), 0))]
    return [*ordered, *others]
