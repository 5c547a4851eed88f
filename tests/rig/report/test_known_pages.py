# SPDX-License-Identifier: Apache-2.0
"""A page that this computer drew is not drawn again to check it; any other page is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import rig
from lab.faults.forger import rehash
from rig.report import known_pages
from rig.report.report import write_report
from rig.store.session_folder import REPORT, SessionFolder
from tests import checking
from tests.conftest import VIRTUAL_NULL

SETTINGS = ("task.null.samples=4", "scenario.single_stream.idle_s=0.05")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Return a session whose report was drawn as `rig run` draws it."""
    with rig.open_bench(VIRTUAL_NULL, SETTINGS) as bench:
        folder = bench.run(1, tmp_path / "sessions").path
    write_report(folder, hashed=True)
    return folder


def details(folder: Path) -> list[str]:
    """Return the findings on the content of a session's report."""
    return [
        finding.detail
        for finding in checking.check(folder).findings
        if finding.name == REPORT
    ]


def never(*_: object, **__: object) -> str:
    raise AssertionError("the page was drawn")


def test_a_page_drawn_here_is_not_drawn_again(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.report.report.rendered", never)
    assert "drawn here from the same files, byte for byte equal" in details(session)


def test_a_page_from_elsewhere_is_drawn_once(
    session: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEURORIG_CACHE", str(tmp_path / "another computer"))
    assert "made again, byte for byte equal" in details(session)
    monkeypatch.setattr("rig.report.report.rendered", never)
    assert "drawn here from the same files, byte for byte equal" in details(session)


@pytest.mark.parametrize("part", ["<path d=", "<title>", "µs"])
def test_a_page_with_one_other_character_is_drawn_again_and_refused(
    session: Path, part: str
) -> None:
    page = (session / REPORT).read_text(encoding="utf-8")
    at = page.index(part) + len(part) + 2
    digit = "1" if page[at] == "0" else "0"
    forged = page[:at] + digit + page[at + 1 :]
    (session / REPORT).write_text(forged, encoding="utf-8")
    rehash(session)
    checked = checking.check(session)
    assert not checked.ok
    assert any(
        finding.name == REPORT and "made again it is" in finding.detail
        for finding in checked.findings
    )


def test_a_page_of_other_files_is_not_known(session: Path, tmp_path: Path) -> None:
    page = (session / REPORT).read_text(encoding="utf-8")
    assert known_pages.is_known(SessionFolder(session), page)
    copy = shutil.copytree(session, tmp_path / "copy" / session.name)
    samples = copy / "trial-1" / "samples.jsonl"
    samples.write_text(samples.read_text() + "\n")
    rehash(copy)
    assert not known_pages.is_known(SessionFolder(copy), page)


def test_a_page_of_other_sources_is_not_known(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (session / REPORT).read_text(encoding="utf-8")
    monkeypatch.setattr(known_pages, "sources_sha256", lambda: "0123")
    assert not known_pages.is_known(SessionFolder(session), page)


def test_a_cache_folder_that_others_may_write_to_is_not_used(
    session: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setenv("NEURORIG_CACHE", str(shared))
    page = write_report(session, hashed=True).read_text(encoding="utf-8")
    assert known_pages.is_known(SessionFolder(session), page)
    (shared / "reports").chmod(0o775)
    assert not known_pages.is_known(SessionFolder(session), page)
    assert "made again, byte for byte equal" in details(session)


def test_a_page_of_changed_files_is_not_remembered(session: Path) -> None:
    samples = session / "trial-1" / "samples.jsonl"
    samples.write_text(samples.read_text() + "\n")
    page = write_report(session, hashed=True).read_text(encoding="utf-8")
    assert not known_pages.is_known(SessionFolder(session), page)


def test_without_a_cache_folder_pages_are_drawn_each_time(
    session: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("a file where a folder should be")
    monkeypatch.setenv("NEURORIG_CACHE", str(occupied))
    write_report(session, hashed=True)
    assert "made again, byte for byte equal" in details(session)
