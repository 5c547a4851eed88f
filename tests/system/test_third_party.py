# SPDX-License-Identifier: Apache-2.0
"""A package that the rig has never heard of brings a scenario, a task, a monitor and a
device by entry points, and has tiles, rows, pictures and a verdict.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.commands import program, rig

ENTRY_POINTS = """
[rig.suts]
acme_device = "acme_rig.device:Device"
[rig.monitors]
acme_meter = "acme_rig.meter:Meter"
[rig.scenarios]
acme_counting = "acme_rig.scenario:Counting"
[rig.tasks]
acme_bits = "acme_rig.task:BitsTask"
""".replace('"', "")
BENCH = """
[bench]
name = "third-party"
seed = 1
[sut.acme_device]
[monitor.acme_meter]
[scenario.acme_counting]
[task.acme_bits]
"""


#: What `rig` does where Python finds the package.
COMMAND = """
import os, sys
os.environ["PYTHONPATH"] = {site!r}
sys.path.insert(0, {site!r})
sys.argv = {words!r}
from rig.cli.main import main
main()
"""


class Package:
    """The package on the path of a subprocess alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        site = folder / "site"
        shutil.copytree(Path(__file__).with_name("third_party"), site / "acme_rig")
        about = site / "acme_rig-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: acme-rig\nVersion: 1.0\n"
        )
        (about / "entry_points.txt").write_text(ENTRY_POINTS)
        (folder / "bench.toml").write_text(BENCH)
        self._site = str(site)

    def rig(self, *words: str) -> subprocess.CompletedProcess[str]:
        text = COMMAND.format(site=self._site, words=["rig", *words])
        return program(text, self._folder)

    def run(self, *settings: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        """Run the bench; return its output, and the folder of the session."""
        sets = [*chain.from_iterable(("--set", setting) for setting in settings)]
        done = self.rig("run", "bench.toml", "--sessions", "sessions", *sets)
        return done, max((self._folder / "sessions").iterdir())


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return Package(tmp_path_factory.mktemp("third-party"))


@pytest.fixture(scope="module")
def session(package: Package) -> tuple[str, Path]:
    """Return the run's output, and its session."""
    done, folder = package.run()
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, folder


def results(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return content


def test_the_terminal_has_its_rows_and_its_verdict(session: tuple[str, Path]) -> None:
    output, _ = session
    table = output.partition("intervals of 95 %")[0]
    rows = [line.split()[0] for line in table.splitlines() if line.split()]
    assert [row for row in rows if row in ("pace", "spent", "counted_right", "shortfall")] == [
        "pace", "spent", "counted_right", "shortfall",
    ]  # fmt: skip
    assert "first_asked" not in output  # a detail
    assert re.search(r"PASS", output)


def test_what_its_metrics_say_of_themselves_decides_the_verdict(
    session: tuple[str, Path], package: Package
) -> None:
    content = results(session[1])
    assert list(content["replication"]["per_metric"]) == [
        "pace", "spent", "counted_right", "shortfall",
    ]  # fmt: skip
    # In the order of a trial's seed other samples come first: by themselves these are
    # far apart.
    firsts = [
        trial["value"] for trial in content["metrics"]["first_asked"]["per_trial"]
    ]
    assert max(firsts) > 2 * min(firsts)
    done, folder = package.run("scenario.acme_counting.strict=true")
    verdict = results(folder)["replication"]
    assert done.returncode != 0 and not verdict["ok"]
    assert verdict["reason"].startswith("first_asked deviates by")


def test_results_json_says_what_each_metric_is(session: tuple[str, Path]) -> None:
    metrics = results(session[1])["metrics"]
    output = (
        "higher_is_better",
        "statistic",
        "prominence",
        "repeatability",
        "deviation",
    )
    assert [metrics["pace"][key] for key in output] == [
        True, "ratio", "headline", "repeated", "relative",
    ]  # fmt: skip
    assert [metrics["first_asked"][key] for key in output] == [
        None, "mean", "detail", "coarse", "relative",
    ]  # fmt: skip
    assert metrics["shortfall"]["deviation"] == "cost"
    assert metrics["pace"]["value"] == pytest.approx(50.0, rel=1e-3)
    assert metrics["spent"]["value"] == pytest.approx(0.03 * 0.02, rel=1e-2)


def test_the_report_has_its_tile_rows_budget_and_pictures(
    session: tuple[str, Path],
) -> None:
    page = (session[1] / "report.html").read_text()
    tiles, _, below = page.partition('<table class="metrics">')
    assert "pace" in tiles and "counted_right" not in tiles
    rows, _, further = below.partition("further metrics")
    for name in ("pace", "spent", "counted_right", "shortfall"):
        assert f'<th scope="row"><code>{name}</code></th>' in rows, name
    assert '<th scope="row"><code>first_asked</code></th>' in further
    assert '<section id="paces"><h2>Paces of the trials</h2>' in page
    assert "counted in a second" in page and "A bar a trial." in page
    assert "Not drawn: there is nothing." in page
    assert '<th>component</th><th class="n"><code>pace</code></th></tr>' in page


def test_its_session_is_recomputed_with_its_plan_and_its_report(
    session: tuple[str, Path], package: Package
) -> None:
    done = package.rig("check", str(session[1]), "--wide")
    assert done.returncode == 0, done.stdout
    for words in (
        "the plan of seed",
        "results.json: every number recomputed, byte for byte equal",
        "report.html: made again, byte for byte equal",
    ):
        assert words in done.stdout


def test_without_the_package_the_report_says_why_it_has_no_pictures(
    session: tuple[str, Path], tmp_path: Path
) -> None:
    copy = shutil.copytree(session[1], tmp_path / "session")
    done = rig("report", copy)
    # The page is written; only with its plug-ins could it state that the session is as
    # measured.
    assert done.returncode == 1 and "report.html" in done.stdout, (
        done.stdout + done.stderr
    )
    page = (copy / "report.html").read_text()
    assert "<h2>Pictures</h2>" in page and "Not drawn: " in page
    assert "no such kind of" in page and "Paces of the trials" not in page
    assert '<th scope="row"><code>pace</code></th>' in page
