# SPDX-License-Identifier: Apache-2.0
"""Sessions recorded before the sources that compute results were rewritten: every
number is found again to the last digit.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.checking import check
from tests.conftest import ROOT

ARCHIVES = sorted((ROOT / "tests" / "golden").glob("*.tar.xz"))


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack a session and return its folder."""
    with tarfile.open(archive) as packed:
        # An attribute and no argument: Python 3.11.3 and older have no filters.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(folder)
    (session,) = folder.iterdir()
    return session


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.split(".")[0])
def test_a_recorded_session_is_computed_again_to_the_last_digit(
    archive: Path, tmp_path: Path
) -> None:
    session = unpacked(archive, tmp_path)
    checked = check(session)
    assert [finding for finding in checked.findings if not finding.ok] == []
    assert checked.ok


def test_another_number_in_a_recorded_session_is_found(tmp_path: Path) -> None:
    session = unpacked(ARCHIVES[0], tmp_path)
    results = session / "results.json"
    tree = json.loads(results.read_text(encoding="utf-8"))
    latency = tree["metrics"]["latency_total"]
    latency["value"] *= 1 + 1e-12
    results.write_text(json.dumps(tree, indent=2), encoding="utf-8")
    assert not check(session).ok
