# SPDX-License-Identifier: Apache-2.0
"""Any change in a session is refused, with the file named; lab/faults/forgeries.py has
more changes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lab.faults import forgeries
from lab.faults.forger import FORGERIES, Forgery
from lab.faults.forgeries import Memory
from rig.check.check import check
from tests import checking
from tests.length import length

pytestmark = pytest.mark.computes

QUICK = ("single_stream", "optimization", "tiny")
OF_REPORT = "report.html"
#: No trace here is such that it could crash its reader.
MEMORY = Memory(checking.fingerprints)


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[str, Path]]:
    """Measure one small session of each kind, without a report, which takes longer to
    draw than all else.
    """
    with TemporaryDirectory() as root:
        yield {
            kind: forgeries.session(kind, Path(root) / kind, report=False)
            for kind in QUICK
        }


@pytest.mark.parametrize("kind", QUICK)
def test_an_untouched_session_is_accepted(sessions: dict[str, Path], kind: str) -> None:
    checked = check(sessions[kind])
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    assert any("scored again" in finding.detail for finding in checked.findings)


@pytest.mark.parametrize("kind", QUICK)
def test_any_mutation_of_any_file_is_refused_and_names_it(
    tmp_path: Path, kind: str
) -> None:
    session = forgeries.session(kind, tmp_path, report=False, trials=1)
    draw = random.Random(kind)
    for path in forgeries.files_of(session, set()):
        row = forgeries.mutations(session, path, length(4, 2), draw, MEMORY)
        assert row.ok, row


@pytest.mark.parametrize(
    "forgery",
    [one for one in FORGERIES if one.blamed != OF_REPORT],
    ids=lambda one: one.name,
)
def test_a_forgery_is_refused_although_its_hashes_fit(
    sessions: dict[str, Path], forgery: Forgery
) -> None:
    for kind in set(forgery.sessions) & set(QUICK):
        row = forgeries.forged(sessions[kind], forgery, MEMORY)
        assert row.ok, (kind, row)


def test_a_report_is_made_again_and_any_other_is_refused(tmp_path: Path) -> None:
    session = forgeries.session("single_stream", tmp_path, trials=1)
    assert any(
        finding.name == OF_REPORT and "byte for byte" in finding.detail
        for finding in check(session, MEMORY.read).findings
    )
    for forgery in FORGERIES:
        if forgery.blamed == OF_REPORT:
            assert forgeries.forged(session, forgery, MEMORY).ok, forgery.name


def test_a_resumed_session_is_accepted_and_its_segments_are_looked_at(
    tmp_path: Path,
) -> None:
    session = forgeries.cut_off_and_resumed(tmp_path)
    assert check(session, MEMORY.read).ok
    path = session / "trial-1" / "segment-1" / "completions.jsonl"
    assert forgeries.mutations(session, path, length(5, 2), random.Random(1), MEMORY).ok
