# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from rig.errors import DataError


def test_an_error_quotes_no_more_than_the_beginning_and_the_end_of_what_is_very_long():
    error = DataError("a file is damaged", evidence="begins" + "x" * 100_000 + "ends")
    assert (
        error.evidence.startswith("begins")
        and "ends (100010 characters)" in error.evidence
    )
    assert len(str(error)) < 5000
    assert DataError("a file is damaged", evidence="x" * 3000).evidence == "x" * 3000
