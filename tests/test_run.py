# SPDX-License-Identifier: Apache-2.0
"""What passes only the second time fails `make test`, unless it is listed with a
reason."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import pytest_at
from tests.conftest import ROOT
from tests.programs import captured
from tests.run import FLAKY, SHORT, VARIABLE, flaky, skipped
from tests.uncounted import uncounted

#: Fails the first time, and whenever `broken.txt` is there.
SECOND_TIME = """
from pathlib import Path

import pytest


@pytest.mark.parametrize("case", ["a", "b"])
def test_second(case):
    seen = Path(f"seen-{case}")
    first = case == "b" and not seen.exists()
    seen.touch()
    assert not first and not Path("broken.txt").exists()
"""
LISTED = "tests/test_it.py::test_second  # its line is simulated in real time\n"


def run(
    folder: Path, listed: str, jobs: str = "0", *words: str, source: str = SECOND_TIME
) -> subprocess.CompletedProcess[str]:
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_it.py").write_text(source)
    (folder / FLAKY).write_text(listed)
    command = [sys.executable, str(ROOT / "tests" / "run.py"), jobs, *words]
    environment = uncounted() | {"PYTHONDONTWRITEBYTECODE": "1"}
    # Of the plugins of this environment only the one that runs tests side by side:
    # others take longer to import than such a run.
    environment |= {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "xdist.plugin",
    }
    return captured(command, cwd=folder, env=environment)


@pytest.mark.parametrize("jobs", ["0", pytest.param("2", marks=pytest.mark.repeats)])
def test_a_test_that_passes_only_the_second_time_fails_the_run(
    tmp_path: Path, jobs: str
) -> None:
    done = run(tmp_path, "", jobs)
    assert done.returncode == 1, done.stdout
    output = (
        "make test: passed the second time only: tests/test_it.py::test_second[b]; not"
        " in tests/flaky.txt, so this run fails"
    )
    assert output in done.stdout
    assert "test_second[a]; " not in done.stdout


@pytest.mark.parametrize(
    "listed",
    [
        pytest.param(LISTED, id="the test", marks=pytest.mark.repeats),
        pytest.param(LISTED.replace("test_second", "test_second[b]"), id="the case"),
    ],
)
def test_one_that_is_listed_with_a_reason_does_not(tmp_path: Path, listed: str) -> None:
    done = run(tmp_path, listed)
    assert done.returncode == 0, done.stdout
    assert (
        "tests/test_it.py::test_second[b]; known: its line is simulated in real time"
        in done.stdout
    )


def test_the_list_excuses_none_that_fails_twice(tmp_path: Path) -> None:
    (tmp_path / "broken.txt").touch()
    assert run(tmp_path, LISTED).returncode == 1


def test_a_run_without_failures_passes(tmp_path: Path) -> None:
    (tmp_path / "seen-b").touch()
    done = run(tmp_path, "")
    assert done.returncode == 0, done.stdout
    assert "second time" not in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "tests/test_it.py::test_second",
        "tests/test_it.py::test_second  #  ",
        "test_second  # slow",
    ],
)
def test_a_line_without_a_reason_or_a_test_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="lacks a reason, or is no test"):
        flaky(line)


def test_every_test_on_the_list_is_there() -> None:
    for name in flaky((ROOT / FLAKY).read_text(encoding="utf-8")):
        path, _, test = name.partition("::")
        function = test.rpartition("::")[2].partition("[")[0]
        assert re.search(
            rf"^ *def {function}\(",
            (ROOT / path).read_text(encoding="utf-8"),
            re.MULTILINE,
        ), name


#: Some tests and a module as a whole are skipped, beside others and alone.
SKIPPED = """
import os
import sys

import pytest

def test_byte_code_is_kept_although_the_environment_forbids_it():
    assert not sys.dont_write_bytecode

def test_repetitions_are_short():
    assert os.environ["NEURORIG_TESTS"] == "short"

@pytest.mark.parametrize("case", [1, 2])
def test_with_torch(case):
    pytest.importorskip("no_such_package", reason="torch is missing")

@pytest.mark.skip("no board is plugged in")
@pytest.mark.alone
def test_board():
    pass

@pytest.mark.skip("no clock keeps its pace")
@pytest.mark.paced
def test_clock():
    pass

@pytest.mark.skip("no numbers are wanted")
@pytest.mark.computes
def test_numbers():
    pass

def test_that_is_known_to_fail():
    pytest.xfail("a skip is something else")
"""


@pytest.mark.parametrize("jobs", [pytest.param("0", marks=pytest.mark.repeats), "2"])
def test_what_was_skipped_is_reported_in_one_line_at_the_end(
    tmp_path: Path, jobs: str
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_whole.py").write_text(
        'import pytest\npytest.skip("no compiler", allow_module_level=True)\n'
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -ra\nmarkers =\n    alone\n    paced\n    computes\n"
    )
    done = run(tmp_path, "", jobs, source=SKIPPED)
    assert done.returncode == 0, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("make test: 6 skipped: torch is missing (2); ")
    assert "no compiler (1)" in last and "no board is plugged in (1)" in last
    assert "no clock keeps its pace (1)" in last and "no numbers are wanted (1)" in last
    assert done.stdout.count("no compiler") == 1 and "SKIPPED" not in done.stdout
    assert done.stdout.splitlines()[-2].startswith(
        "make test: repetitions were short; make test FULL=1"
    )


COMPUTED = """
import pytest

@pytest.mark.computes
def test_a_sum():
    assert 1 + 1 == 3, "that was not to be"
"""


def test_a_failure_among_those_that_only_compute_is_shown_and_fails_the_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    computes\n")
    done = run(tmp_path, "", "1", source=COMPUTED)
    assert done.returncode == 1 and "that was not to be" in done.stdout


def test_that_no_test_was_skipped_is_reported_too() -> None:
    assert skipped([]) == "nothing was skipped"


COVERED = """
import os
import subprocess
import sys

def test_one_branch_here_and_one_in_a_process_of_its_own(tmp_path):
    from thing import sign
    assert os.environ["NEURORIG_TESTS"] == "full"
    assert sign(1) == "+"
    code = "import thing; thing.sign(-1)"
    path = {"PYTHONPATH": os.getcwd()}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | path, check=True)
"""
THING = """
def sign(x):
    if x > 0:
        return "+"
    if x < 0:
        return "-"
    return "0"
"""


@pytest.mark.parametrize(("floor", "code", "jobs"), [(70, 0, "2"), (95, 1, "0")])
def test_fewer_branches_than_the_floor_fail_the_run(
    tmp_path: Path, floor: int, code: int, jobs: str
) -> None:
    (tmp_path / "thing.py").write_text(THING)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\n'
        '[tool.coverage.run]\nbranch = true\nparallel = true\nsource_pkgs = ["thing"]\n'
        f"[tool.coverage.report]\nfail_under = {floor}\n"
    )
    done = run(tmp_path, "", jobs, "--coverage", "--full", source=COVERED)
    assert done.returncode == code, done.stdout + done.stderr
    assert "repetitions were short" not in done.stdout
    # 5 of 6 statements and 3 of 4 ways on from a condition.
    assert "make test: 80 % of lines and branches covered" in done.stdout


@pytest.mark.parametrize("asked", [SHORT, "full"])
def test_what_repeats_is_left_out_of_a_short_run_alone(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv(VARIABLE, asked)
    words = (
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/firmware/test_host.py",
    )
    done = pytest_at(ROOT, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("test_everything_compiles_without_a_warning" in done.stdout) == (
        asked == "full"
    )


def test_make_test_runs_this() -> None:
    assert "tests/run.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
