# SPDX-License-Identifier: Apache-2.0
"""The estimate of a plan beside the session that it was made for, and the effect of a
full disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from rig.cli.main import rig
from rig.errors import StorageFull
from rig.session import estimate
from rig.session.estimate import Estimate, of_bench
from rig.session.session import SessionResult, open_bench, resume
from rig.store.events import Event, StepBegun, TrialFinished, TrialStarted
from rig.trace.trace import Trace
from rig.trace.write_room import RESERVE_B
from rig.units import bytes_text
from sut_backends.virtual.backend import VirtualSut
from tests.conftest import ROOT, VIRTUAL_NULL

BENCHES = ROOT / "benches"
#: So much of the bytes may be missing or too many.
TOLERANCE = 0.2


def trial_bytes(result: SessionResult) -> int:
    """Return the bytes of all files of the trials."""
    return sum(
        path.stat().st_size
        for path in result.folder.glob("trial-*/**/*")
        if path.is_file()
    )


def of_trials(found: Estimate) -> float:
    """Return the bytes that are expected of the trials alone."""
    return found.known_b - estimate._SESSION_B


def recorded_s(result: SessionResult) -> float:
    """Return the seconds that the traces of all trials have."""
    total_s = 0.0
    for path in result.folder.glob("trial-*"):
        total_s += Trace.open(path / "trace.jls").duration_s
    return total_s


QUICK = {
    "virtual-asc": ("task.asc.samples=10",),
    "virtual-offline": ("task.asc.samples=10", "scenario.offline.min_duration_s=8.0"),
    "virtual-tiny": ("scenario.tiny.window_s=10.0",),
    "virtual-real-time": ("scenario.real_time.duration_s=20.0",),
    "virtual-null": ("task.null.samples=15", "sut.virtual.load_s=0.2"),
}
#: Scenarios that measure first how many runs a window needs state the least time.
LEAST = ("virtual-offline", "virtual-tiny")


@pytest.mark.parametrize("name", QUICK)
def test_a_virtual_session_takes_the_time_and_the_room_that_were_estimated(
    name: str, tmp_path: Path
) -> None:
    bench = BENCHES / f"{name}.toml"
    result = of_bench(bench, QUICK[name], trials=1, root=tmp_path)
    with open_bench(bench, QUICK[name]) as opened:
        ran = opened.run(1, tmp_path)
    took_s = recorded_s(ran)
    assert result.virtual
    if name in LEAST:
        assert [row.kind for row in result.unknown] == ["query"]
        assert 0.75 * took_s < result.known_s < took_s
        assert of_trials(result) < trial_bytes(ran)
    else:
        assert result.unknown == []
        assert result.known_s == pytest.approx(took_s, rel=0.04)
        assert of_trials(result) == pytest.approx(trial_bytes(ran), rel=TOLERANCE)


def test_the_time_of_a_search_that_may_end_at_its_target_is_unknown(
    tmp_path: Path,
) -> None:
    settings = (
        "scenario.optimization.timeouts_s=[0.01, 0.1, 1.0]",
        "scenario.optimization.target_limit_s=2.0",
        "task.qubo.nodes=[100]",
    )
    bench = BENCHES / "virtual-qubo.toml"
    result = of_bench(bench, settings, trials=1, root=tmp_path)
    with open_bench(bench, settings) as opened:
        ran = opened.run(1, tmp_path)
    [searches] = result.unknown
    assert searches.kind == "solve" and searches.known_s == pytest.approx(1.11)
    assert result.known_s <= recorded_s(ran)
    assert of_trials(result) <= trial_bytes(ran)


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_session_is_not_begun_on_a_disk_without_room(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    run_virtual: Callable[..., SessionResult],
) -> None:
    settings = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
    known_b = of_bench(VIRTUAL_NULL, settings, 1, tmp_path).known_b
    needed_b = known_b + RESERVE_B

    def almost(path: Path) -> _Usage:
        return _Usage(10 * needed_b, 9 * needed_b, needed_b // 2)

    monkeypatch.setattr(shutil, "disk_usage", almost)
    with pytest.raises(StorageFull, match="has no room for this session") as refused:
        run_virtual()
    # The plan and the start say the same number.
    assert refused.value.evidence == (
        f"it needs about {bytes_text(known_b)}, and 33.6 MB to close it;"
        f" {bytes_text(needed_b // 2)} are free"
    )
    assert "fewer trials" in refused.value.try_next
    assert list(tmp_path.iterdir()) == []


class _Filling:
    """A subscriber: the disk has room at first, and for much less than the rest of the
    session from an event on.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type[Event]) -> None:
        self._kind = kind
        self.free_b = 100 * RESERVE_B
        self.begun: list[StepBegun] = []
        monkeypatch.setattr(shutil, "disk_usage", self._usage)

    def __call__(self, event: Event) -> None:
        if isinstance(event, self._kind):
            self.free_b = RESERVE_B + 1000
        if isinstance(event, StepBegun):
            self.begun.append(event)

    def _usage(self, path: Path) -> _Usage:
        return _Usage(100 * RESERVE_B, 0, self.free_b)


def test_a_session_ends_after_a_trial_whose_bytes_the_disk_has_no_room_for_once_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disk = _Filling(monkeypatch, TrialFinished)
    with open_bench(VIRTUAL_NULL, ["task.null.samples=6"], (disk,)) as bench:
        with pytest.raises(StorageFull, match="no room for the rest") as refused:
            bench.run(3, tmp_path)
        [folder] = tmp_path.iterdir()
    assert f"rig resume {folder}" in refused.value.try_next
    recorded_b = sum(path.stat().st_size for path in folder.glob("trial-1/**/*.jls"))
    needed = refused.value.evidence.partition("it needs about ")[2].partition(",")[0]
    number, unit = needed.split()
    assert unit == "MB"
    assert float(number) * 1e6 == pytest.approx(2 * recorded_b, rel=0.1)
    assert not (folder / "trial-2").exists()
    disk.free_b = 100 * RESERVE_B
    assert len(resume(folder).trials) == 3


def test_interleaved_trials_end_once_a_trial_of_steps_shows_that_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As on a device whose times no setting states.
    monkeypatch.setattr(VirtualSut, "step_s", staticmethod(lambda settings: {}))
    disk = _Filling(monkeypatch, TrialStarted)
    settings = ["task.null.samples=20", "scenario.single_stream.interleaved=true"]
    with (
        pytest.raises(StorageFull, match="no room for the rest"),
        open_bench(VIRTUAL_NULL, settings, (disk,)) as bench,
    ):
        bench.run(4, tmp_path)
    assert all(event.left_s is None for event in disk.begun)
    assert 0.2 < disk.begun[-1].share <= 0.25


def test_a_plan_says_time_and_room(tmp_path: Path) -> None:
    shown = CliRunner().invoke(
        rig, ["plan", str(VIRTUAL_NULL), "--sessions", str(tmp_path)]
    )
    assert shown.exit_code == 0
    assert "time: about 1.8" in shown.output
    assert "of virtual time a trial" in shown.output
    assert "unknown" not in shown.output
    assert "200 kHz, 1.69 MB a second" in shown.output
    assert "are free" in shown.output


def test_a_plan_on_a_real_device_says_what_is_unknown(tmp_path: Path) -> None:
    words = ["plan", str(BENCHES / "uart-asc.toml"), "--sessions", str(tmp_path)]
    shown = CliRunner().invoke(rig, words)
    assert shown.exit_code == 0
    assert "time: at least 1 s a trial, 5 s in all" in shown.output
    unknown = "unknown until the first trial: 2 SYNC bursts, 42 loads, 42 queries"
    assert unknown in shown.output
    assert "disk: at least " in shown.output


def test_where_no_step_states_a_time_all_of_it_is_unknown() -> None:
    result = of_bench(BENCHES / "uart-asc.toml")
    rows = tuple(row for row in result.rows if row.kind != "idle")
    text = replace(result, rows=rows).time_text
    assert text == "unknown until the first trial"


def test_where_a_time_is_unknown_the_disk_is_stated_as_time_of_recording(
    tmp_path: Path,
) -> None:
    result = of_bench(BENCHES / "posix-asc-ppk2.toml", root=tmp_path)
    free_b = RESERVE_B + 3600 * result.byte_hz
    text = replace(result, free_b=round(free_b)).disk_text
    assert text.endswith("are free, for 1 h 0 min of recording")
    assert replace(result, free_b=0).room is False
    assert "of recording" not in replace(result, free_b=0).disk_text


def test_a_claimed_latency_is_taken_for_that_of_each_query() -> None:
    result = of_bench(BENCHES / "uart-asc.toml", ["claim.latency_total=0.05"])
    queries = next(row for row in result.rows if row.kind == "query")
    assert queries not in result.unknown
    assert queries.known_s == pytest.approx(queries.count * 0.05)


def test_windows_that_are_counted_by_answers_take_their_least_time() -> None:
    windows, samples = (
        of_bench(BENCHES / "uart-tiny.toml", [f"scenario.tiny.mode={mode!r}"])
        for mode in ("performance", "accuracy")
    )
    queries = next(row for row in windows.unknown if row.kind == "query")
    assert queries.known_s == 5 * 10
    assert "at least 51 s a trial" in windows.time_text
    queries = next(row for row in samples.unknown if row.kind == "query")
    assert queries.known_s == 0


def test_two_rails_are_added(tmp_path: Path) -> None:
    bench = tmp_path / "two.toml"
    text = (BENCHES / "virtual-null.toml").read_text(encoding="utf-8")
    item = of_bench(BENCHES / "virtual-null.toml")
    bench.write_text(
        text.replace(
            "[monitor.virtual]\nsample_hz = 200_000",
            "[rail.a.virtual]\n[rail.b.virtual]",
        )
    )
    two = of_bench(bench)
    assert [rail.name for rail in two.rails] == ["a", "b"]
    assert sum(rail.byte_hz for rail in two.rails) == pytest.approx(
        2 * item.rails[0].byte_hz
    )
