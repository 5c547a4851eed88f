# SPDX-License-Identifier: Apache-2.0
"""Exit codes: 0 the verdict is PASS, 2 usage or configuration, 3 the bench failed, and
those below.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rig.results.verdict import Outcome

#: A verdict is FAIL, or a trial is invalid.
FAIL = 1
#: The rule could not be applied: too few trials, or no metric that it can test.
NOT_TESTED = 4
#: Stopped by Ctrl-C.
STOPPED = 130
#: The outcomes by their values: `rig --help` imports no results.
_OF_OUTCOMES = {"pass": 0, "fail": FAIL, "invalid": FAIL, "not tested": NOT_TESTED}


def of_outcomes(outcomes: Iterable[Outcome]) -> int:
    """Return the exit code of one or more verdicts: that of the worst of them."""
    codes = [_OF_OUTCOMES[outcome] for outcome in outcomes]
    return FAIL if FAIL in codes else max(codes)
