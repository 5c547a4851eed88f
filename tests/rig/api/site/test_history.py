# SPDX-License-Identifier: Apache-2.0
"""The history of a site: numbers of results.json by commit, drawn in the installed
Chromium without a network.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rig.api.site import site as making
from rig.api.site.site import MadeSite, SiteOptions, write_site
from tests.checking import check
from tests.docs import browser
from tests.rig.api.site.conftest import HOSTILE, record
from tests.rig.api.site.test_site import headlines

COMMITS = ("1111111111aa", "2222222222bb", "2222222222bb", "<b>3333333")
_INKED = """(() => {
  const canvas = document.querySelector('[data-history-chart] canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, at) => at % 4 === 3 && value > 0).length;
})()"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeSite:
    """Return a site of four sessions of one bench, two of one commit and the last
    slower, and of another bench's only session.
    """
    root = tmp_path_factory.mktemp("commits")
    for number, commit in enumerate(COMMITS):
        slower = [f"sut.virtual.infer.duration_s={0.02 + 0.02 * (number == 3)}"]
        path = record(root, "daily", f"metadata.commit={json.dumps(commit)}", *slower)
        path.rename(root / f"{number}-{path.name}")
    record(root, "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "check", check)
        to = tmp_path_factory.mktemp("history") / "site"
        return write_site([root], to, SiteOptions(title=HOSTILE))


def history(made: MadeSite) -> Any:
    text = (made.path / "history.js").read_text(encoding="utf-8")
    call = re.fullmatch(r"rigHistories\((.*)\);\n", text, re.DOTALL)
    assert call
    return json.loads(call[1])


def test_a_history_has_the_numbers_of_results_json_in_the_order_of_dates(
    made: MadeSite,
) -> None:
    [found] = history(made)
    assert found["title"].startswith("daily: ")
    daily = sorted(path for path in made.sessions if "daily" in path.name)
    names = [metric["name"] for metric in found["metrics"]]
    assert names == list(headlines(daily[0]))
    for metric in found["metrics"]:
        points = metric["points"]
        assert [one["commit"] for one in points] == [each[:10] for each in COMMITS]
        assert all("SIMULATED" in one["labels"] for one in points)
        for one, session in zip(points, daily, strict=True):
            row = headlines(session)[metric["name"]]
            scaled = one["value"] / row["value"] if row["value"] else 1.0
            assert any(scaled == pytest.approx(10.0**power) for power in (0, 3, 6, 9))
            assert one["page"] == f"sessions/{session.name}/index.html"


def test_sites_without_two_sessions_of_one_bench_have_no_history(
    site: MadeSite,
) -> None:
    assert not (site.path / "history.js").exists()
    assert "data-history" not in (site.path / "index.html").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")
def test_points_and_commits_are_drawn_and_another_metric_is_chosen(
    made: MadeSite, tmp_path: Path
) -> None:
    with browser.offline_page(tmp_path) as page:
        page.open(made.path / "index.html")
        chart = "document.querySelector('[data-history-chart]')"
        page.wait_for(f"{chart}.dataset.points === '4'")
        page.wait_for(f"{_INKED} > 2000")
        once = ", ".join(dict.fromkeys(each[:10] for each in COMMITS))
        assert page.value(f"{chart}.dataset.names") == once
        rows = page.value(
            "[...document.querySelectorAll('[data-history-table] tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        assert [row[1] for row in rows] == [each[:10] for each in COMMITS]
        assert "SIMULATED" in page.value(
            "document.querySelector('[data-history-labels]').textContent"
        )
        page.value(
            "(() => { const choice = document.querySelector('[data-history-metric]');"
            " choice.value = 'latency_total';"
            " choice.dispatchEvent(new Event('change')); })()"
        )
        page.wait_for(f"{chart}.dataset.metric === 'latency_total'")
        shown = page.value(
            "[...document.querySelectorAll('[data-history-table] tbody .n')]"
            ".map((cell) => cell.textContent)"
        )
        [found] = history(made)
        [latency] = (one for one in found["metrics"] if one["name"] == "latency_total")
        assert shown == [one["text"] for one in latency["points"]]
        assert shown[0] != shown[3]
        wider = "document.documentElement.scrollWidth - window.innerWidth"
        assert page.value(wider) <= 0
        assert page.value("document.querySelector('[data-history-table] b')") is None
        assert all(address.startswith("file:") for address in page.requested)
