# SPDX-License-Identifier: Apache-2.0
"""Benchmarks whose aim is not met say so by their exit code; the peer that they compare
with does the peer's work.
"""

from __future__ import annotations

import ast
import math
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ingest, link, peer
from tests.conftest import ROOT
from tests.programs import captured

FOLDER = ROOT / "benchmarks"


def test_every_benchmark_that_is_run_ends_with_an_exit_code() -> None:
    run = []
    for path in sorted(FOLDER.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        mains = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == "main"
        ]
        guards = [
            node
            for node in tree.body
            if isinstance(node, ast.If)
            and ast.unparse(node.test) == "__name__ == '__main__'"
        ]
        assert len(guards) >= len(mains), f"{path.name} has a main that nothing calls"
        for guard in guards:
            assert ast.unparse(guard.body[-1]).startswith("sys.exit("), path.name
        assert all(
            node.returns is not None and ast.unparse(node.returns) == "int"
            for node in mains
        ), path.name
        run += [path.name] * bool(guards)
    assert {
        "ingest.py",
        "link.py",
        "live.py",
        "memory.py",
        "interval_coverage.py",
    } <= set(run)


def programs() -> list[str]:
    """Return the benchmarks that are run, which are those with a main."""
    return [
        path.stem
        for path in sorted(FOLDER.glob("*.py"))
        if "\ndef main(" in path.read_text(encoding="utf-8")
    ]


@pytest.mark.posix
@pytest.mark.parametrize("name", programs())
def test_a_quick_run_comes_to_its_end(name: str, tmp_path: Path) -> None:
    """A missed aim says little of a quick run, so its exit code may be 1."""
    if not (ROOT / "firmware" / "build" / "posix" / "asc").exists():
        pytest.skip("the POSIX firmware is not built: make firmware")
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick"]
    if name in ("screenshots", "terminal_pictures"):
        command += ["--out", str(tmp_path)]
    done = captured(command, cwd=ROOT, timeout=250)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.strip()
    last = done.stdout.strip().splitlines()[-1]
    assert not last.startswith("wrong result"), last


def test_no_benchmark_hides_a_package_when_it_is_run() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert "gui" in packages
    assert not packages & {path.stem for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize(
    ("aims", "code"),
    [([True, None], 0), ([None], 0), ([True, False], 1), ([False, True, None], 1)],
    ids=str,
)
def test_an_aim_of_ingest_that_is_not_met_is_an_exit_code(
    capsys: pytest.CaptureFixture[str],
    aims: list[bool | None],
    code: int,
) -> None:
    assert (
        ingest.concluded([(f"aim {number}", met) for number, met in enumerate(aims)])
        == code
    )
    assert capsys.readouterr().out.count("NOT met") == aims.count(False)


@pytest.mark.parametrize(
    ("share", "text_s", "code"), [(0.97, 99.0, 0), (0.94, 99.0, 1), (0.97, 0.01, 1)]
)
def test_a_link_below_its_aim_or_behind_the_others_is_an_exit_code(
    capsys: pytest.CaptureFixture[str],
    share: float,
    text_s: float,
    code: int,
) -> None:
    took_s = len(link.SAMPLE) * 10 / 115_200 / share
    rows = [(115_200, link.Loads([took_s]), link.Loads([text_s]), link.Loads([99.0]))]
    assert link.concluded(rows) == code
    assert ("NOT met" in capsys.readouterr().out) == bool(code)


@pytest.mark.parametrize("rises", [0, 1, 7])
def test_the_peer_puts_a_sum_a_millisecond_and_one_at_each_rising_edge(
    rises: int,
) -> None:
    random = np.random.default_rng(1)
    current, voltage = (
        random.uniform(0.5, 1.5, 100_000).astype(np.float32) for _ in range(2)
    )
    levels = np.ones(100_000, np.uint8)
    for number in range(rises):
        levels[10_500 * number + 1000 : 10_500 * number + 1300] = (
            0  # rises within a millisecond, and not at its end
        )
    energy_j, events, sums = peer.joulescope(current, voltage, levels, 1e6)
    # Each edge ends a sum early, and the next one begins there; the rest at the end is
    # not put.
    ends = [0, *(10_500 * number + 1301 for number in range(rises))]
    left = 100_000 - ends[-1]
    assert events == rises
    assert (
        sums
        == sum(math.ceil((stop - start) / 1000) for start, stop in pairwise(ends))
        + left // 1000
    )
    put = ends[-1] + left // 1000 * 1000
    assert energy_j == pytest.approx(
        float(current[:put].astype(np.float64) @ voltage[:put]) / 1e6, rel=1e-4
    )


def test_the_peer_reads_what_an_lpm01a_writes() -> None:
    text = (
        "TimeStamp: 000s 000ms, buff 00%\r\n"
        + "6409-07" * 20
        + "\r\nevent 00 ris\r\n"
        + "1000-06" * 5
        + "\r\n"
    )
    total, events = peer.lpm01a(text)
    assert total == pytest.approx(20 * 6409e-7 + 5 * 1000e-6)
    assert events == 1


def test_the_revision_of_the_peer_is_the_one_that_the_documentation_names() -> None:
    assert peer.REVISION in (ROOT / "docs/reference/COMPATIBILITY.md").read_text(
        encoding="utf-8"
    )
