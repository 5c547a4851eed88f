# SPDX-License-Identifier: Apache-2.0
"""Facts that one file of a session repeats of another are derived again: an edit that
contradicts a primary record is refused, even if all derived files were made again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lab.faults import forgeries
from lab.faults.forger_of_records import CONTRADICTIONS, Contradiction
from rig.check.check import check
from rig.session.session import open_bench
from tests import checking
from tests.builds import built
from tests.commands import rig
from tests.conftest import ROOT

pytestmark = [pytest.mark.computes, pytest.mark.posix]
MEMORY = forgeries.Memory(checking.fingerprints)
BENCHES = ROOT / "benches"
SETTINGS: dict[str, tuple[str, list[str]]] = {
    "virtual": (
        "virtual-null.toml",
        [
            "task.null.samples=4",
            "scenario.single_stream.idle_s=0.1",
            "sut.virtual.tick_hz=1000000",
        ],
    ),
    "posix": (
        "posix-null.toml",
        [
            "task.null.samples=4",
            "scenario.single_stream.idle_s=0.1",
            "scenario.single_stream.repeat=100",
            "sut.posix.tick_hz=1000000",
            "monitor.virtual.sample_hz=50000",
        ],
    ),
    "asc": (
        "virtual-offline.toml",
        ["scenario.offline.min_duration_s=0.2", "task.asc.samples=12"],
    ),
    "tiny": ("virtual-tiny.toml", ["monitor.virtual.sample_hz=20000"]),
    "qubo": (
        "virtual-qubo.toml",
        [
            "scenario.optimization.timeouts_s=[0.001,0.01]",
            "scenario.optimization.target_limit_s=0.1",
            "task.qubo.nodes=[50]",
        ],
    ),
}


@pytest.fixture(scope="module")
def session() -> Iterator[Callable[[str], Path]]:
    """Return what measures a small session of a kind, once."""
    with TemporaryDirectory() as root:

        @cache
        def measured(kind: str) -> Path:
            name, settings = SETTINGS[kind]
            if kind == "posix":
                built("posix")
            with open_bench(BENCHES / name, settings) as bench:
                folder = bench.run(2, Path(root) / kind).folder
            if kind == "qubo":
                assert rig("qubo", "rescore", folder).returncode == 0
            return folder

        yield measured


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_session_without_edits_is_accepted(
    session: Callable[[str], Path], kind: str
) -> None:
    checked = check(session(kind), MEMORY.read)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    logs = [each.detail for each in checked.findings if each.name.endswith("uart.log")]
    assert any("decoded again" in detail for detail in logs) == (kind == "posix")


@pytest.mark.parametrize(
    "edit", CONTRADICTIONS, ids=lambda one: f"{one.session}: {one.name}"
)
def test_an_edit_that_contradicts_a_primary_record_is_refused(
    session: Callable[[str], Path], tmp_path: Path, edit: Contradiction
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(session(edit.session), folder)
    edit.apply(folder)
    bad = [each for each in check(folder, MEMORY.read).findings if not each.ok]
    assert edit.blamed in {each.name for each in bad}, bad
