# SPDX-License-Identifier: Apache-2.0
"""The four tutorials of one page: every command of each runs in an empty folder, the
simulator or the POSIX firmware in the place of board and instrument.
"""

from __future__ import annotations

import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import captured

#: Page -> the output that its commands must contain.
PAGES = {
    "FIRST_BOARD": (
        "the rig has what it needs",
        "this bench has what it needs",
        "PASS  supply off, UART: the device does not answer",
        "No answer\n",
        "PASS  5 trials agree",
    ),
    "FIRST_MONITOR": (
        "this bench has what it needs",
        "8 of 8 pass",
        "FAIL  supply off: 1.8 V",
        "see: rig docs voltage-with-the-supply-off",
        "Voltage with the supply off\n",
        "PASS  5 trials agree",
        "energy",
    ),
    "FIRST_MODEL": (
        "0 wrong, 0 doubtful",
        "build/posix/tflite",
        "this bench has what it needs",
        "PASS  workload",
        "accuracy 1.000",
    ),
    "FIRST_RESULT": (
        "PASS  5 trials agree",
        "every number of the session is found again",
        "energy_infer",
        "report.html",
        "virtual-null",
    ),
}
#: A page holds about so many lines.
LINES_MAX = 80


def commands(page: str) -> str:
    """Return the commands of a page, as a shell runs them."""
    text = (ROOT / f"docs/tutorials/{page}.md").read_text(encoding="utf-8")
    return "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))


@pytest.mark.posix
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_succeeds_and_prints_what_the_page_says(
    page: str, tmp_path: Path
) -> None:
    if "firmware build" in commands(page) and shutil.which("make") is None:
        pytest.skip("needs make")
    if page == "FIRST_MODEL" and find_spec("tflite") is None:
        pytest.skip("needs the extra tflite")
    own = f'rig() {{ "{sys.executable}" -m rig "$@"; }}\n'
    own += f'python() {{ "{sys.executable}" "$@"; }}\n'
    done = captured(
        ["sh", "-ec", own + commands(page)], cwd=tmp_path, check=True, timeout=280
    )
    printed = re.sub(" +", " ", done.stdout)
    for words in PAGES[page]:
        assert re.sub(" +", " ", words) in printed, words


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_one_page(page: str) -> None:
    text = (ROOT / f"docs/tutorials/{page}.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_MAX
