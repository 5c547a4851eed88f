# SPDX-License-Identifier: Apache-2.0
"""Run all tests (`make test`): side by side, what failed there once more alone, then those beside
which nothing may run.

A test that passes only the second time fails the run, unless tests/flaky.txt names it with a
reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FLAKY = Path("tests/flaky.txt")
_LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
#: Exit codes of pytest.
_PASSED = 0
_FAILED = 1
_NONE_FOUND = 5


def flaky(text: str) -> dict[str, str]:
    """Return the reason for each test that may need a second run; raises ValueError for a line
    without one.
    """
    lines = [line.strip() for line in text.splitlines()]
    rows = [line.partition("  # ") for line in lines if line and not line.startswith("#")]
    for name, _, reason in rows:
        if "::" not in name or not reason.strip():
            raise ValueError(
                f"{name!r} lacks a reason, or is no test: PATH::TEST, two spaces, # and why"
            )
    return {name.strip(): reason.strip() for name, _, reason in rows}


def main(jobs: str) -> int:
    """Run the tests with `jobs` at a time, 0 for one after the other; return an exit code."""
    known = flaky(FLAKY.read_text(encoding="utf-8"))
    beside = _pytest("--cache-clear", "-n", jobs, "--dist", "worksteal", "-m", "not alone")
    failed = beside not in (_PASSED, _FAILED)
    if beside == _FAILED:
        _say("what failed beside others, once more alone; it must pass the first time")
        first = _last_failed()
        again = _pytest("-rap", "--last-failed", "--last-failed-no-failures=none")
        second = _last_failed()
        failed |= again != _PASSED or not first
        for name in sorted(first - second):
            reason = known.get(name) or known.get(name.partition("[")[0])
            _say(
                f"passed the second time only: {name}; "
                + (f"known: {reason}" if reason else f"not in {FLAKY}, so this run fails")
            )
            failed |= not reason
    _say("now those beside which nothing may run")
    failed |= _pytest("-m", "alone") not in (_PASSED, _NONE_FOUND)
    return int(failed)


def _pytest(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *words], check=False).returncode


def _last_failed() -> set[str]:
    return (
        set(json.loads(_LAST_FAILED.read_text(encoding="utf-8")))
        if _LAST_FAILED.exists()
        else set()
    )


def _say(text: str) -> None:
    print(f"make test: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
