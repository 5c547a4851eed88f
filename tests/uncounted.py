# SPDX-License-Identifier: Apache-2.0
"""An environment without a count of a program's branches (`make coverage`)."""

from __future__ import annotations

import os


def uncounted() -> dict[str, str]:
    """Return this environment without coverage: for a program that may not write,
    counts its own branches, runs other sources than this tree's, or gets a signal.

    A signal handler that raises in the tracer leaves coverage's lock (`data_lock` in its
    collector) locked: the program then waits for it without a limit.
    """
    return {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
