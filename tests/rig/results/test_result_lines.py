# SPDX-License-Identifier: Apache-2.0
"""Result lines as people read them."""

from __future__ import annotations

import pytest

from rig.results.result_lines import as_read


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("5 windows of 10.500 to 10.500 sec., 28 to 28 inferences", ""),
        ("1 windows of 10.5 to 10.54 sec., 8 to 28 inferences", "same"),
        ("of 1.28 to 28 s, of 28 to 280 s, of 28 to 28.5 s", "same"),
        ("ends at 28 to 28.", "ends at 28."),
    ],
)
def test_a_range_of_equal_numbers_is_read_as_one_number(stored: str, read: str) -> None:
    whole = "5 windows of 10.500 sec., 28 inferences"
    assert as_read(stored) == {"": whole, "same": stored}.get(read, read)
