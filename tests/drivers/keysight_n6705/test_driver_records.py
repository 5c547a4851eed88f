# SPDX-License-Identifier: Apache-2.0
"""Content of an N6705's records is never misread: no number, another column, a supply
that has left its voltage.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.link import ScpiLink
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.errors import BenchError, RemoteProtocolError
from rig.interfaces.context import BenchContext
from rig.simulation.world import World
from rig.trace.trace import Trace

MS = 1_000_000
PERIOD_S = 307.2e-6
QUIET = N6705SimulatorSettings(
    clock_ppm=0.0, noise_a=0.0, sync_noise_v=0.0, point_s=0.0
)
Opened = Callable[..., KeysightN6705]


@pytest.fixture
def context() -> BenchContext:
    return BenchContext()


@pytest.fixture
def opened(context: BenchContext) -> Iterator[Opened]:
    monitors: list[KeysightN6705] = []

    def start(
        faults: SimulatorFaults | None = None, voltage_gain: float = 0.0, **more: Any
    ) -> KeysightN6705:
        simulator = dataclasses.replace(
            QUIET, voltage_gain=voltage_gain, faults=faults or SimulatorFaults()
        )
        settings = KeysightN6705.Settings(
            resource="simulator", simulator=simulator, **({"timeout_s": 0.5} | more)
        )
        monitors.append(KeysightN6705.open(settings, context))
        return monitors[-1]

    yield start
    for monitor in monitors:
        monitor.close()


def draw(
    context: BenchContext, power_w: float, duration_ns: int, level: bool = True
) -> None:
    context.world.put(context.world.now_ns(), level, power_w)
    context.world.advance(duration_ns)


def gaps(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (folder / "gaps.jsonl").read_text().splitlines()
    ]


# No number, or too large a one


@pytest.mark.parametrize(
    ("of", "where"),
    [("current", ""), ("voltage", ""), ("sync", ", on the SYNC channel")],
)
@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("9.9E37", "beyond the measuring range"),
        ("-9.9E37", "beyond the measuring range"),
        ("9.91E37", "the instrument gave no number"),
        ("NaN", "the instrument gave no number"),
    ],
)
def test_what_is_beyond_the_range_and_an_input_that_is_no_number_are_gaps_with_their_own_cause(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    of: str,
    where: str,
    value: str,
    cause: str,
) -> None:
    monitor = opened(
        SimulatorFaults(
            overload_at_s=0.0307, overload_records=7, overload_of=of, overload_as=value
        )
    )  # type: ignore[arg-type]
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.033, 60 * MS)
    first = round(0.0307 / PERIOD_S)
    assert gaps(tmp_path) == [
        {"start": first, "stop": first + 7, "cause": cause + where}
    ]
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.011, 0.03) == pytest.approx(0.033, rel=1e-6)
    assert not len(trace.falls_s) and not len(trace.rises_s), (
        "a gap of the SYNC channel is no edge"
    )


# The order of the columns


@pytest.mark.parametrize(
    ("supply_v", "limit_a", "power_w"),
    [(3.3, 0.2, 0.033), (1.0, 1.0, 0.001), (1.8, 3.0, 0.0)],
)
def test_columns_in_another_order_are_refused(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    supply_v: float,
    limit_a: float,
    power_w: float,
) -> None:
    monitor = opened(
        SimulatorFaults(columns_swapped=True),
        supply_v=supply_v,
        current_limit_a=limit_a,
    )
    monitor.power(True)
    with (
        pytest.raises(RemoteProtocolError, match="voltage before current") as reported,
        monitor.record(tmp_path),
    ):
        draw(context, power_w, 100 * MS)
    assert f"{supply_v:g} V" in reported.value.evidence
    assert "firmware" in reported.value.try_next


@pytest.mark.parametrize("power_w", [1.0, 0.97, 1.03, 0.001])
def test_a_current_that_is_the_same_number_as_the_voltage_is_no_fault(
    opened: Opened, context: BenchContext, tmp_path: Path, power_w: float
) -> None:
    monitor = opened(supply_v=1.0, current_limit_a=1.5)
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, power_w, 100 * MS)
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.02, 0.09) == pytest.approx(
        power_w, rel=1e-6
    )


def test_a_limited_current_that_is_the_same_number_as_the_voltage_is_reported_as_limited(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(supply_v=1.0, current_limit_a=1.0)
    monitor.power(True)
    with (
        pytest.raises(BenchError, match="left its voltage: current limit"),
        monitor.record(tmp_path),
    ):
        draw(context, 3.0, 100 * MS)


def test_with_the_output_off_no_order_can_be_reported_and_nothing_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened()
    monitor.power(True)
    monitor.power(False)
    with monitor.record(tmp_path):
        draw(context, 0.033, 100 * MS)
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.0, 0.09) == 0.0


# A supply that does not hold


def test_a_dut_that_draws_more_than_its_limit_is_reported_with_both_currents(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(current_limit_a=0.2)
    monitor.power(True)
    with (
        pytest.raises(BenchError, match="left its voltage: current limit") as reported,
        monitor.record(tmp_path),
    ):
        draw(context, 0.033, 100 * MS)
        draw(context, 0.9, 100 * MS)
        draw(context, 0.033, 100 * MS)
    assert (
        "2.42 V and 0.2 A" in reported.value.evidence
        and "3.3 V" in reported.value.evidence
    )
    assert "current_limit_a" in reported.value.try_next
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.02, 0.1) == pytest.approx(0.033, rel=1e-6), (
        "what was measured stays"
    )
    assert trace.mean_w(0.13, 0.19) == pytest.approx(0.9 * (0.66 / 0.9) ** 2, rel=1e-6)


def test_a_dut_just_below_its_limit_is_no_fault(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(current_limit_a=0.2)
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.659, 100 * MS)
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.02, 0.09) == pytest.approx(
        0.659, rel=1e-6
    )


def rise(context: BenchContext) -> None:
    """Let the DUT reach its limit for 8 ms, as its capacitors do when it is switched
    on."""
    now_ns = context.world.now_ns()
    context.world.put(now_ns, True, 0.9)
    context.world.put(now_ns + 8 * MS, True, 0.033)


def test_an_output_that_rises_while_the_log_starts_is_no_fault(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(current_limit_a=0.2)
    monitor.power(True)
    rise(context)
    with monitor.record(tmp_path):
        context.world.advance(100 * MS)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.0, 0.007) == pytest.approx(0.9 * (0.66 / 0.9) ** 2, rel=1e-6)
    assert trace.mean_w(0.01, 0.09) == pytest.approx(0.033, rel=1e-6)


def test_a_limit_reached_before_the_recording_is_not_its_reason(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(SimulatorFaults(trip_at_s=0.15))
    monitor.power(True)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    rise(context)
    with monitor.record(tmp_path / "one"):
        context.world.advance(100 * MS)
    with (
        pytest.raises(BenchError, match="left its voltage") as reported,
        monitor.record(tmp_path / "two"),
    ):
        draw(context, 0.033, 200 * MS)
    assert reported.value.cause.endswith(": over-voltage protection")


def test_a_limit_that_lasts_from_before_the_recording_is_its_reason(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened()
    monitor.power(True)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with (
            pytest.raises(BenchError, match="left its voltage: current limit"),
            monitor.record(tmp_path / name),
        ):
            draw(context, 0.9, 100 * MS)


def test_a_voltage_that_is_off_without_a_reason_is_reported_all_the_same(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(voltage_gain=-0.1)
    monitor.power(True)
    with (
        pytest.raises(BenchError, match="left its voltage: no reason told") as reported,
        monitor.record(tmp_path),
    ):
        draw(context, 0.033, 100 * MS)
    assert "2.97 V" in reported.value.evidence


def test_a_protection_that_trips_is_named(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(SimulatorFaults(trip_at_s=0.05))
    monitor.power(True)
    with (
        pytest.raises(
            BenchError, match="left its voltage: over-voltage protection"
        ) as reported,
        monitor.record(tmp_path),
    ):
        draw(context, 0.033, 100 * MS)
    assert "0 V and 0 A" in reported.value.evidence
    assert "OUTP:PROT:CLE" in reported.value.try_next
    assert not context.world.supply_on
    assert Trace.open(tmp_path / "trace.jls").mean_w(0.02, 0.049) == pytest.approx(
        0.033, rel=1e-6
    )


# A log without a trigger


@pytest.fixture
def linked() -> Iterator[tuple[ScpiLink, World]]:
    world = World()
    simulator = Simulator(QUIET, world, 1, 2, 0)
    link = ScpiLink(simulator.resource, "@py", 2.0)
    yield link, world
    link.close()
    simulator.close()


def test_a_log_whose_trigger_is_immediate_begins_with_its_initiation(
    linked: tuple[ScpiLink, World],
) -> None:
    link, world = linked
    link.do(
        "FORM REAL;:SENS:ELOG:FUNC:CURR ON,(@1);VOLT ON,(@1);:SENS:ELOG:PER"
        " 0.0002048,(@1)",
        "log",
    )
    counts = []
    for source in ("BUS", "IMM"):
        link.do(f"TRIG:ELOG:SOUR {source},(@1);:INIT:ELOG (@1)", "start")
        world.advance(20 * 204_800)
        counts.append(len(link.block("FETC:ELOG? 100,(@1)", "fetch")) // 2)
        link.do("ABOR:ELOG (@1)", "end")
    assert counts == [0, 20]
