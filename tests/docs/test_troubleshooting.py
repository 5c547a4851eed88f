# SPDX-License-Identifier: Apache-2.0
"""Rows of docs/how-to/TROUBLESHOOTING.md: every link in the code leads to a row, and
every row is reached from the code or says that no message names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from rig.cli.docs import troubleshooting_rows
from rig.errors import DeviceNotFound, DeviceRestarted, RigError, StorageFull
from rig.host.serial_port import SerialPort
from rig.problems import PROBLEM_CODES, SEE
from tests.commands import rig
from tests.conftest import ROOT
from tests.sources import parsed

PRODUCT = ("rig", "drivers", "sut_backends", "scenarios", "gui")
PAGE = ROOT / "docs/how-to/TROUBLESHOOTING.md"
ROWS = troubleshooting_rows(PAGE)
#: No message names such a row.
SEEN_ONLY = "Seen only."
_ANCHOR = re.compile(r"[a-z][a-z0-9-]+")


def links(tree: ast.AST) -> Iterator[str]:
    """Yield the rows that a file names: values of `see`."""
    values: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="see", value=value):
                values.append(value)
            case ast.Assign(targets=[ast.Name(id="see" | "SEE")], value=value):
                values.append(value)
            case ast.Assign(
                targets=[ast.Name(id="_LIBRARIES")], value=ast.Dict() as table
            ):
                values += [
                    row.elts[-1] for row in table.values if isinstance(row, ast.Tuple)
                ]
    for value in values:
        parts = value.values if isinstance(value, ast.Dict) else [value]
        for part in chain.from_iterable(map(ast.walk, parts)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def linked() -> dict[str, str]:
    """Return the rows that the code names, each with a file that does."""
    found = {}
    for path in chain.from_iterable((ROOT / top).rglob("*.py") for top in PRODUCT):
        if "see" in path.read_text(encoding="utf-8").lower():
            rows = links(parsed(path))
            found |= {row: str(path.relative_to(ROOT)) for row in rows if row}
    return found


def test_the_page_has_forty_rows_and_each_says_symptom_cause_and_remedy() -> None:
    assert len(ROWS) >= 40
    for name, row in ROWS.items():
        assert _ANCHOR.fullmatch(name)
        for part in ("* Seen: ", "* Cause: ", "* Try: "):
            assert row.count(part) == 1, (name, part)
    headings = re.findall(r"^### ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) == len(ROWS), "two rows have one anchor"


def test_every_link_leads_to_a_row() -> None:
    found = linked()
    assert {"no-answer", "answers-with-the-supply-off", "restarts"} <= set(found)
    assert {row: path for row, path in found.items() if row not in ROWS} == {}


def test_every_row_is_reached_or_says_that_it_is_seen_only() -> None:
    seen_only = {name for name, row in ROWS.items() if SEEN_ONLY in row}
    assert set(ROWS) - set(linked()) == seen_only


def test_every_problem_of_a_trial_has_a_row() -> None:
    assert set(SEE) == set(PROBLEM_CODES)


def test_a_row_is_printed_by_its_name_also_with_its_mark() -> None:
    for word in ("no-answer", "#no-answer"):
        done = rig("docs", word)
        assert done.returncode == 0 and done.stdout.startswith("No answer\n")
        assert "swap Tx and Rx" in done.stdout and "###" not in done.stdout
    assert rig("docs", "no-answr").returncode == 2
    assert "Troubleshooting by symptom" in rig("docs", "TROUBLESHOOTING").stdout


def test_an_error_prints_its_link_and_its_stored_text_is_without(
    tmp_path: Path,
) -> None:
    with pytest.raises(DeviceNotFound) as caught:
        SerialPort.open("/dev/ttyNOSUCH", 115_200)
    assert caught.value.see == "port-missing" and "port-missing" not in str(
        caught.value
    )
    bench = tmp_path / "bench.toml"
    bench.write_text(
        '[bench]\nname = "b"\n[sut.uart]\nport = "/dev/ttyNOSUCH"\n[monitor.none]\n'
        "[scenario.single_stream]\n[task.null]\n"
    )
    for command in ("probe", "run", "doctor"):
        done = rig(command, bench, cwd=tmp_path)
        assert done.returncode == 3
        assert "see: rig docs port-missing" in done.stdout + done.stderr


def test_a_class_of_errors_has_its_row_unless_one_says_another() -> None:
    assert StorageFull("x").see == "disk-full"
    assert DeviceRestarted("x", see="no-answer").see == "no-answer"
    assert RigError("x").see == ""


@pytest.mark.parametrize(
    "text", ["Finding('a', see='nosuch-row')", "see = 'nosuch-row'"]
)
def test_a_link_that_leads_nowhere_is_found(text: str) -> None:
    assert list(links(ast.parse(text))) == ["nosuch-row"]
    assert "nosuch-row" not in ROWS
