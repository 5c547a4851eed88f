# SPDX-License-Identifier: Apache-2.0
"""tools/mutants on a small project, whose mutants have a known fate."""

from __future__ import annotations

import importlib.util
import json
import signal
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from coverage.collector import Collector

from tests.conftest import ROOT

AREA = """
def area(a, b):
    return a * b
"""
TESTS = """
import subprocess, sys
from tiny.area import area

def test_an_area_is_positive():
    assert area(2, 3) > 0

def test_an_area_is_a_product():
    assert area(2, 3) == 6

def test_a_process_of_its_own_computes_the_same():
    words = [sys.executable, "-c", "from tiny.area import area; print(area(2, 3))"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "6\\n"
"""
FILE = "tests/test_area.py"
#: pytest imports the module before these tests.
SETUP = "prepared/conftest.py"
PREPARED = "prepared/test_area.py"
POSITIVE, PRODUCT, PROCESS = (
    f"{FILE}::test_{name}"
    for name in (
        "an_area_is_positive",
        "an_area_is_a_product",
        "a_process_of_its_own_computes_the_same",
    )
)


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    """Load the script, which is in no package."""
    return _loaded("mutants")


def _loaded(name: str) -> ModuleType:
    position = ROOT / "tools" / "mutants" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, position)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server(
    mutants: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A server of the small project."""
    copy = tmp_path_factory.mktemp("small") / "copy"
    for name, text in (
        ("tiny/__init__.py", ""),
        ("tiny/area.py", AREA),
        (FILE, TESTS),
        (SETUP, "import tiny.area\n"),
        (PREPARED, TESTS),
    ):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", "-p no:rig")
        started = mutants.Server(copy, [FILE, PREPARED])
    yield started
    started.close()
    assert (copy / "tiny/area.py").read_text() == AREA


def judge(server: Any, body: str, *tests: str, limit_s: float = 60) -> dict[str, Any]:
    source = AREA.replace("return a * b", body)
    job = {"module": "tiny/area.py", "source": source, "tests": tests}
    answer: dict[str, Any] = server.ask(task="judge", limit_s=limit_s, **job)
    return answer


def test_the_unchanged_source_passes_in_the_order_asked_for(server: Any) -> None:
    answer = judge(server, "return a * b", PROCESS, PRODUCT, POSITIVE)
    assert (answer["code"], answer["ran"], answer["failed"]) == (0, 3, [])
    assert answer["loaded"]


@pytest.mark.parametrize("sign", ["+", "-", "/", "+"])
def test_mutants_of_one_size_are_each_killed_by_the_first_that_notices(
    server: Any, sign: str
) -> None:
    answer = judge(server, f"return a {sign} b", POSITIVE, PRODUCT, PROCESS)
    killer = POSITIVE if sign == "-" else PRODUCT
    assert (answer["code"], answer["failed"]) == (1, [killer])
    # ... and what does not notice it lets it live.
    assert judge(server, "return b * a", POSITIVE, PRODUCT)["code"] == 0


def test_a_process_that_a_test_starts_has_the_mutant_too(server: Any) -> None:
    assert judge(server, "return a + b", PROCESS)["failed"] == [PROCESS]


def test_a_mutant_that_cannot_be_imported_is_killed(server: Any) -> None:
    assert judge(server, "return a * b\nmissing", PRODUCT)["code"] == 2


def test_a_mutant_that_no_conftest_can_import_is_killed(server: Any) -> None:
    test = PRODUCT.replace(FILE, PREPARED)
    assert judge(server, "return a * b", test)["code"] == 0
    answer = judge(server, "return a * b\nmissing", test)
    assert (answer["code"], answer["failed"]) == (1, ["tiny/area.py"])


def test_a_mutant_that_never_ends_is_timed_out(server: Any) -> None:
    answer = judge(server, "\n    while True: pass", PRODUCT, limit_s=1)
    assert answer["timed_out"]


def test_a_slow_test_is_stopped_but_not_while_coverage_has_its_lock() -> None:
    module = _loaded("server")
    lock = Mock()
    lock.acquire.side_effect = lambda: signal.raise_signal(signal.SIGPROF)
    before = signal.signal(signal.SIGPROF, module._too_slow)
    try:
        Collector.lock_data(cast(Collector, SimpleNamespace(data_lock=lock)))
        lock.acquire.assert_called_once_with()
        with pytest.raises(module._Slow):
            signal.raise_signal(signal.SIGPROF)
    finally:
        signal.signal(signal.SIGPROF, before)


def test_traces_have_the_lines_of_each_test(server: Any) -> None:
    answer = server.ask(task="trace", packages=["tiny"], files=[FILE], limit_s=60)
    assert answer["cpu_s"].keys() == {POSITIVE, PRODUCT, PROCESS}
    lines = answer["lines"]["tiny/area.py"]
    assert set(lines["3"]) == {POSITIVE, PRODUCT}
    assert json.dumps(answer["failed"]) == "[]"


SOURCE = '''\
LIMIT = (
    1 +
    2
)


def double(x, least=LIMIT):
    """Return x twice."""
    if (
        x > least
        and x
    ):
        return 2 * x
    return [
        x,
        x,
    ]
'''


@pytest.mark.parametrize(
    ("line", "first", "last", "imported"),
    [(2, 1, 4, True), (7, 7, 7, True), (10, 9, 12, False), (15, 14, 17, False)],
)
def test_a_mutated_line_belongs_to_its_statement_or_its_head(
    mutants: ModuleType, line: int, first: int, last: int, imported: bool
) -> None:
    lines, at_import = mutants.statement(SOURCE, line)
    assert (lines[0], lines[-1], at_import) == (first, last, imported)


@pytest.mark.parametrize(
    ("killed", "tried", "few"),
    # 100 draws of which 85 % are killed: 75 or fewer once in 164.
    [
        (75, 100, True),
        (76, 100, False),
        (90, 100, False),
        (6, 10, False),
        (0, 0, False),
    ],
)
def test_a_few_more_survivors_than_are_allowed_are_chance(
    mutants: ModuleType, killed: int, tried: int, few: bool
) -> None:
    assert mutants.too_few(killed, tried) is few


def test_survivors_are_listed_with_lines_that_their_modules_have(
    mutants: ModuleType,
) -> None:
    rows = mutants.listed()
    assert mutants.outdated(rows) == []
    assert all(row.reason and row.becomes for row in rows)
