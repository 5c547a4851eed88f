# SPDX-License-Identifier: Apache-2.0
"""Fork a process that runs tests for each job, with pytest and the libraries of others
imported once.

    server.py COPY PACKAGE ...     reads a job a line, prints an answer a line

COPY is a copy of the checkout; none of it is imported before a fork, so that each
process loads the changed module as if it had always been so. Processes that the tests
start find it there too.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import coverage
import pytest

#: A test that takes more processor time is not used.
SLOW_S = 2.5
#: Until a test that goes on is stopped again.
AGAIN_S = 0.25
#: The wall-clock time of a job beyond its processor time, at most.
WAIT_S = 900.0
MEMORY_B = 6 << 30
COVERAGE = str(Path(coverage.__file__).parent)
LEFT_OUT = ("alone", "long", "paced", "repeats")
ARGUMENTS = ("-v", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest-qt")
#: pytest cannot rewrite the assertions of modules that are imported before.
IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"
OPTIONS = (
    *ARGUMENTS,
    "--tb=line",
    "-W",
    IMPORTED,
    "-o",
    "addopts=--strict-markers --import-mode=importlib",
)


@dataclass(eq=False)
class Chosen:
    """Plug-in that runs the chosen tests in their order and notes what fails."""

    names: list[str] | None
    failed: list[str] = field(default_factory=list)
    ran: int = 0

    def pytest_sessionstart(self) -> None:
        """Draw the same examples each time, keep none, and do not shrink them."""
        try:
            from hypothesis import Phase, settings
        except ImportError:
            return
        settings.register_profile(
            "mutants",
            settings.get_profile(settings.get_current_profile_name()),
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            print_blob=False,
        )
        settings.load_profile("mutants")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Keep the chosen tests, or all but the marked ones."""
        yield
        if self.names is None:
            items[:] = [
                item
                for item in items
                if not any(map(item.get_closest_marker, LEFT_OUT))
            ]
        else:
            by_name = {item.nodeid: item for item in items}
            items[:] = [by_name[name] for name in self.names if name in by_name]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails."""
        self.ran += report.when == "call"
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        if report.failed:
            self.failed.append(report.nodeid)


class _Slow(BaseException):
    pass


def _too_slow(_: int, frame: FrameType | None) -> None:
    """End a test, but not within coverage, which would keep its lock for ever."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(COVERAGE):
            return
        frame = frame.f_back
    raise _Slow("takes too much processor time")


@dataclass(eq=False)
class Traced(Chosen):
    """Plug-in that also notes the lines and the processor time of each test."""

    coverage: Any = None
    cpu_s: dict[str, float] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Credit what fixtures run to all tests of the file, as they may share it."""
        self.coverage.switch_context(item.nodeid.partition("::")[0])
        yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Credit the statements that a test runs to it, and stop it when it takes too
        long.
        """
        self.coverage.switch_context(item.nodeid)
        begun_s = _cpu_s()
        signal.signal(signal.SIGPROF, _too_slow)
        # Again and again, as a test may catch it.
        signal.setitimer(signal.ITIMER_PROF, SLOW_S, AGAIN_S)
        try:
            yield
            self.passed.add(item.nodeid)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            # A signal that has come just now is not handled any more.
            signal.signal(signal.SIGPROF, signal.SIG_IGN)
            self.cpu_s[item.nodeid] = _cpu_s() - begun_s

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Credit the end of fixtures to the file."""
        self.coverage.switch_context(item.nodeid.partition("::")[0])


def _cpu_s() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def _libraries(copy: Path) -> list[str]:
    """Return the loaded modules that lie outside the copy and its checkout."""
    roots = {path.name for path in copy.iterdir() if path.is_dir()}
    return [
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__spec__", None) is not None
        and name.partition(".")[0] not in roots
        and not str(getattr(module, "__file__", None) or "").startswith(str(copy))
    ]


def collected(copy: Path, tests: list[str]) -> dict[str, Any]:
    """Collect tests and return the names of the libraries that this has loaded."""
    code = pytest.main([*OPTIONS, "--collect-only", *tests])
    return {"code": int(code), "libraries": _libraries(copy)}


def traced(copy: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Run tests unchanged and return which lines each one runs."""
    from coverage import Coverage

    folders = [str(copy / package) for package in job["packages"]]
    coverage = Coverage(data_file=None, config_file=False, source_dirs=folders)
    coverage.start()
    plugin = Traced(None, coverage=coverage)
    code = pytest.main([*OPTIONS, *job["files"]], plugins=[plugin])
    coverage.stop()
    data = coverage.get_data()
    lines = {
        str(Path(name).relative_to(copy)): data.contexts_by_lineno(name)
        for name in data.measured_files()
    }
    # A test that fails or is slow proves no kill.
    good = plugin.passed - set(plugin.failed)
    cpu_s = {name: plugin.cpu_s[name] for name in plugin.cpu_s if name in good}
    slow = [name for name in plugin.cpu_s if plugin.cpu_s[name] > 0.9 * SLOW_S]
    failed = sorted(set(plugin.failed) - set(slow))
    answer = {"code": int(code), "lines": lines, "cpu_s": cpu_s}
    return answer | {"failed": failed, "slow": slow}


def judged(copy: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Run the tests of a mutant up to the first that fails."""
    plugin = Chosen(job["tests"])
    files = list(dict.fromkeys(name.partition("::")[0] for name in job["tests"]))
    code = pytest.main([*OPTIONS, "-x", *files], plugins=[plugin])
    module = job["module"]
    if code == pytest.ExitCode.USAGE_ERROR and not _can_be_imported(module):
        # A conftest.py imports it, so pytest runs no test.
        return {"code": 1, "failed": [module], "ran": 0, "loaded": True}
    loaded = {
        getattr(module, "__file__", None) for module in list(sys.modules.values())
    }
    return {
        "code": int(code),
        "failed": plugin.failed[:1],
        "ran": plugin.ran,
        "loaded": str(copy / module) in loaded,
    }


def _can_be_imported(module: str) -> bool:
    try:
        importlib.import_module(module.removesuffix(".py").replace("/", "."))
    except Exception:
        return False
    return True


TASKS = {"judge": judged, "trace": traced}


def _in_a_fork(task: Any, log: Path, limit_s: float) -> dict[str, Any]:
    """Return a function's result from a forked process, with the time that it took.

    The limit is of processor time, as the computer may be busy; of the time on the wall
    it may take ten times as much, but no more than WAIT_S beyond it.
    """
    reader, writer = os.pipe()
    begun_s = time.monotonic()
    wall_s = min(10 * limit_s, limit_s + WAIT_S)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reader)
        null = os.open(os.devnull, os.O_RDONLY)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_B, MEMORY_B))
        try:
            answer = task()
        except BaseException:
            # The changed module may break what pytest loads before any test.
            answer = {"code": 1, "failed": [traceback.format_exc()], "loaded": True}
        with os.fdopen(writer, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    os.set_blocking(reader, False)
    text = b""
    answer: dict[str, Any] = {}
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        while part := _read(reader):
            text += part
        if ended:
            break
        if time.monotonic() - begun_s > wall_s:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    os.close(reader)
    _end_group(child)
    if status == 0:
        answer = json.loads(text)
    else:
        answer = {"code": -os.WTERMSIG(status), "timed_out": True, "failed": []}
        # A crash of the interpreter is seen, a limit is not.
        answer["timed_out"] = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
    cpu_s = used.ru_utime + used.ru_stime
    return answer | {"took_s": time.monotonic() - begun_s, "took_cpu_s": cpu_s}


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""


def _end_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


def _answer(copy: Path, job: dict[str, Any], number: int) -> dict[str, Any]:
    log = copy.parent / f"{copy.name}.log"
    task = TASKS[job["task"]]
    if "source" not in job:
        return _in_a_fork(lambda: task(copy, job), log, job["limit_s"])
    place = copy / job["module"]
    original = place.read_bytes()
    place.write_text(job["source"], encoding="utf-8")
    # Compiled files are known by size and second: no two mutants share the second.
    os.utime(place, (number, number))
    try:
        return _in_a_fork(lambda: task(copy, job), log, job["limit_s"])
    finally:
        place.write_bytes(original)
        os.utime(place, (0, 0))


def main() -> None:
    """Answer jobs until the input ends."""
    copy = Path(sys.argv[1]).resolve()
    os.chdir(copy)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tests = sys.argv[2:]
    # Some tests have loaded most libraries.
    scouted = _in_a_fork(lambda: collected(copy, tests), copy.parent / "scout.log", 300)
    for name in scouted["libraries"]:
        try:
            importlib.import_module(name)
        except Exception:
            continue
    # Else a fork would not load the changed module.
    own = [name for name in sys.modules if name.partition(".")[0] in ("rig", "tests")]
    assert not own, own
    print(json.dumps({"code": scouted["code"]}), file=answers, flush=True)
    for number, line in enumerate(sys.stdin, start=1):
        print(
            json.dumps(_answer(copy, json.loads(line), number)),
            file=answers,
            flush=True,
        )


if __name__ == "__main__":
    main()
