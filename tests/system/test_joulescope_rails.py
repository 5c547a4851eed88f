# SPDX-License-Identifier: Apache-2.0
"""Two Joulescopes as rails: the log that tells of a JS110's losses is one for all and
names none, so it may be of either.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from drivers.joulescope.recording import JoulescopeRecording
from rig.bench import parts
from rig.errors import BenchError
from rig.interfaces.context import BenchContext
from rig.session.session import open_bench, resume
from rig.trace.trace import Trace
from tests.checking import check
from tests.waiting import own_threads

BENCH = """
[bench]
name = "rails"
[sut.virtual]
load_s = 0.6
[rail.core.joulescope]
device = "simulator"
[rail.core.joulescope.simulator]
model = "{other}"
share = 0.7
[rail.io.joulescope]
device = "simulator"
[rail.io.joulescope.simulator]
model = "js110"
serials = ["000416"]
share = 0.3
[scenario.single_stream]
idle_s = 0.2
warmup = 0
[task.null]
samples = 3
"""
#: While the third sample is loaded: after two measured ones. In virtual time the second
#: rail follows the first.
LOSS = [
    "rail.io.joulescope.simulator.faults.drop_at_tick=3900000",
    "rail.io.joulescope.simulator.faults.drop_ticks=10000",
]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[BenchContext]:
    """Return the tables of the sessions, in order."""
    made: list[BenchContext] = []

    def context(**settings: Any) -> BenchContext:
        made.append(BenchContext(**settings))
        return made[-1]

    monkeypatch.setattr(parts, "BenchContext", context)
    return made


def run(tmp_path: Path, other: str, *faults: str) -> dict[str, Any]:
    (tmp_path / "bench.toml").write_text(BENCH.format(other=other))
    with open_bench(tmp_path / "bench.toml", faults) as bench:
        return bench.run(1, tmp_path / "sessions").content


@pytest.mark.parametrize("other", ["js110", "js220"])
def test_two_joulescopes_without_a_loss_have_no_problem(
    tmp_path: Path, other: str
) -> None:
    assert run(tmp_path, other)["problems"] == []


def test_a_loss_of_a_js110_beside_a_js220_is_a_gap_of_its_own_and_no_problem_outside_windows(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, "js220", *LOSS)["problems"] == []
    [folder] = (tmp_path / "sessions").iterdir()
    assert [
        len(Trace.open(folder / "trial-1" / rail / "trace.jls").gaps)
        for rail in ("core", "io")
    ] == [0, 2]


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the merger of the streams lag the bench."""
    take = JoulescopeRecording._take

    def slowly(self: JoulescopeRecording, topic: str, value: Any, at_ns: int) -> None:
        threading.Event().wait(0.01)
        take(self, topic, value, at_ns)

    monkeypatch.setattr(JoulescopeRecording, "_take", slowly)


@pytest.mark.usefixtures("busy")
def test_a_loss_of_one_of_two_js110_is_one_error_and_the_session_goes_on_where_it_stopped(
    tmp_path: Path, tables: list[BenchContext]
) -> None:
    before = own_threads()
    with pytest.raises(BenchError, match="one of several JS110 lost samples") as caught:
        run(tmp_path, "js110", *LOSS)
    assert (
        "pkt_index skip: expected" in caught.value.evidence
        and "rig resume" in caught.value.try_next
    )
    assert not getattr(caught.value, "__notes__", ()), "one fault, one error"
    assert not tables[0].world.supply_on and own_threads() == before
    [folder] = (tmp_path / "sessions").iterdir()
    last = json.loads((folder / "events.jsonl").read_text().splitlines()[-1])
    assert (last["status"], last["reason"]) == ("fail", str(caught.value))
    [cut_off] = [finding for finding in check(folder).findings if not finding.ok]
    assert "2 samples measured" in cut_off.detail
    # The fault is in the bench file, but the remaining work ends before it.
    resumed = resume(folder)
    assert resumed.content["problems"] == [] and resumed.content["samples"][
        "per_trial"
    ] == [3]
    assert check(folder).ok and not tables[1].world.supply_on
