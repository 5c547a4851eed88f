# SPDX-License-Identifier: Apache-2.0
"""Sessions of a site, recorded once: a quick device and a slow one, one with a
foreign name, and one that was cut off.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rig
from lab.faults.forger import rehash
from rig.api.site import site as making
from rig.api.site.site import MadeSite, SiteOptions, write_site
from tests.checking import check

BENCH = Path(__file__).parents[4] / "benches" / "virtual-null.toml"
HOSTILE = "<script>window.hurt = 1</script>\"'&{{ 7 * 6 }}"
_SETTINGS = ("task.null.samples=4", "scenario.single_stream.idle_s=0.05")


def record(root: Path, name: str, *overrides: str, trials: int = 2) -> Path:
    settings = [*_SETTINGS, f"bench.name={json.dumps(name)}", *overrides]
    with rig.open_bench(BENCH, settings) as bench:
        return bench.run(trials, root=root).path


def forge(session: Path) -> None:
    """Put a foreign text into all fields that a site shows, with hashes that fit."""
    for name in ("results.json", "provenance.json"):
        path = session / name
        content = json.loads(path.read_text(encoding="utf-8"))
        facts = content.get("provenance", content)
        facts["sut"]["name"] = HOSTILE
        facts["monitors"][""]["name"] = HOSTILE
        facts["task"]["statement"] = facts["task"]["source"] = HOSTILE
        if name == "results.json":
            content["bench"] = content["sut"] = content["monitor"] = HOSTILE
            content["data"]["labels"][0]["statement"] = HOSTILE
        path.write_text(json.dumps(content), encoding="utf-8")
    rehash(session)


@pytest.fixture(scope="package")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sessions")
    record(root, "quick", trials=5)
    record(root, "slow", "sut.virtual.infer.duration_s=0.08")
    forge(record(root, "forged"))
    cut = record(root, "cut")
    lines = (cut / "events.jsonl").read_text(encoding="utf-8").splitlines()
    (cut / "events.jsonl").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    (cut / "results.json").unlink()
    (cut / "report.html").unlink(missing_ok=True)
    return root


@pytest.fixture(scope="package")
def site(sessions: Path, tmp_path_factory: pytest.TempPathFactory) -> MadeSite:
    """Return a site with every sample, whose sessions were checked in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "check", check)
        options = SiteOptions(title=f"Lab {HOSTILE}", full=True)
        return write_site([sessions], tmp_path_factory.mktemp("out") / "site", options)
