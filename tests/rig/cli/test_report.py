# SPDX-License-Identifier: Apache-2.0
"""`rig report` hashes every file and reduces every trial once, for all formats and
checks.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.cli.report import report
from rig.results import results
from rig.session.session import SessionResult
from rig.store import session_folder
from tests.conftest import ROOT

OLD = ROOT / "tests" / "rig" / "check" / "stored" / "schema-3-resumed"


@pytest.mark.parametrize("schema", ["old", "new"])
def test_a_report_hashes_each_trace_and_reduces_each_trial_once(
    run_virtual: Callable[..., SessionResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    schema: str,
) -> None:
    if schema == "old":
        folder = Path(shutil.copytree(OLD, tmp_path / "session"))
    else:
        folder = run_virtual(trials=2).folder
    trials = sorted(path.name for path in folder.glob("trial-*"))
    hashed: Counter[str] = Counter()
    reduced: Counter[str] = Counter()
    digest, reduce_trial = session_folder.sha256, results.reduce_trial

    def counted_digest(path: Path) -> str:
        hashed[str(path.relative_to(folder))] += 1
        return digest(path)

    def counted_reduction(context: Any, path: Path, *more: Any) -> Any:
        reduced[path.name] += 1
        return reduce_trial(context, path, *more)

    monkeypatch.setattr(session_folder, "sha256", counted_digest)
    monkeypatch.setattr(results, "reduce_trial", counted_reduction)
    assert report.callback is not None
    assert report.callback(folder) == 0
    assert reduced == Counter(trials)
    assert set(hashed.values()) == {1}
    # Its own hash is noted; the next check of it hashes it once more.
    assert hashed["report.html"] == 1
    page = (folder / "report.html").read_bytes()
    assert (
        report.callback(folder) == 0 and (folder / "report.html").read_bytes() == page
    )


def test_a_report_of_a_changed_session_is_not_made_from_what_the_check_took_for_granted(
    run_virtual: Callable[..., SessionResult], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_virtual().folder
    assert report.callback is not None
    (folder / "report.html").write_text("an old page that somebody changed")
    assert report.callback(folder) == 0
    content = bytearray((folder / "trial-1" / "trace.jls").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "trial-1" / "trace.jls").write_bytes(content)
    assert report.callback(folder) == 1
    assert "was changed" in capsys.readouterr().err
    assert "is missing, was changed" in (folder / "report.html").read_text(
        encoding="utf-8"
    )
