# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorials/FIRST_SESSION.md print the output that the page shows."""

from __future__ import annotations

import re
import sys

import pytest

from tests.conftest import ROOT
from tests.programs import captured

PAGE = (ROOT / "docs/tutorials/FIRST_SESSION.md").read_text(encoding="utf-8")
SHELL = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
#: A result of the page: a row of the table, or a line of the verdict.
RESULT = "".join(re.findall(r"```\n( PASS.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run all commands of the page in an empty folder; the first that fails ends it."""
    rig = f'rig() {{ "{sys.executable}" -m rig "$@"; }}\n'
    return captured(
        ["sh", "-ec", rig + SHELL],
        cwd=tmp_path_factory.mktemp("first"),
        check=True,
        timeout=300,
    ).stdout


def test_every_command_of_the_page_succeeds(printed: str) -> None:
    probe = re.findall(r"^(PASS|FAIL|NOT TESTED)  ", printed, re.MULTILINE)
    assert len(probe) > 5 and set(probe) == {"PASS"}
    assert "every number of the session is found again" in printed
    assert "no difference shown" in printed


def test_the_result_of_the_page_is_the_one_printed(printed: str) -> None:
    rows = [" ".join(line.split()) for line in printed.splitlines()]
    shown = [" ".join(line.split()) for line in RESULT.splitlines() if line.strip()]
    assert len(shown) == 7
    assert [row for row in shown if row not in rows] == []
