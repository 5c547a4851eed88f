# SPDX-License-Identifier: Apache-2.0
"""Records that an N6705 loses where no edge among them would tell: in real time and in
virtual, and hosts that are only late.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.link import ScpiLink
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from rig.errors import BenchError
from rig.interfaces.context import BenchContext
from rig.trace.trace import Trace

MS = 1_000_000
PERIOD_S = 204.8e-6
Opened = Callable[..., KeysightN6705]
WAYS = pytest.mark.parametrize("sync", ["trigger", "io_manager"])


@pytest.fixture
def context() -> BenchContext:
    return BenchContext()


@pytest.fixture
def opened(context: BenchContext) -> Iterator[Opened]:
    monitors: list[KeysightN6705] = []

    def start(
        clock_ppm: float = 15.0, faults: SimulatorFaults | None = None, **more: Any
    ) -> KeysightN6705:
        simulator = dataclasses.replace(
            N6705SimulatorSettings(clock_ppm=clock_ppm),
            faults=faults or SimulatorFaults(),
        )
        settings = KeysightN6705.Settings(
            resource="simulator", simulator=simulator, **({"timeout_s": 3.0} | more)
        )
        monitors.append(KeysightN6705.open(settings, context))
        monitors[-1].power(True)
        return monitors[-1]

    yield start
    for monitor in monitors:
        monitor.close()


def start_log(context: BenchContext) -> None:
    context.world.put(context.world.now_ns(), False, 0.033)
    context.world.wait(MS)
    context.world.put(context.world.now_ns(), True, 0.033)


def go(context: BenchContext, steps: int, step_ns: int) -> None:
    """Start the log by an edge and let time pass."""
    start_log(context)
    for _ in range(steps):
        context.world.wait(step_ns)


def follow_real_time(
    context: BenchContext,
    late_ns: int = 100 * MS,
    times: int = 1,
    end_ns: int = 1 << 62,
) -> None:
    begin_ns = time.monotonic_ns()

    def now_ns() -> int:
        return min(times * (time.monotonic_ns() - begin_ns), end_ns)

    context.world.follow(now_ns, lambda: max(now_ns() - late_ns, 0))


# Virtual time


@WAYS
@pytest.mark.parametrize(
    "clock_ppm", [-450.0, pytest.param(0.0, marks=pytest.mark.repeats), 450.0]
)
@pytest.mark.parametrize(
    ("steps", "step_ns"), [(100, 7 * MS), (100, 50 * MS), (7, 10_000 * MS), (2000, MS)]
)
def test_where_no_data_are_lost_every_record_comes_and_nothing_is_reported(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    sync: str,
    clock_ppm: float,
    steps: int,
    step_ns: int,
) -> None:
    monitor = opened(clock_ppm, sync=sync)
    with monitor.record(tmp_path):
        go(context, steps, step_ns)
    length = Trace.open(tmp_path / "trace.jls").length
    assert length == pytest.approx(
        (steps * step_ns + MS) * 1e-9 * (1 + clock_ppm * 1e-6) / PERIOD_S, abs=1.1
    )


@WAYS
@pytest.mark.parametrize(
    "clock_ppm", [-150.0, pytest.param(15.0, marks=pytest.mark.repeats), 150.0]
)
@pytest.mark.parametrize("lost", [3, 40, 150])
def test_lost_records_are_counted_and_their_place_told(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    sync: str,
    clock_ppm: float,
    lost: int,
) -> None:
    monitor = opened(
        clock_ppm,
        SimulatorFaults(lose_at_s=0.36, lose_records=lost, lose_of=(1,)),
        sync=sync,
    )
    with (
        pytest.raises(BenchError, match="overwritten records") as reported,
        monitor.record(tmp_path),
    ):
        go(context, 40, 50 * MS)
    position, count = (
        reported.value.evidence.split("behind record ")[1]
        .split(" or more")[0]
        .split(": ")
    )
    assert lost - 1 <= int(count) <= lost
    assert 0.34 / PERIOD_S < int(position) < 0.36 / PERIOD_S


@WAYS
@pytest.mark.parametrize("steps", [4, 40], ids=["short", "long"])
@pytest.mark.parametrize(("stuck", "told"), [(1, "1.50"), (2, "2.00")])
def test_logging_that_is_not_admitted_is_reported_as_such(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    sync: str,
    steps: int,
    stuck: int,
    told: str,
) -> None:
    monitor = opened(faults=SimulatorFaults(stuck=stuck, stuck_hidden=True), sync=sync)
    with (
        pytest.raises(BenchError, match=f"logs {told} s for each second"),
        monitor.record(tmp_path),
    ):
        go(context, steps, 100 * MS)


# Real time: a host that hears of records soon


@pytest.mark.paced
@WAYS
@pytest.mark.parametrize(
    ("at_s", "fetch_s"),
    [(0.4, 0.02), (0.7, 0.1)],
    ids=["in the middle", "before the last fetches"],
)
def test_lost_records_are_found_in_real_time(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    sync: str,
    at_s: float,
    fetch_s: float,
) -> None:
    monitor = opened(
        faults=SimulatorFaults(lose_at_s=at_s, lose_records=150, lose_of=(1,)),
        sync=sync,
        fetch_s=fetch_s,
    )
    follow_real_time(context)
    with (
        pytest.raises(BenchError, match="overwritten records") as reported,
        monitor.record(tmp_path),
    ):
        go(context, 1, 1_000 * MS)
    assert "records missing behind record" in reported.value.evidence


@pytest.mark.paced
def test_logging_that_is_not_admitted_is_reported_as_such_in_real_time(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(
        faults=SimulatorFaults(stuck=1, stuck_hidden=True), sync="trigger", fetch_s=0.02
    )
    follow_real_time(context)
    with (
        pytest.raises(BenchError, match=r"logs 1\.[45]\d s for each second"),
        monitor.record(tmp_path),
    ):
        go(context, 1, 1_500 * MS)


@pytest.mark.paced
def test_a_host_that_comes_to_ask_and_hear_late_has_lost_no_data(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monitor = opened(sync="trigger", fetch_s=0.1)
    ask = ScpiLink.block
    asked = [0]

    def slow(link: ScpiLink, message: str, step: str) -> Any:
        asked[0] += 1
        late_s = 0.04 if asked[0] > 10 else 0.0
        time.sleep(late_s)  # a slow host
        values = ask(link, message, step)
        time.sleep(late_s)  # a slow host
        return values

    monkeypatch.setattr(ScpiLink, "block", slow)
    follow_real_time(context)
    with monitor.record(tmp_path):
        go(context, 1, 2_800 * MS)
    assert asked[0] > 15
    assert Trace.open(tmp_path / "trace.jls").duration_s > 1.9


def test_a_host_that_computes_all_the_time_has_lost_no_data(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(sync="trigger", fetch_s=0.02)
    stop = threading.Event()
    follow_real_time(context)

    def compute() -> None:
        while not stop.is_set():
            sum(range(100_000))

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        with monitor.record(tmp_path):
            go(context, 1, 2_000 * MS)
    finally:
        stop.set()
        thread.join()
    assert Trace.open(tmp_path / "trace.jls").duration_s > 1.9


def test_an_instrument_that_holds_records_back_for_once_has_lost_no_data(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monitor = opened(sync="trigger", fetch_s=0.1)
    ask = ScpiLink.block
    asked = [0]

    def busy(link: ScpiLink, message: str, step: str) -> Any:
        asked[0] += 1
        return ask(
            link,
            message.replace(" 977,", " 1,") if asked[0] % 7 in (0, 1) else message,
            step,
        )

    monkeypatch.setattr(ScpiLink, "block", busy)
    follow_real_time(context)
    with monitor.record(tmp_path):
        go(context, 1, 2_500 * MS)
    assert asked[0] > 14
    assert Trace.open(tmp_path / "trace.jls").duration_s > 1.9


def test_fetches_that_never_catch_up_are_reported_before_the_buffer_runs_over(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    # A link slower than the records: 16 a fetch, of 100 000 a second.
    monitor = opened(sync="trigger", fetch_s=1e-3)
    follow_real_time(context, late_ns=0, times=20, end_ns=200_000 * MS)
    with (
        pytest.raises(BenchError, match="overwritten records") as reported,
        monitor.record(tmp_path),
    ):
        go(context, 1, 3_000 * MS)
    assert "s behind, the buffer holds 20 s" in reported.value.evidence
