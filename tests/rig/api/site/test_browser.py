# SPDX-License-Identifier: Apache-2.0
"""A site in the installed Chromium, opened from the disk without a network and clicked
as a reader does (clicks.cjs).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rig.api.site.site import MadeSite
from tests.boards import NODE_MODULES
from tests.rig.api.site.test_site import headlines, named

pytestmark = pytest.mark.long

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_LIMIT_S = 240.0


@pytest.fixture(scope="module")
def session(sessions: Path) -> Path:
    return named(sessions, "quick")


@pytest.fixture(scope="module")
def seen(site: MadeSite, session: Path) -> dict[str, Any]:
    """Return the findings of clicks.cjs."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    if shutil.which("node") is None:
        pytest.skip("node is missing (Debian: apt-get install nodejs npm)")
    library = NODE_MODULES / "playwright-core"
    if not library.is_dir():
        pytest.skip("playwright-core is missing (make build/node/node_modules)")
    script = Path(__file__).with_name("clicks.cjs")
    words = ["node", script, library, browser, site.path, session.name]
    ran = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=_LIMIT_S
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_pages_load_all_they_need_without_a_network_and_run_no_foreign_script(
    seen: dict[str, Any],
) -> None:
    assert seen["faults"] == [] and seen["hurt"]


def test_labels_are_seen_in_every_row_and_nothing_is_wider_than_the_screen(
    seen: dict[str, Any],
) -> None:
    assert seen["labels"] and seen["wide"] <= 0
    assert all(wide <= 0 for wide in seen["phone"].values())


def test_a_phone_shows_every_verdict_and_no_empty_space_below_a_trace(
    seen: dict[str, Any],
) -> None:
    assert len(seen["phoneVerdicts"]) == 3 and all(seen["phoneVerdicts"])
    assert seen["phoneGap"] <= 5


def test_a_click_on_a_metric_sorts_by_it(seen: dict[str, Any], site: MadeSite) -> None:
    values = {
        path.name: headlines(path)["latency_total"]["value"] for path in site.sessions
    }
    names = sorted(values, key=lambda name: values[name])
    # The forged session names another simulated system, and is the last one.
    compared = [name for name in names if "forged" not in name]
    assert seen["byLatency"] == [*compared, *(set(names) - set(compared))]
    heads = " ".join(seen["heads"])
    assert "latency_total" in heads and "energy" not in heads


def test_filters_hide_rows_and_are_in_the_address(seen: dict[str, Any]) -> None:
    assert len(seen["rows"]) == len(seen["simulated"]) == len(seen["reset"]) == 3
    assert len(seen["others"]) == 2 and seen["count"] == "2 of 3 sessions"
    assert "label=SIMULATED" in seen["hash"] and "device=virtual" in seen["hash"]


def test_the_trace_is_drawn_and_zooms_by_wheel_drag_and_button(
    seen: dict[str, Any],
) -> None:
    first, last = seen["whole"]["view"]
    assert first == 0 and seen["inked"] > 2000
    wheel, dragged, window = (
        seen[name]["view"] for name in ("wheel", "dragged", "window")
    )
    assert first < wheel[0] < wheel[1] < last
    assert wheel[0] < dragged[0] < dragged[1] < wheel[1]
    assert seen["all"] == seen["whole"]
    assert window[1] - window[0] < last / 3
    assert "W" in seen["readout"] or "shown" in seen["readout"]
    assert seen["log"] == "true" and seen["second"]["view"][0] == 0


def test_close_views_load_every_sample(seen: dict[str, Any]) -> None:
    assert seen["whole"]["width"] >= 64 and seen["close"]["width"] == 1
    assert seen["tiles"] == ["tiles/0-0.js"]
