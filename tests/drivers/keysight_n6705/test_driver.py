# SPDX-License-Identifier: Apache-2.0
"""The Keysight N6705 driver against its simulator, over the real protocol: its
measurements, and every fault one at a time.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.keysight_n6705.driver import KeysightN6705
from drivers.keysight_n6705.io_manager import IoManagerSettings
from drivers.keysight_n6705.link import CommandRefused
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings, SimulatorFaults
from drivers.keysight_n6705.sim.simulator import Simulator
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.settings.check import checked
from rig.simulation.world import World
from rig.timebase.align import align
from rig.trace.trace import Trace
from rig.uncertainty.window_effects import energy_u_j

MS = 1_000_000
PERIOD_S = 307.2e-6
POINT_S = 20.48e-6
THREE = ("N6781A", "N6781A", "N6731B")
QUIET = N6705SimulatorSettings(
    clock_ppm=0.0, noise_a=0.0, sync_noise_v=0.0, point_s=0.0
)


@pytest.fixture
def context() -> BenchContext:
    return BenchContext()


class Opened:
    """Opens monitors and closes them, even if the test fails."""

    def __init__(self, context: BenchContext) -> None:
        self._context = context
        self._monitors = []  # type: ignore[var-annotated]

    def __call__(
        self,
        simulator: N6705SimulatorSettings = QUIET,
        faults: SimulatorFaults | None = None,
        **more: Any,
    ) -> KeysightN6705:
        if faults is not None:
            simulator = dataclasses.replace(simulator, faults=faults)
        settings = KeysightN6705.Settings(
            resource="simulator", simulator=simulator, **({"timeout_s": 0.5} | more)
        )
        self._monitors.append(KeysightN6705.open(settings, self._context))
        return self._monitors[-1]

    def close(self) -> None:
        for monitor in self._monitors:
            monitor.close()


@pytest.fixture
def opened(context: BenchContext) -> Iterator[Opened]:
    opener = Opened(context)
    yield opener
    opener.close()


def draw(
    context: BenchContext, power_w: float, duration_ns: int, level: bool = True
) -> None:
    context.world.put(context.world.now_ns(), level, power_w)
    context.world.advance(duration_ns)


def pulses(
    context: BenchContext,
    intervals_ns: list[int],
    hold_ns: int = MS,
    low_w: float = 0.02,
    high_w: float = 0.02,
) -> list[int]:
    """Give a falling edge after each interval; returns their true times."""
    falls = []
    for interval_ns in intervals_ns:
        draw(context, high_w, interval_ns - hold_ns)
        falls.append(context.world.now_ns())
        draw(context, low_w, hold_ns, level=False)
    draw(context, high_w, 20 * MS)
    return falls


def gaps(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (folder / "gaps.jsonl").read_text().splitlines()
    ]


# Measurements


def test_current_and_voltage_have_the_errors_of_the_instrument_and_no_others(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, gain=0.01, offset_a=1e-4, voltage_gain=-0.002)
    )
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.033, 500 * MS)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.1, 0.4) == pytest.approx(
        (0.01 * 1.01 + 1e-4) * 3.3 * 0.998, rel=1e-6
    )
    assert trace.gaps == ()


def test_the_period_is_the_shortest_for_three_parameters_and_every_record_arrives(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(dataclasses.replace(QUIET, clock_ppm=200.0))
    assert 1 / monitor.info.sample_hz == pytest.approx(PERIOD_S, rel=1e-9)
    with monitor.record(tmp_path):
        draw(context, 0.033, 90_000 * MS)
    assert Trace.open(tmp_path / "trace.jls").length == int(
        90.01 * (1 + 200e-6) / PERIOD_S
    )


def test_a_period_is_rounded_by_the_instrument_and_the_one_read_back_is_used(
    opened: Opened,
) -> None:
    assert 1 / opened(period_s=1e-3).info.sample_hz == pytest.approx(
        49 * POINT_S, rel=1e-9
    )


def test_a_fixed_range_has_its_own_limits_and_overloads_above_it(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(current_range="0.1")
    assert [row.up_to for row in monitor.info.accuracy.current] == [0.1]
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.033, 20 * MS)
        draw(context, 0.66, 20 * MS)
        draw(context, 0.033, 20 * MS)
    noted = gaps(tmp_path)
    assert {gap["cause"] for gap in noted} == {"beyond the measuring range"}
    assert noted[0]["start"] * PERIOD_S == pytest.approx(0.03, abs=PERIOD_S)
    assert noted[-1]["stop"] * PERIOD_S == pytest.approx(0.05, abs=PERIOD_S)


def test_the_same_seed_gives_the_same_samples(tmp_path: Path) -> None:
    powers = []
    for name in ("one", "two"):
        context = BenchContext(seed=3)
        monitor = KeysightN6705.open(
            KeysightN6705.Settings(resource="simulator"), context
        )
        monitor.power(True)
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            draw(context, 0.033, 3_000 * MS)
        monitor.close()
        powers.append(Trace.open(tmp_path / name / "trace.jls").power_w(0.0, 3.0)[1])
    assert len(powers[0]) > 9_000
    assert np.array_equal(*powers)


def test_the_same_seed_gives_the_same_edges_however_the_records_are_fetched(
    tmp_path: Path,
) -> None:
    falls = []
    for name, fetch_s in (("seldom", 0.5), ("often", 0.001)):
        context = BenchContext(seed=3)
        monitor = KeysightN6705.open(
            KeysightN6705.Settings(resource="simulator", fetch_s=fetch_s), context
        )
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            for _ in range(20):
                pulses(context, [30 * MS])
                time.sleep(0.005)  # so that records are fetched in between
        monitor.close()
        falls.append(Trace.open(tmp_path / name / "trace.jls").falls_s)
    assert len(falls[0]) == 20
    assert np.array_equal(*falls)


@pytest.mark.parametrize(
    ("point_s", "limit_s"),
    [(0.0, 2e-6), (POINT_S, 0.75 * POINT_S)],
    ids=["exact means", "means of points"],
)
def test_an_edge_is_found_within_its_record(
    opened: Opened,
    context: BenchContext,
    tmp_path: Path,
    point_s: float,
    limit_s: float,
) -> None:
    monitor = opened(
        dataclasses.replace(N6705SimulatorSettings(clock_ppm=0.0), point_s=point_s)
    )
    assert monitor.info.edge_hz == pytest.approx(1 / POINT_S)
    hold_ns = round(monitor.info.min_pulse_s * 1e9)
    with monitor.record(tmp_path):
        begin_ns = context.world.now_ns() - 10 * MS
        random = np.random.default_rng(5)
        falls_ns = pulses(
            context,
            [int(gap) for gap in random.uniform(2 * hold_ns, 9 * MS, 400)],
            hold_ns,
        )
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == len(trace.rises_s) == 400
    errors_s = trace.falls_s - (np.array(falls_ns) - begin_ns) * 1e-9
    rise_errors_s = trace.rises_s - (np.array(falls_ns) + hold_ns - begin_ns) * 1e-9
    text = (
        f"mean {np.mean(errors_s) * 1e6:.2f} us, std {np.std(errors_s) * 1e6:.2f} us,"
        f" max {np.max(np.abs(errors_s)) * 1e6:.2f} us"
    )
    print(
        f"edge error over 400 phases, points of {point_s * 1e6:.2f} us: {text}; a"
        f" record: {PERIOD_S / 12**0.5 * 1e6:.1f} us"
    )
    assert np.max(np.abs(errors_s)) < limit_s
    assert np.max(np.abs(rise_errors_s)) < limit_s
    assert abs(np.mean(errors_s)) < 1e-6


def test_the_energy_of_known_windows_lies_within_the_stated_uncertainty(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(
        N6705SimulatorSettings(gain=1e-4, offset_a=3e-6, voltage_gain=-1e-4)
    )
    monitor.power(True)
    random = np.random.default_rng(6)
    spans = []
    with monitor.record(tmp_path):
        begin_ns = context.world.now_ns() - 10 * MS
        for _ in range(100):
            draw(context, 0.01, int(random.uniform(8 * MS, 9 * MS)))
            start_ns = context.world.now_ns()
            draw(context, 0.05, MS, level=False)
            draw(context, 0.05, int(random.uniform(8 * MS, 60 * MS)))
            spans.append((start_ns, context.world.now_ns()))
            draw(context, 0.01, MS, level=False)
    trace = Trace.open(tmp_path / "trace.jls")
    info = monitor.info
    falls_s = trace.falls_s.reshape(-1, 2)
    limits_a = [row.up_to for row in info.accuracy.current]
    integrals = trace.integrals(
        [(float(a), float(b)) for a, b in falls_s], limits_a, steps_at_ends=True
    )
    truths_j = [context.world.true_energy_j(*span) for span in spans]
    score = [
        (integral.energy_j - truth_j)
        / energy_u_j(integral, info.accuracy, info.sample_hz, info.edge_hz)
        for integral, truth_j in zip(integrals, truths_j, strict=True)
    ]
    worst = np.max(np.abs(score))
    print(
        f"energy error in standard uncertainties: mean {np.mean(score):.2f}, std "
        f"{np.std(score):.2f}, largest {worst:.2f}"
    )
    assert abs(spans[0][0] - begin_ns - falls_s[0, 0] * 1e9) < 20_480
    assert worst < 2.0


# The time stretch that published N6705 traces have


@pytest.mark.parametrize(("stuck", "stretch"), [(1, 4 / 3), (3, 2.0)])
def test_logging_that_is_not_admitted_stretches_time_and_the_edges_tell(
    opened: Opened, context: BenchContext, tmp_path: Path, stuck: int, stretch: float
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, modules=THREE),
        SimulatorFaults(stuck=stuck, stuck_hidden=True),
    )
    with monitor.record(tmp_path):
        falls_ns = pulses(context, [100 * MS] * 10, hold_ns=5 * MS)
    trace = Trace.open(tmp_path / "trace.jls")
    alignment = align(
        [fall // 1000 for fall in falls_ns], 1_000_000, trace.falls_s, trace.edge_hz
    )
    assert [problem.code for problem in alignment.problems] == ["clock"]
    assert f"{1 / stretch:.4f} times" in alignment.problems[0].detail


@pytest.mark.parametrize(("stuck", "told"), [(1, "1.33"), (3, "2.00")])
def test_logging_that_is_not_admitted_is_found_by_counting_records(
    opened: Opened, context: BenchContext, tmp_path: Path, stuck: int, told: str
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, modules=THREE),
        SimulatorFaults(stuck=stuck, stuck_hidden=True),
    )
    with (
        pytest.raises(BenchError, match=f"{told} s for each second"),
        monitor.record(tmp_path),
    ):
        draw(context, 0.02, 15_000 * MS)
    assert (tmp_path / "trace.jls").exists()


def test_logging_that_cannot_be_switched_off_is_refused(opened: Opened) -> None:
    with pytest.raises(BenchError, match="channel 3 goes on logging"):
        opened(dataclasses.replace(QUIET, modules=THREE), SimulatorFaults(stuck=1))


def test_logging_that_was_left_on_is_switched_off(context: BenchContext) -> None:
    simulator = Simulator(
        dataclasses.replace(QUIET, modules=THREE), context.world, 1, 2, 0
    )
    try:
        with Client(simulator) as client:
            client.send(
                "SENS:ELOG:FUNC:VOLT ON,(@3);:SENS:ELOG:FUNC:CURR:MINM ON,(@2);:FORM"
                " REAL"
            )
        monitor = KeysightN6705.open(
            KeysightN6705.Settings(resource=simulator.resource), context
        )
        assert 1 / monitor.info.sample_hz == pytest.approx(PERIOD_S)
        monitor.close()
        with Client(simulator) as client:
            assert client.ask("SENS:ELOG:FUNC:VOLT? (@1:3)") == "1,1,0"
            assert client.ask("SENS:ELOG:FUNC:CURR:MINM? (@1:3)") == "0,0,0"
    finally:
        simulator.close()


# Faults found on opening

#: The settings without which a step is none of the set-up.
STEPS_OF: dict[str, dict[str, Any]] = {
    "SENS:ELOG:CURR:RANG": {"current_range": "0.1"},
    **{
        f"DIG:PIN3:{what}": {"sync": "trigger", "trigger": "PIN3"}
        for what in ("FUNC", "POL")
    },
}


@pytest.mark.parametrize(
    ("header", "step"),
    [
        ("EMUL", "two-quadrant supply"),
        ("FUNC", "voltage priority"),
        ("VOLT:RANG", "voltage of the supply"),
        ("VOLT", "voltage of the supply"),
        ("CURR:LIM", "current limit of the supply"),
        ("FORM", "format of the numbers"),
        ("FORM:BORD", "order of the bytes"),
        ("SENS:SWE:TINT:RES", "resolution of the converter"),
        ("SENS:FUNC:VOLT:INP", "input for SYNC"),
        ("SENS:ELOG:FUNC:CURR", "data log of channel 1 off"),
        ("SENS:ELOG:FUNC:VOLT:MINM", "data log of channel 1 off"),
        ("SENS:ELOG:VOLT:RANG", "measuring range of voltage"),
        ("SENS:ELOG:CURR:RANG:AUTO", "seamless ranges of current"),
        ("SENS:ELOG:CURR:RANG", "measuring range of current"),
        ("SENS:ELOG:PER", "period of the data log"),
        ("SENS:ELOG:PER?", "period of the data log"),
        ("TRIG:ELOG:SOUR", "trigger of the data log"),
        ("SYST:CHAN?", "number of channels"),
        ("SYST:CHAN:MOD?", "models of the modules"),
        ("OUTP?", "state of the outputs"),
        ("DIG:PIN3:FUNC", "trigger input"),
        ("DIG:PIN3:POL", "polarity of the trigger input"),
    ],
)
@pytest.mark.parametrize(
    "error", ['-222,"Data out of range"', '-113,"Undefined header"']
)
def test_a_step_that_the_instrument_refuses_is_named(
    opened: Opened, header: str, step: str, error: str
) -> None:
    with pytest.raises(CommandRefused, match=f"refused: {step}") as reported:
        opened(
            faults=SimulatorFaults(refuse=header, refuse_error=error),
            timeout_s=1.0,
            **STEPS_OF.get(header, {}),
        )
    assert reported.value.code == int(error[:4])
    assert error[6:-1] in reported.value.evidence


def test_a_mainframe_without_data_logger_says_so(opened: Opened) -> None:
    with pytest.raises(DeviceNotFound, match="no data logger"):
        opened(faults=SimulatorFaults(option="055"))


def test_a_missing_option_points_to_the_mainframe(opened: Opened) -> None:
    with pytest.raises(CommandRefused) as reported:
        opened(
            faults=SimulatorFaults(
                refuse="SENS:ELOG:FUNC:CURR:MINM",
                refuse_error='+302,"Option not installed"',
            ),
            timeout_s=0.2,
        )
    assert "option 055" in reported.value.try_next


def test_a_foreign_module_without_minimum_and_maximum_is_reported_and_no_fault(
    opened: Opened,
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, modules=THREE),
        SimulatorFaults(no_minmax=True),
        timeout_s=0.2,
    )
    refused = monitor.info.details["refused"]
    assert len(refused) == 2
    assert all(
        "channel 3" in item and "310 The command is not supported" in item
        for item in refused
    )


@pytest.mark.parametrize(
    ("query", "answer", "told"),
    [
        ("VOLT?", "3.2", "another voltage of the supply"),
        ("CURR:LIM?", "0.1", "another current limit"),
        ("SENS:ELOG:PER?", "4.096E-04,4.096E-04", "another period"),
        ("SENS:ELOG:PER?", "3.072E-04,4.096E-04", "another period"),
    ],
)
def test_a_value_that_reads_back_differently_is_refused(
    opened: Opened, query: str, answer: str, told: str
) -> None:
    with pytest.raises(BenchError, match=told):
        opened(faults=SimulatorFaults(read_back_of=query, read_back=answer))


def test_an_answer_that_is_no_number_is_refused(opened: Opened) -> None:
    with pytest.raises(RemoteProtocolError, match="no number"):
        opened(faults=SimulatorFaults(read_back_of="VOLT?", read_back="hello"))


def test_another_instrument_is_refused(opened: Opened) -> None:
    with pytest.raises(DeviceNotFound, match="is no N6705"):
        opened(faults=SimulatorFaults(idn="Keysight Technologies,N6700C,MY0,1.0"))


@pytest.mark.parametrize(
    ("modules", "kind", "told"),
    [
        (
            ("N6731B", "N6781A"),
            ConfigError,
            "N6731B at channel 1 cannot log voltage and current at once",
        ),
        (
            ("N6781A", "N6731B"),
            ConfigError,
            "N6731B at channel 2 cannot see the SYNC line",
        ),
        (
            ("N6781A", "N6782A"),
            ConfigError,
            "N6782A at channel 2 cannot see the SYNC line",
        ),
        (("N6781A",), DeviceNotFound, "no module at channel 2"),
    ],
)
def test_a_module_that_cannot_do_it_is_refused(
    opened: Opened, modules: tuple[str, ...], kind: type[RigError], told: str
) -> None:
    with pytest.raises(kind, match=told):
        opened(dataclasses.replace(QUIET, modules=modules))


def test_a_module_without_auxiliary_input_sees_sync_as_a_voltmeter(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    settings = dataclasses.replace(QUIET, modules=("N6781A", "N6781A"))
    monitor = opened(settings, sync_input="main")
    with monitor.record(tmp_path):
        pulses(context, [10 * MS] * 3)
    assert len(Trace.open(tmp_path / "trace.jls").falls_s) == 3


@pytest.mark.parametrize(
    "setting",
    [
        {"supply_v": 21.0},
        {"supply_v": 12.0, "current_limit_a": 2.0},
        {"supply_v": 0.0},
        {"current_range": "5"},
        {"current_range": "most"},
        {"sync_channel": 1},
        {"channel": 5},
        {"trigger": "PIN8"},
        {"period_s": 1e-5},
        {"fetch_s": 1.0},
        {"start_s": 0.0},
        {"visa_library": "@nothing", "resource": "TCPIP::127.0.0.1::1::SOCKET"},
        {"resource": "nonsense"},
    ],
    ids=lambda setting: " ".join(f"{name}={value}" for name, value in setting.items()),
)
def test_a_setting_out_of_its_limits_is_a_configuration_error(
    context: BenchContext, setting: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=r"monitor\.keysight_n6705"):
        settings = KeysightN6705.Settings(**({"resource": "simulator"} | setting))
        KeysightN6705.open(checked(settings, "monitor.keysight_n6705"), context)


def test_no_instrument_at_the_address_is_reported(context: BenchContext) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(DeviceNotFound, match="no instrument"):
        KeysightN6705.open(
            KeysightN6705.Settings(
                resource=f"TCPIP::127.0.0.1::{port}::SOCKET", timeout_s=0.2
            ),
            context,
        )


def test_our_outputs_found_on_are_switched_off_and_others_are_left_and_reported(
    opened: Opened, context: BenchContext
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, modules=THREE), SimulatorFaults(output_on=(1, 3))
    )
    assert monitor.info.details["outputs_found_on_and_switched_off"] == [1]
    assert monitor.info.details["outputs_left_on"] == [3]
    assert not context.world.supply_on


def test_a_supply_that_does_not_go_on_is_reported(opened: Opened) -> None:
    monitor = opened(faults=SimulatorFaults(output_stays_off=True))
    with pytest.raises(BenchError, match="output 1 does not go on"):
        monitor.power(True)


# Faults while recording


def test_a_value_beyond_the_range_is_a_gap(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(faults=SimulatorFaults(overload_at_s=0.0307, overload_records=7))
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.033, 60 * MS)
    first = round(0.0307 / PERIOD_S)
    assert gaps(tmp_path) == [
        {"start": first, "stop": first + 7, "cause": "beyond the measuring range"}
    ]
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.mean_w(0.011, 0.03) == pytest.approx(0.033, rel=1e-6)


def test_a_lost_connection_is_a_lost_device_and_what_was_measured_stays(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(faults=SimulatorFaults(drop_at_s=35.0))
    monitor.power(True)
    with (
        pytest.raises(DeviceLost, match="does not answer any more") as reported,
        monitor.record(tmp_path),
    ):
        # Virtual time is held until no more than 100 000 records wait, so the first of
        # these have been written.
        draw(context, 0.033, 34_000 * MS)
        draw(context, 0.033, 2_000 * MS)
    assert "supply may still be on" in reported.value.try_next
    assert Trace.open(tmp_path / "trace.jls").duration_s > 3.0
    monitor.close()
    monitor.close()


def test_records_lost_in_one_channel_are_found(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(
        faults=SimulatorFaults(lose_at_s=0.5, lose_records=1000, lose_of=(2,))
    )
    with (
        pytest.raises(BenchError, match="overwritten records"),
        monitor.record(tmp_path),
    ):
        draw(context, 0.033, 2_000 * MS)


def test_records_lost_in_all_channels_are_found_by_the_clock(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(faults=SimulatorFaults(lose_at_s=1.0, lose_records=10_000))
    with (
        pytest.raises(BenchError, match="for each second its period says"),
        monitor.record(tmp_path),
    ):
        draw(context, 0.033, 10_000 * MS)


def test_an_error_in_the_queue_while_recording_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    fault = SimulatorFaults(
        lose_at_s=0.5, lose_records=10, lose_error='-321,"Out of memory"'
    )
    with (
        pytest.raises(CommandRefused, match="data log under way") as reported,
        opened(faults=fault).record(tmp_path),
    ):
        draw(context, 0.033, 2_000 * MS)
    assert reported.value.code == -321


def test_a_block_that_ends_early_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(faults=SimulatorFaults(short_block_at=5), timeout_s=0.3)
    with (
        pytest.raises(RemoteProtocolError, match="before its announced length"),
        monitor.record(tmp_path),
    ):
        draw(context, 0.033, 1_000 * MS)


@pytest.mark.parametrize(
    ("header", "step"),
    [("INIT:ELOG", "start of the log"), ("TRIG:ELOG", "trigger of the log")],
)
def test_a_log_that_does_not_start_leaves_a_closed_trace(
    opened: Opened, tmp_path: Path, header: str, step: str
) -> None:
    monitor = opened(faults=SimulatorFaults(refuse=header))
    with pytest.raises(CommandRefused, match=step), monitor.record(tmp_path):
        pass
    assert not list(tmp_path.glob("*.partial"))


# The other ways to see SYNC


@pytest.mark.parametrize("trigger", ["EXT", "PIN3"])
def test_the_first_edge_starts_the_log_and_is_its_only_stamp(
    opened: Opened, context: BenchContext, tmp_path: Path, trigger: str
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, modules=("N6781A", "N6731B")),
        sync="trigger",
        trigger=trigger,
    )
    assert 1 / monitor.info.sample_hz == pytest.approx(204.8e-6)
    assert monitor.info.sync == "start"
    monitor.power(True)
    with monitor.record(tmp_path):
        draw(context, 0.01, 50 * MS)
        draw(context, 0.05, MS, level=False)
        draw(context, 0.05, 99 * MS)
    trace = Trace.open(tmp_path / "trace.jls")
    assert trace.falls_s.tolist() == [0.0]
    assert trace.duration_s == pytest.approx(0.1, abs=2 * 204.8e-6)
    assert trace.mean_w(0.0, 0.09) == pytest.approx(0.05, rel=1e-6)


def test_a_trigger_that_never_comes_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(sync="trigger")
    with (
        pytest.raises(DeadlineError, match="trigger of the data log"),
        monitor.record(tmp_path),
    ):
        draw(context, 0.01, 50 * MS)


def test_an_io_manager_stamps_all_edges_in_its_own_clock(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(
        dataclasses.replace(QUIET, io_manager_ppm=2000.0), sync="io_manager"
    )
    monitor.power(True)
    with monitor.record(tmp_path):
        falls_ns = pulses(context, [100 * MS] * 20)
    trace = Trace.open(tmp_path / "trace.jls")
    expected_s = (np.array(falls_ns) - falls_ns[0]) * 1e-9 * (1 + 2000e-6)
    assert np.max(np.abs(trace.falls_s - expected_s)) < 8e-6, (
        "the count of the IO manager passes its end on the way"
    )
    info = monitor.info
    assert info.accuracy.clock_ppm == 5000.0
    assert info.accuracy.edge_s > 5000e-6 * 10.0
    assert "5000 ppm" in info.details["sync"]
    assert "about 0.02 s of them could be lost unseen" in info.details["sync"]


def test_a_second_recording_has_its_own_first_edge(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(sync="io_manager")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with monitor.record(tmp_path / name):
            pulses(context, [10 * MS] * 3)
        falls_s = Trace.open(tmp_path / name / "trace.jls").falls_s
        assert falls_s == pytest.approx([0.0, 0.01, 0.02], abs=1e-5)


def test_an_io_manager_that_is_not_there_is_reported(context: BenchContext) -> None:
    simulator = Simulator(QUIET, context.world, 1, 2, 0)
    settings = KeysightN6705.Settings(
        resource=simulator.resource,
        sync="io_manager",
        io_manager=IoManagerSettings(port="/dev/no-such-port"),
    )
    try:
        with pytest.raises(
            DeviceNotFound, match="no IO manager at '/dev/no-such-port'"
        ) as reported:
            KeysightN6705.open(settings, context)
        assert "rig scan" in reported.value.try_next
    finally:
        simulator.close()


def test_an_edge_without_a_time_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(sync="io_manager", faults=SimulatorFaults(garbled_lap=2))
    with (
        pytest.raises(RemoteProtocolError, match="has no time"),
        monitor.record(tmp_path),
    ):
        pulses(context, [10 * MS] * 3)


def test_an_edge_too_late_for_its_clock_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    monitor = opened(sync="io_manager", io_manager=IoManagerSettings(longest_s=1.0))
    with (
        pytest.raises(BenchError, match="not known well enough"),
        monitor.record(tmp_path),
    ):
        pulses(context, [400 * MS] * 4)


# Real time


def test_in_a_live_world_everything_up_to_the_end_is_recorded(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    begin_ns = time.monotonic_ns()
    monitor = opened(timeout_s=3.0)
    context.world.follow(
        lambda: time.monotonic_ns() - begin_ns,
        lambda: time.monotonic_ns() - begin_ns - 100 * MS,
    )
    monitor.power(True)
    falls_ns = []
    with monitor.record(tmp_path):
        start_ns = context.world.now_ns()
        for _ in range(5):
            context.world.put(context.world.now_ns(), False, 0.05)
            falls_ns.append(context.world.now_ns())
            time.sleep(0.02)  # the length of a pulse
            context.world.put(context.world.now_ns(), True, 0.02)
            time.sleep(0.08)  # and of the span between two
        last_ns = context.world.now_ns()
    trace = Trace.open(tmp_path / "trace.jls")
    assert len(trace.falls_s) == 5
    assert np.diff(trace.falls_s) == pytest.approx(np.diff(falls_ns) * 1e-9, abs=1e-3)
    assert trace.duration_s >= (last_ns - start_ns) * 1e-9


def test_a_host_that_does_not_fetch_for_longer_than_the_buffer_lasts_is_reported(
    opened: Opened, context: BenchContext, tmp_path: Path
) -> None:
    begin_ns = time.monotonic_ns()
    away_ns = [0]
    monitor = opened(timeout_s=3.0)
    context.world.follow(*[lambda: time.monotonic_ns() - begin_ns + away_ns[0]] * 2)
    with (
        pytest.raises(BenchError, match="overwritten records") as reported,
        monitor.record(tmp_path),
    ):
        away_ns[0] = 30_000 * MS
    assert "s between two fetches" in reported.value.evidence


# The simulator as an instrument


class Client:
    """A raw socket: any other program that speaks with the instrument."""

    def __init__(self, simulator: Simulator) -> None:
        _, host, port, _ = simulator.resource.split("::")
        self._socket = socket.create_connection((host, int(port)), timeout=3)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, message: str) -> None:
        self._socket.sendall(message.encode() + b"\n")
        assert self.ask("*OPC?") == "1"

    def ask(self, message: str) -> str:
        self._socket.sendall(message.encode() + b"\n")
        return self._file.readline().decode().strip()

    def block(self, message: str) -> bytes:
        self._socket.sendall(message.encode() + b"\n")
        assert self._file.read(1) == b"#"
        length = int(self._file.read(int(self._file.read(1))))
        data = self._file.read(length)
        assert self._file.read(1) == b"\n"
        return data


@pytest.fixture
def bare() -> Iterator[tuple[Client, World]]:
    world = World()
    simulator = Simulator(dataclasses.replace(QUIET, modules=THREE), world, 1, 2, 0)
    with Client(simulator) as client:
        yield client, world
    simulator.close()


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("SENS:ELOG:PERI 0.1,(@1)", "-113"),
        ("nonsense", "-113"),
        ("SENS:ELOG:PER 1e-6,(@1)", "-222"),
        ("SENS:ELOG:PER 0.1,(@4)", "-222"),
        ("SENS:ELOG:PER (@1)", "-109"),
        ("SENS:ELOG:PER one,(@1)", "-104"),
        ("OUTP MAYBE,(@1)", "-224"),
        ("TRIG:ELOG:SOUR NEVER,(@1)", "-224"),
        ("SENS:ELOG:FUNC:VOLT ON,(@3);:SENS:ELOG:FUNC:CURR ON,(@3)", "-221"),
        ("INIT:ELOG (@1)", "-221"),
        ("EMUL PS4Q,(@1)", "+310"),
        ("VOLT 30,(@1)", "-222"),
    ],
)
def test_the_simulator_refuses_with_the_codes_of_scpi(
    bare: tuple[Client, World], message: str, error: str
) -> None:
    client, _ = bare
    client.send(message)
    assert client.ask("SYST:ERR?").split(",")[0] == error
    assert client.ask("SYST:ERR?") == '+0,"No error"'


@pytest.mark.parametrize(
    "message",
    [
        "SENS:ELOG:PER 0.001,(@1:2)",
        "sense:elog:period 0.001,(@1,2)",
        "SENSe:ELOG:FUNC:VOLT ON,(@1);:SENSE:ELOG:PER 0.001,(@1:2)",
        ":SENS:ELOG:FUNC:VOLT:MINM OFF,(@1);:ELOG:PER 1e-3,(@1),",
        "SENS:ELOG:FUNC:CURR ON,(@1);VOLT ON,(@1);:SENS:ELOG:PER 0.001,(@1,2)",
    ],
)
def test_the_simulator_knows_short_long_and_compound_commands(
    bare: tuple[Client, World], message: str
) -> None:
    client, _ = bare
    client.send("FORM:DATA REAL")
    client.send(message.rstrip(","))
    assert client.ask("SYSTEM:ERROR?") == '+0,"No error"'
    assert float(client.ask("SENSE:ELOG:PERIOD? (@1)")) == pytest.approx(49 * POINT_S)


def test_the_simulator_hands_out_records_once_current_first(
    bare: tuple[Client, World],
) -> None:
    client, world = bare
    client.send("FORM REAL;:FORM:BORD SWAP;:VOLT 3.3,(@1);:OUTP ON,(@1)")
    client.send(
        "SENS:ELOG:FUNC:CURR ON,(@1);VOLT ON,(@1);:SENS:ELOG:PER"
        " 0.0002048,(@1);:TRIG:ELOG:SOUR BUS,(@1);:INIT:ELOG (@1)"
    )
    assert client.block("FETC:ELOG? 10,(@1)") == b"", "it waits for its trigger"
    client.send("*TRG")
    world.put(world.now_ns(), True, 0.033)
    world.advance(20 * 204_800)
    first = np.frombuffer(client.block("FETC:ELOG? 15,(@1)"), "<f4").reshape(-1, 2)
    rest = np.frombuffer(client.block("FETC:ELOG? 15,(@1)"), "<f4").reshape(-1, 2)
    assert (len(first), len(rest)) == (15, 5)
    assert first[0] == pytest.approx([0.01, 3.3])
    client.send("ABOR:ELOG (@1)")
    client.send("FETC:ELOG? 15,(@3)")
    assert client.ask("SYST:ERR?").startswith("-230")


def test_a_live_buffer_that_is_not_emptied_keeps_the_latest_20_seconds(
    bare: tuple[Client, World],
) -> None:
    client, world = bare
    client.send(
        "FORM REAL;:SENS:ELOG:FUNC:CURR ON,(@1);:SENS:ELOG:PER 0.1024,(@1);:INIT:ELOG"
        " (@1)"
    )
    client.send("TRIG:ELOG (@1)")
    world.follow(lambda: 60_000 * MS, lambda: 60_000 * MS)
    assert len(client.block("FETC:ELOG? 5000,(@1)")) // 4 == round(20 / 0.1024)


def test_a_scan_finds_none_where_no_usb_can_be_searched_and_does_not_complain():
    assert KeysightN6705.scan() == []
