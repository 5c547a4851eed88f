# SPDX-License-Identifier: Apache-2.0
"""The pages of a site: their numbers, their labels, and foreign text in them."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from rig.api.site import site as making
from rig.api.site.site import MadeSite, SiteOptions, write_site
from rig.errors import DataError
from tests.checking import check
from tests.rig.api.site.conftest import HOSTILE

pytestmark = pytest.mark.computes


class SitePage(HTMLParser):
    """Rows of the leaderboards, tags, and the text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[str, dict[str, Any]] = {}
        self.text = ""
        self._row: dict[str, Any] = {}
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        self.tags.append((tag, about))
        if tag == "tr":
            self._row = {"about": about, "numbers": {}, "text": "", "links": []}
            if name := about.get("data-session"):
                self.rows[name] = self._row
        if self._row and "data-number" in about:
            self._row["numbers"][about["data-metric"]] = about["data-number"]
        if self._row and tag == "a":
            self._row["links"].append(about["href"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self._row = {}

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._row:
            self._row["text"] += data


@pytest.fixture(scope="module")
def index(site: MadeSite) -> SitePage:
    return SitePage(site.path / "index.html")


def named(sessions: Path, part: str) -> Path:
    return next(path for path in sessions.iterdir() if part in path.name)


def headlines(session: Path) -> dict[str, Any]:
    tree = json.loads((session / "results.json").read_text(encoding="utf-8"))
    metrics = tree["metrics"].items()
    return {name: row for name, row in metrics if row["prominence"] == "headline"}


def test_numbers_of_the_leaderboards_are_those_of_results_json(
    index: SitePage, site: MadeSite
) -> None:
    assert len(index.rows) == len(site.sessions) == 3
    for session in site.sessions:
        row = index.rows[session.name]
        text = (session / "results.json").read_text(encoding="utf-8")
        found = headlines(session)
        assert found.keys() == row["numbers"].keys()
        for name, number in row["numbers"].items():
            assert float(number) == found[name]["value"] and f": {number}" in text


def test_every_row_has_its_labels_verdict_and_the_outcome_of_its_check(
    index: SitePage, sessions: Path
) -> None:
    for row in index.rows.values():
        assert "SIMULATED" in row["text"]
        assert "SIMULATED" in json.loads(row["about"]["data-labels"])
    quick = index.rows[named(sessions, "quick").name]
    assert "check: PASS" in quick["text"]
    assert "check: FAIL" in index.rows[named(sessions, "forged").name]["text"]
    assert "virtual device" in quick["text"] and "PASS" in quick["text"]
    slow = index.rows[named(sessions, "slow").name]
    assert "NOT TESTED" in slow["text"]


def test_the_slower_session_has_a_later_rank_and_equal_ones_share_theirs(
    index: SitePage,
) -> None:
    def ranks(metric: str) -> list[str]:
        cell = rf'<td class="rank[^>]*data-metric="{metric}"[^>]*>(.)'
        return sorted(re.findall(cell, index.source))

    # The forged session names another simulated system.
    assert ranks("latency_total") == ["1", "2", "–"]
    assert "not comparable: the simulated systems differ" in index.source
    assert ranks("accuracy") == ["1", "1", "1"]


def test_a_session_without_results_is_named_with_its_state(
    index: SitePage, sessions: Path
) -> None:
    cut = named(sessions, "cut").name
    assert cut not in index.rows and f"{cut}killed" in index.text.replace("\n", "")


def test_the_page_of_a_session_states_its_report_and_nothing_from_outside(
    site: MadeSite, sessions: Path
) -> None:
    session = named(sessions, "quick")
    page = SitePage(site.path / "sessions" / session.name / "index.html")
    report = (
        SitePage(session / "report.html") if (session / "report.html").exists() else ""
    )
    assert "rig check: PASS" in page.text and "SIMULATED" in page.text
    rows = re.compile(r'<tr><th scope="row"><code>.*?</tr>', re.DOTALL)
    if report:
        assert rows.findall(page.source) == rows.findall(report.source)
    assert len(rows.findall(page.source)) > 5
    used = [about.get("src") or about.get("href") for _, about in page.tags]
    for place in filter(None, used):
        assert ":" not in place and not place.startswith("//")


def test_foreign_text_is_text_and_scripts_are_files_of_the_site(
    site: MadeSite, index: SitePage
) -> None:
    pages = [SitePage(path) for path in site.path.rglob("*.html")]
    assert len(pages) == 4 and HOSTILE in index.text
    for page in pages:
        for tag, about in page.tags:
            assert tag != "script" or set(about) == {"src", "defer"}
            assert not any(map(re.compile("on").match, about))
        policy = [about for tag, about in page.tags if tag == "meta" and len(about) > 1]
        assert "script-src 'self' file:;" in str(policy)
        assert "<script>window.hurt" not in page.source
    assert sum("hurt" in page.text for page in pages) == 2


def test_a_session_whose_name_is_no_plain_word_has_a_folder_of_another_name(
    site: MadeSite, index: SitePage, sessions: Path
) -> None:
    plain = re.compile(r"sessions/[A-Za-z0-9._-]+/index\.html")
    links = list(chain.from_iterable(row["links"] for row in index.rows.values()))
    assert len(links) == 3 and all(map(plain.fullmatch, links))
    assert all((site.path / link).is_file() for link in links)


def test_a_download_has_the_records_with_its_hash_on_the_page(
    site: MadeSite, sessions: Path
) -> None:
    session = named(sessions, "quick")
    folder = site.path / "sessions" / session.name
    zipped = folder / "records.zip"
    digest = hashlib.sha256(zipped.read_bytes()).hexdigest()
    assert digest in (folder / "index.html").read_text(encoding="utf-8")
    with zipfile.ZipFile(zipped) as content:
        names = content.namelist()
        stored = content.read(f"{session.name}/results.json")
    assert stored == (session / "results.json").read_bytes()
    assert not [name for name in names if "trial-" in name]


def test_a_whole_session_from_the_site_passes_the_check(
    sessions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "check", check)
    session = named(sessions, "quick")
    options = SiteOptions(checked=False, whole_sessions=True)
    made = write_site([session], tmp_path / "site", options)
    page = made.path / "sessions" / session.name
    assert "rig check: NOT RUN" in SitePage(page / "index.html").text
    with zipfile.ZipFile(page / "session.zip") as content:
        content.extractall(tmp_path / "unpacked")
    assert check(tmp_path / "unpacked" / session.name).ok


def test_a_site_is_replaced_and_another_folder_is_not(
    sessions: Path, tmp_path: Path
) -> None:
    session = named(sessions, "slow")
    for title in ("one", "two"):
        options = SiteOptions(title=title, checked=False)
        made = write_site([session], tmp_path / "site", options)
    assert "<h1>two</h1>" in (made.path / "index.html").read_text(encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("kept")
    with pytest.raises(DataError, match="no site that rig site made"):
        write_site([session], other, options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "site"]
    assert (other / "mine.txt").read_text() == "kept"


def test_a_folder_without_sessions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no session and has none in it"):
        write_site([tmp_path], tmp_path / "site")
    assert not list(tmp_path.iterdir())
