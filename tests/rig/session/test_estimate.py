# SPDX-License-Identifier: Apache-2.0
"""The estimate of a plan beside the session that it was made for, and the effect of a
full disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from rig.cli.main import rig
from rig.errors import StorageFull
from rig.session import estimate
from rig.session.estimate import Estimate, of_bench
from rig.session.session import SessionResult, open_bench
from rig.trace.trace import Trace
from rig.trace.write_room import RESERVE_B
from rig.units import bytes_text
from tests.builds import built
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
    "virtual-offline": ("task.asc.samples=10", "scenario.offline.min_duration_s=2.0"),
    "virtual-tiny": ("scenario.tiny.window_s=10.0",),
    "virtual-real-time": ("scenario.real_time.duration_s=20.0",),
    "virtual-null": (
        "task.null.samples=15",
        "sut.virtual.load_s=0.2",
        "bench.between_windows=reduced",
    ),
}


@pytest.mark.parametrize("name", QUICK)
def test_a_virtual_session_takes_the_time_and_the_room_that_were_estimated(
    name: str, tmp_path: Path
) -> None:
    bench = BENCHES / f"{name}.toml"
    results = of_bench(bench, QUICK[name], trials=1, root=tmp_path)
    with open_bench(bench, QUICK[name]) as opened:
        result = opened.run(1, tmp_path)
    took_s = recorded_s(result)
    assert results.virtual
    assert results.unknown == ()
    assert results.trial.expected_s == pytest.approx(took_s, rel=0.03)
    assert 0.9 * results.trial.known_s <= took_s <= results.trial.most_s
    assert of_trials(results) == pytest.approx(trial_bytes(result), rel=TOLERANCE)


def test_a_search_that_may_end_at_its_target_has_a_limit_and_no_expectation(
    tmp_path: Path,
) -> None:
    settings = (
        "scenario.optimization.timeouts_s=[0.01, 0.1, 1.0]",
        "scenario.optimization.target_limit_s=2.0",
        "task.qubo.nodes=[100]",
    )
    bench = BENCHES / "virtual-qubo.toml"
    results = of_bench(bench, settings, trials=1, root=tmp_path)
    with open_bench(bench, settings) as opened:
        result = opened.run(1, tmp_path)
    assert [row.group for row in results.unknown] == ["search 2 s or until the target"]
    assert results.trial.expected_s is None
    assert results.trial.known_s <= recorded_s(result) <= results.trial.most_s
    assert (
        results.known_b <= trial_bytes(result) + estimate._SESSION_B <= results.most_b
    )


@pytest.mark.posix
@pytest.mark.paced  # bytes follow from how long it took
def test_a_posix_session_takes_the_room_that_was_estimated_with_the_latency_that_it_has(
    tmp_path: Path,
) -> None:
    bench = BENCHES / "posix-asc.toml"
    built("posix")
    settings = ["task.asc.samples=10"]
    without = of_bench(bench, settings, trials=1, root=tmp_path)
    assert {row.kind for row in without.unknown} == {"query"}
    with open_bench(bench, settings) as opened:
        result = opened.run(1, tmp_path)
    latency_s = result.metrics["latency_total"].value
    results = of_bench(
        bench, [*settings, f"claim.latency_total={latency_s!r}"], 1, tmp_path
    )
    assert of_trials(results) == pytest.approx(trial_bytes(result), rel=TOLERANCE)
    assert without.known_b <= results.known_b <= results.most_b


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
    assert f"it needs about {bytes_text(known_b)}, " in refused.value.evidence
    assert "fewer trials" in refused.value.try_next
    assert list(tmp_path.iterdir()) == []


def test_a_plan_says_time_and_room(tmp_path: Path) -> None:
    shown = CliRunner().invoke(
        rig, ["plan", str(VIRTUAL_NULL), "--sessions", str(tmp_path)]
    )
    assert shown.exit_code == 0
    assert "time: about 1.8" in shown.output
    assert "of virtual time a trial" in shown.output
    assert "200 kHz, 1.69 MB a second" in shown.output
    assert "are free" in shown.output


def test_a_plan_on_a_real_device_says_what_is_only_a_limit(tmp_path: Path) -> None:
    shown = CliRunner().invoke(rig, ["plan", str(BENCHES / "uart-asc.toml")])
    assert shown.exit_code == 0
    assert "time: at least" in shown.output
    assert "only a limit is known of 40 x query: 20 s each" in shown.output


def test_loads_take_the_time_of_their_bytes_on_the_line() -> None:
    slow, fast = (
        of_bench(BENCHES / "uart-asc.toml", [f"sut.uart.baud={baud}"])
        for baud in (115_200, 1_152_000)
    )
    times = []
    for each in (slow, fast):
        loads = (row.each.expected_s for row in each.rows if row.group == "load")
        times.append(next(loads))
    payload_b = 16_000  # one second of sound, two bytes a sample
    assert times[0] == pytest.approx(payload_b * 10 / 115_200, rel=0.1)
    assert times[1] == pytest.approx(payload_b * 10 / 1_152_000, rel=0.1)


def test_a_claimed_latency_is_expected() -> None:
    result = of_bench(BENCHES / "uart-asc.toml", ["claim.latency_total=0.05"])
    queries = next(row for row in result.rows if row.group == "query")
    assert result.unknown == ()
    assert queries.each.expected_s == pytest.approx(0.05, abs=0.05)
    assert queries.each.most_s == 20.0


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
