# SPDX-License-Identifier: Apache-2.0
"""Records that an N6705 loses, or stretches, where SYNC is not logged as a voltage:
whole sessions never take them for a measurement.

The device is the virtual one: the log begins with its first mark, and 0.4 s later it is
busy with the first sample.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rig.errors import BenchError
from rig.session.session import open_bench
from rig.trace.trace import Trace
from tests.checking import check

BENCH = """
[bench]
name = "lost"
[sut.virtual]
load_s = 0.1
sync_hold_us = 800
sync_period_us = 10_000
[monitor.keysight_n6705]
resource = "simulator"
sync = "{sync}"
io_manager.ppm = 100.0
[scenario.single_stream]
idle_s = {idle_s}
warmup = 0
[task.null]
samples = 3
"""
PERIOD_S = 204.8e-6
FAULTS = "monitor.keysight_n6705.simulator.faults"
WAYS = pytest.mark.parametrize("sync", ["trigger", "io_manager"])


def bench_file(folder: Path, sync: str, idle_s: float = 0.2) -> Path:
    path = folder / "bench.toml"
    path.write_text(BENCH.format(sync=sync, idle_s=idle_s))
    return path


@WAYS
@pytest.mark.parametrize(
    ("idle_s", "clock_ppm"),
    [
        (2.0, -100.0),
        (2.0, 100.0),
        (0.05, 100.0),
        # Between these, a clock has moved by less than the one and more than the other.
        *(
            pytest.param(*row, marks=pytest.mark.repeats)
            for row in ((0.2, -100.0), (0.2, 100.0))
        ),
        pytest.param(0.05, -100.0, marks=pytest.mark.repeats),
    ],
)
def test_a_session_that_loses_no_data_has_no_problem(
    tmp_path: Path, sync: str, idle_s: float, clock_ppm: float
) -> None:
    with open_bench(
        bench_file(tmp_path, sync, idle_s),
        [f"monitor.keysight_n6705.simulator.clock_ppm={clock_ppm}"],
    ) as bench:
        result = bench.run(2, tmp_path / "sessions", [])
    assert result.content["problems"] == []
    assert not Trace.open(
        next((tmp_path / "sessions").glob("*/trial-1/trace.jls"))
    ).gaps


def ended(folder: Path, sync: str, faults: list[str]) -> BenchError:
    """Run a trial that an error ends; the session's files say so, and has no result."""
    with (
        pytest.raises(BenchError) as reported,
        open_bench(
            bench_file(folder, sync), [f"{FAULTS}.{fault}" for fault in faults]
        ) as bench,
    ):
        bench.run(1, folder / "sessions", [])
    [session] = (folder / "sessions").iterdir()
    last = json.loads((session / "events.jsonl").read_text().splitlines()[-1])
    assert (last["status"], last["reason"]) == ("fail", str(reported.value))
    assert not check(session).ok and not (session / "results.json").exists()
    assert not list(folder.rglob("*.partial"))
    assert Trace.open(session / "trial-1" / "trace.jls").length > 0.3 / PERIOD_S, (
        "what was recorded stays"
    )
    return reported.value


@WAYS
@pytest.mark.parametrize("lost", [3, 40, 150])
def test_lost_records_end_the_session_and_are_named(
    tmp_path: Path, sync: str, lost: int
) -> None:
    error = ended(
        tmp_path, sync, ["lose_at_s=0.4", f"lose_records={lost}", "lose_of=[1]"]
    )
    assert "overwritten records" in error.cause
    position, count = (
        error.evidence.removeprefix("records missing behind record ")
        .split(" or more")[0]
        .split(": ")
    )
    # Up to two are hidden by when in a record the instrument was asked
    # (docs/how-to/MONITORS.md).
    assert lost - 2 <= int(count) <= lost and int(count) >= 1
    assert int(position) >= 0.3 / PERIOD_S
    if lost > 1:
        assert int(position) <= 0.4 / PERIOD_S
    assert error.try_next


@WAYS
@pytest.mark.parametrize(("stuck", "told"), [(1, "1.50"), (2, "2.00")])
def test_a_log_that_is_stretched_in_secret_ends_the_session_and_is_named(
    tmp_path: Path, sync: str, stuck: int, told: str
) -> None:
    error = ended(tmp_path, sync, [f"stuck={stuck}", "stuck_hidden=true"])
    assert f"logs {told} s for each second its period says" in error.cause
    assert "another channel or function is being logged too" in error.try_next
