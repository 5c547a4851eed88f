# SPDX-License-Identifier: Apache-2.0
"""The number of repetitions in tests: `make test` is to take six minutes, and has fewer
random sequences and runs of an experiment; `make test FULL=1` and pytest by hand have
all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tests.run import SHORT, VARIABLE


def is_short(environment: Mapping[str, str] = os.environ) -> bool:
    """Say whether this run leaves repetitions out."""
    return environment.get(VARIABLE) == SHORT


def length(full: int, short: int) -> int:
    """Return how many repetitions to make."""
    return short if is_short() else full
