# SPDX-License-Identifier: Apache-2.0
"""Run all tests (`make test`): side by side, what failed there once more alone, then
those that keep the pace of a clock, two at a time, with those that only compute in what
these leave of the processors, and the `alone` ones one by one.

A test that passes only the second time fails the run, unless tests/flaky.txt names it
with a reason. Skipped tests are listed in one line, with the reasons. With --coverage
(`make coverage`) the branches are counted that all took but those that keep a pace or
want to be alone, and too few fail the run. With --full (`FULL=1`) every test has its
full length: without it random sequences and experiments are shorter and tests marked
`repeats` are left out (tests/length.py).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

#: What tests/length.py looks for.
VARIABLE = "NEURORIG_TESTS"
SHORT = "short"
FLAKY = Path("tests/flaky.txt")
_CACHE = Path(".pytest_cache")
_LAST_FAILED = _CACHE / "v/cache/lastfailed"
_COVERAGE = _CACHE / "coverage"
#: A trace's writer takes 64 MB, and the system clears its pages each time: 26 of its 35
#: ms. So freed memory is kept.
_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    # In pages of 2 MB, where the system has them: clearing 64 MB takes 3 ms instead of
    # 6.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
#: Several tests run at a time: products of matrices on several threads each wait for
#: one another, busily.
_THREADS = {"OPENBLAS_NUM_THREADS": "1"}
#: Exit codes of pytest.
_PASSED = 0
_FAILED = 1
_NONE_FOUND = 5


def flaky(text: str) -> dict[str, str]:
    """Return the reason for each test that may need a second run; raises ValueError for
    a line without one.
    """
    lines = [line.strip() for line in text.splitlines()]
    rows = [
        line.partition("  # ") for line in lines if line and not line.startswith("#")
    ]
    for name, _, reason in rows:
        if "::" not in name or not reason.strip():
            raise ValueError(
                f"{name!r} lacks a reason, or is no test: PATH::TEST, two spaces, #"
                " and why"
            )
    return {name.strip(): reason.strip() for name, _, reason in rows}


def main(words: list[str]) -> int:
    """Run the tests, some at a time, and list the skipped ones; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "jobs", help="tests that run at a time, 0 for one after the other"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="count the branches taken"
    )
    parser.add_argument(
        "--full", action="store_true", help="give every test its full length"
    )
    options = parser.parse_args(words)
    environment = _MEMORY | _THREADS | _with_bytecode(dict(os.environ)) | _without_qt()
    environment[VARIABLE] = "full" if options.full else SHORT
    _compiled(environment)
    traced = environment | (_coverage_begun() if options.coverage else {})
    failed = _beside_and_again(options.jobs, traced)
    failed |= _paced_fail(options.jobs, environment, traced)
    if options.coverage:
        failed |= not _coverage_suffices()
    if "PYTEST_ADDOPTS" in _without_qt():
        _say(
            "the window's tests were left out: Qt cannot be loaded (README names the"
            " packages)"
        )
    if not options.full:
        _say(
            "repetitions were short; make test FULL=1 has all of them (CONTRIBUTING.md,"
            " Tests)"
        )
    _say(skipped(_reasons("beside", "paced", "computes", "alone")))
    return int(failed)


def _compiled(environment: dict[str, str]) -> None:
    """Let the tests of a new clone be compiled once: else each of the processes that
    run them does that for itself.
    """
    if any(Path("tests/__pycache__").glob("*-pytest-*.pyc")):
        return
    files = sorted(map(str, Path("tests").rglob("test_*.py")))
    shares = [files[first :: os.cpu_count()] for first in range(os.cpu_count() or 1)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    running = [
        subprocess.Popen(
            [*command, *share],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        for share in shares
        if share
    ]
    for each in running:
        each.wait()


@cache
def _without_qt() -> dict[str, str]:
    """Return what keeps pytest-qt from ending every run where Qt cannot be loaded."""
    if "PYTEST_DISABLE_PLUGIN_AUTOLOAD" in os.environ:
        return {}
    tried = [sys.executable, "-c", "import PySide6.QtWidgets"]
    if subprocess.run(tried, check=False, capture_output=True).returncode == 0:
        return {}
    return {
        "PYTEST_ADDOPTS": (
            f"{os.environ.get('PYTEST_ADDOPTS', '')} -p no:pytest-qt".strip()
        )
    }


def _beside_and_again(jobs: str, environment: dict[str, str]) -> bool:
    known = flaky(FLAKY.read_text(encoding="utf-8"))
    others = "not alone and not paced" + (" and not computes" if jobs != "0" else "")
    words = ("--cache-clear", "-n", jobs, "--dist", "worksteal", "-m", others)
    beside = _pytest(environment, "beside", *words)
    failed = beside not in (_PASSED, _FAILED)
    if beside == _FAILED:
        _say("what failed beside others, once more alone; it must pass the first time")
        first = _last_failed()
        again = _pytest(
            environment,
            "again",
            "-rfEp",
            "--last-failed",
            "--last-failed-no-failures=none",
        )
        second = _last_failed()
        failed |= again != _PASSED or not first
        for name in sorted(first - second):
            reason = known.get(name) or known.get(name.partition("[")[0])
            _say(
                f"passed the second time only: {name}; "
                + (
                    f"known: {reason}"
                    if reason
                    else f"not in {FLAKY}, so this run fails"
                )
            )
            failed |= not reason
    return failed


def _paced_fail(jobs: str, environment: dict[str, str], traced: dict[str, str]) -> bool:
    """Run the tests that no load may slow down. Most wait rather than work, so that on
    two processors two files of them keep their pace, and some time is left for tests
    that only compute and give way.
    """
    together = 0 if jobs == "0" else min(2, os.cpu_count() or 1)
    _say(f"now those that keep the pace of a clock, {max(together, 1)} at a time")
    # Counting branches takes so much of the processors that it would cost the others
    # their pace.
    counted = traced != environment
    before = bool(together and counted) and _marked_fail(traced, "computes", together)
    with ThreadPoolExecutor(1) as background:
        computing = (
            background.submit(
                _marked_fail, traced, "computes", together, gives_way=True
            )
            if together and not counted
            else None
        )
        failed = _marked_fail(environment, "paced", together)
        failed |= computing is not None and computing.result()
    _say("now those beside which nothing may run")
    return _marked_fail(environment, "alone") or failed or before


def _marked_fail(
    environment: dict[str, str],
    mark: str,
    together: int = 0,
    *,
    gives_way: bool = False,
) -> bool:
    """Run the files that have tests with a mark, so many of them at a time."""
    files = _files_with(f"mark.{mark}")
    if not files:
        return False
    # One file needs no process beside the one that deals them out.
    processes = min(together, len(files)) if len(files) > 1 else 0
    beside = ("-n", str(processes), "--dist", "loadfile") if together else ()
    code = _pytest(environment, mark, "-m", mark, *beside, *files, gives_way=gives_way)
    return code not in (_PASSED, _NONE_FOUND)


def _files_with(word: str) -> list[str]:
    """Return the files of tests that contain a word: to collect all takes longer than
    some of the tests.
    """
    files = sorted(Path("tests").rglob("test_*.py"))
    return [str(path) for path in files if word in path.read_text(encoding="utf-8")]


def _with_bytecode(environment: dict[str, str]) -> dict[str, str]:
    """Let Python keep its byte code, also where the environment forbids to write it:
    hundreds of tests start `rig`.
    """
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _pytest(
    environment: dict[str, str], run: str, *words: str, gives_way: bool = False
) -> int:
    """Run pytest and store the result of each test by the name of the run; returns its
    code. A run that gives way to all other processes prints its output at its end.
    """
    stored = _results(run)
    stored.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rfE",
        f"--junit-xml={stored}",
        *words,
    ]
    if not gives_way:
        return subprocess.run(command, check=False, env=environment).returncode
    done = subprocess.run(
        ["nice", *command],
        check=False,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    _say(f"those that only compute:\n{done.stdout}")
    return done.returncode


def _results(run: str) -> Path:
    return _CACHE / f"{run}.xml"


def _reasons(*runs: str) -> list[str]:
    """Return why each test was skipped in some runs, and each module that was as a
    whole: every process that collects tests tells of it.
    """
    files = [path for path in map(_results, runs) if path.exists()]
    cases = list(
        chain.from_iterable(ElementTree.parse(path).iter("testcase") for path in files)
    )
    result = {}
    for case in cases:
        for mark in case.iter("skipped"):
            if mark.get("type") != "pytest.xfail":
                result[case.get("classname"), case.get("name")] = _reason(mark)
    return list(result.values())


def _reason(mark: ElementTree.Element) -> str:
    # the text holds path, line and reason
    if mark.get("message") == "collection skipped":
        return str(ast.literal_eval(mark.text or "")[2]).removeprefix("Skipped: ")
    return mark.get("message") or "no reason given"


def skipped(reasons: list[str]) -> str:
    """Describe in one line how many tests were skipped, and how many for each
    reason."""
    if not reasons:
        return "nothing was skipped"
    counts = Counter(reasons).most_common()
    return f"{len(reasons)} skipped: " + "; ".join(
        f"{why} ({count})" for why, count in counts
    )


def _coverage_begun() -> dict[str, str]:
    """Return the variables with which every Python of the tests counts the branches it
    takes."""
    _COVERAGE.parent.mkdir(exist_ok=True)
    for file in _COVERAGE.parent.glob(f"{_COVERAGE.name}*"):
        file.unlink()
    return {
        "COVERAGE_PROCESS_START": str(Path("pyproject.toml").resolve()),
        "COVERAGE_FILE": str(_COVERAGE.resolve()),
    }


def _coverage_suffices() -> bool:
    """Say how much was covered; returns whether that is the floor in pyproject.toml or
    more."""
    command = [sys.executable, "-m", "coverage"]
    data = f"--data-file={_COVERAGE}"
    subprocess.run([*command, "combine", "-q", data], check=False)
    done = subprocess.run(
        [*command, "report", data, "--format=total"],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    total = done.stdout.partition("\n")[0]
    _say(
        f"{total} % of lines and branches covered "
        f"({command[0]} -m coverage report {data} --skip-covered -m lists the others)"
    )
    return done.returncode == 0


def _last_failed() -> set[str]:
    return (
        set(json.loads(_LAST_FAILED.read_text(encoding="utf-8")))
        if _LAST_FAILED.exists()
        else set()
    )


def _say(text: str) -> None:
    print(f"make test: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
