# SPDX-License-Identifier: Apache-2.0
"""A check finds the hidden errors of simulated monitors within its stated uncertainty,
as often as it claims, and refuses each fault.
"""

from __future__ import annotations

import datetime
import math
import os
import random
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyjls
import pytest
from numpy.typing import NDArray

from rig.bench import config
from rig.bench.config import PluginChoice
from rig.bench.qualification import errors_found
from rig.bench.qualification.check import CheckPlan, CheckRow, MonitorCheck
from rig.bench.qualification.load import OutputLoad, Resistor, SimulatedHands, parse
from rig.bench.qualification.recording import Bare
from rig.errors import BenchError, ConfigError, DeviceLost, Stopped
from rig.host.stop import Stop
from rig.simulation.world import World
from tests.drivers.nordic_ppk2.test_driver import attached

SHORT = CheckPlan(
    resistors=(parse("1kohm,0.1%"),),
    voltmeter=0.0005,
    seconds=0.3,
    clock_seconds=0.0,
)


def bare(kind: str, *settings: str) -> Bare:
    choice = PluginChoice(kind, config.settings_of("monitor", kind, settings))
    return Bare.of("", choice, Path.cwd())


def checked(
    monitor: Bare, plan: CheckPlan = SHORT, hands: SimulatedHands | None = None
) -> tuple[dict[tuple[str, float], CheckRow], MonitorCheck]:
    check = MonitorCheck(monitor, plan, hands or SimulatedHands(), Stop())
    rows = {(row.name, row.range_a): row for row in check.rows()}
    return rows, check


def holds(row: CheckRow, truth: float) -> bool:
    assert row.estimate is not None, row
    return abs(row.estimate.value - truth) <= row.estimate.u95


@pytest.mark.long
def test_intervals_hold_hidden_errors_about_as_often_as_they_claim() -> None:
    """The truth is drawn, and stated limits are as wide as the draws."""
    held = dict.fromkeys(("current offset", "current gain", "SYNC delay"), 0)
    sessions = 40
    for seed in range(sessions):
        draw = random.Random(seed)
        gain = draw.uniform(-0.002, 0.002)
        offset_a = draw.uniform(-5e-6, 5e-6)
        delay_s = draw.uniform(-20e-6, 20e-6)
        true_ohm = 1000 * (1 + draw.uniform(-0.001, 0.001))
        volt_error = draw.uniform(-0.0005, 0.0005)
        hidden = {
            "gain": gain,
            "offset_a": offset_a,
            "edge_delay_s": delay_s,
            "voltage_gain": draw.uniform(-0.001, 0.001),
            # Its noise follows from the seed of the bench and the settings alone.
            "noise_a": draw.uniform(15e-6, 25e-6),
            "sample_hz": 50_000,
        }
        monitor = bare("virtual", *(f"{key}={hidden[key]!r}" for key in hidden))
        hands = SimulatedHands([true_ohm], volt_error)
        rows, _ = checked(monitor, replace(SHORT, sync_step=True), hands)
        held["current offset"] += holds(rows["current offset", 10.0], offset_a)
        held["current gain"] += holds(rows["current gain", 10.0], gain)
        held["SYNC delay"] += holds(rows["SYNC delay", 0.0], delay_s)
    # Fewer than 34 of 40 at 95 % happen once in a hundred times.
    assert min(held.values()) >= 34, held


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        ("nordic_ppk2", ("port=simulator",), "its lowest"),
        ("joulescope", ("device=simulator",), "beyond its range"),
        ("keysight_n6705", ("resource=simulator",), "beyond the measuring range"),
    ],
)
def test_noise_that_leaves_the_lowest_range_is_said_and_the_rest_measured(
    kind: str, settings: tuple[str, ...], why: str
) -> None:
    monitor = bare(kind, *settings, "simulator.noise_a=20e-6", "simulator.seed=3")
    rows, _ = checked(monitor)
    offsets = [row for (name, _), row in rows.items() if name == "current offset"]
    assert offsets[0].estimate is None and why in offsets[0].why
    assert any(
        row.estimate for (name, _), row in rows.items() if name == "current gain"
    )


def test_pulses_of_a_device_are_no_noise_of_an_open_output() -> None:
    pulses_a = np.zeros(10_000)
    pulses_a[::10] = 1e-3
    assert not errors_found._clipped(pulses_a, float(pulses_a.std()))
    random = np.random.default_rng(1)
    noise_a = np.maximum(random.normal(0, 1e-5, 10_000), 0)
    assert errors_found._clipped(noise_a, float(noise_a.std()))


@pytest.mark.parametrize(
    ("kind", "settings", "resistor", "end_a"),
    [
        ("joulescope", ("device=simulator", "simulator.noise_a=1e-6"), "1kohm", 0.018),
        ("nordic_ppk2", ("port=simulator", "simulator.noise_a=1e-6"), "2kohm", 4e-3),
        ("st_lpm01a", ("port=simulator",), "1kohm", 0.05),
        (
            "keysight_n6705",
            ("resource=simulator", "simulator.noise_a=1e-7"),
            "1kohm",
            0.1,
        ),
    ],
)
def test_each_simulated_instrument_shows_its_gain(
    kind: str, settings: tuple[str, ...], resistor: str, end_a: float
) -> None:
    gain = {"joulescope": 0.002, "nordic_ppk2": 0.06}.get(kind, 0.0002)
    monitor = bare(kind, *settings, f"simulator.gain={gain}")
    plan = replace(SHORT, resistors=(parse(f"{resistor},0.01%"),), voltmeter=1e-4)
    nominal = plan.resistors[0].ohm
    hands = SimulatedHands([nominal * 1.00005], 0.00004)
    rows, check = checked(monitor, plan, hands)
    row = rows["current gain", end_a]
    assert holds(row, gain)
    assert row.estimate is not None and row.estimate.u95 < 0.005
    limits = check.accuracy(datetime.date(2026, 11, 27))
    stated = check.info.accuracy
    at = [each.up_to for each in stated.current].index(end_a)
    corrected = limits.calibration.correction[at]  # type: ignore[union-attr]
    assert corrected.factor * (1 + gain) == pytest.approx(1, abs=row.estimate.u95)
    found = next(each for each in limits.current if each.up_to == end_a)
    assert found.gain < 1.2 * stated.current[at].gain


def test_the_budget_of_a_gain_has_the_stated_parts_in_squares() -> None:
    """By the formula of the quotient, apart from the check's own."""
    rows, _ = checked(bare("virtual"), hands=SimulatedHands(voltmeter=0.0))
    estimate = rows["current gain", 10.0].estimate
    assert estimate is not None
    parts = {
        part.component: part.standard_uncertainty for part in estimate.budget.parts
    }
    assert parts["resistor"] == pytest.approx(0.001 / math.sqrt(3), rel=1e-3)
    assert parts["voltmeter"] == pytest.approx(0.0005 / math.sqrt(3), rel=1e-3)
    # 20 uA of noise, 200 kHz, 0.3 s and more, at 3.3 mA.
    expected = 20e-6 / math.sqrt(0.31 * 200e3) / 3.3e-3
    assert parts["scatter of readings"] == pytest.approx(expected, rel=0.6)
    total = math.sqrt(sum(value**2 for value in parts.values()))
    assert estimate.budget.standard_uncertainty == pytest.approx(total)
    assert 1.6 * total < estimate.u95 < 2.1 * total


def test_the_voltage_of_the_instrument_counts_twice_in_a_power() -> None:
    """Its error is in the gain and in each power: 2 a, or a and the square root of
    three times a in squares."""
    rows, _ = checked(bare("virtual"), replace(SHORT, voltmeter=0.0))
    estimate = rows["current gain", 10.0].estimate
    assert estimate is not None
    parts = {
        part.component: part.standard_uncertainty for part in estimate.budget.parts
    }
    both = math.hypot(parts["voltage gain"], 0.001 / math.sqrt(3))
    assert both == pytest.approx(2 * 0.001 / math.sqrt(3), rel=1e-3)


def test_a_clock_is_found_within_its_uncertainty() -> None:
    for ppm in (-42.0, 17.0):
        monitor = bare("virtual", f"clock_ppm={ppm}", "sample_hz=20000")
        plan = replace(SHORT, resistors=(), clock_seconds=6.0, host_ppm=0.0)
        row = checked(monitor, plan)[0]["clock", 0.0]
        assert holds(row, ppm) and row.estimate is not None
        assert row.estimate.u95 < 40
        assert row.within


@pytest.mark.parametrize(
    ("host_ppm", "within", "why"),
    [(1.0, False, ""), (100.0, None, "; the interval is wider")],
)
def test_an_error_of_the_hosts_clock_is_none_of_the_instruments(
    host_ppm: float, within: bool | None, why: str
) -> None:
    """120 ppm apart: the instrument may have 50, and the host the rest."""
    monitor = bare("virtual", "clock_ppm=120", "sample_hz=20000")
    plan = replace(SHORT, resistors=(), clock_seconds=6.0, host_ppm=host_ppm)
    rows, check = checked(monitor, plan)
    row = rows["clock", 0.0]
    assert row.estimate is not None and row.within is within
    assert row.why.startswith(why)
    parts = {
        part.component: part.standard_uncertainty for part in row.estimate.budget.parts
    }
    host_u = parts[errors_found.HOST_CLOCK]
    assert host_u == pytest.approx(host_ppm * 1e-6 / math.sqrt(3))
    assert ("--host-clock-ppm" in row.why) == (within is None)
    limit_ppm = check.accuracy(datetime.date(2026, 11, 27)).clock_ppm
    # The stated limit stays, as k = 2, where the check shows no smaller limit.
    assert limit_ppm == pytest.approx(50 * 2 / math.sqrt(3))


def test_a_clock_read_through_irregular_arrivals_says_how_long_would_do() -> None:
    plan = replace(SHORT, clock_seconds=60.0, host_ppm=1.0)
    check = MonitorCheck(bare("virtual"), plan, SimulatedHands(), Stop())
    draw = np.random.default_rng(4)
    at_s = np.arange(1, 601) * 0.1 + draw.uniform(0, 0.08, 600)
    arrivals = [(100 * (at + 1), float(at_s[at])) for at in range(600)]
    error = errors_found.clock_error(arrivals, 1000.0, 1e-6)
    assert error is not None
    why = check._not_checked(error, 20.0)
    assert error.most == errors_found.ARRIVALS
    seconds = float(why.rsplit(" ", 1)[1])
    assert error.u95 * 1e6 * 60 / seconds <= 20 < error.u95 * 1e6 * 60 / (seconds - 60)
    assert "--clock-seconds" not in check._not_checked(error, 0.2)


@pytest.mark.parametrize("noise_a", ["1e-6", "1e-8", "0"])
def test_an_instrument_without_negative_readings_shows_no_zero(noise_a: str) -> None:
    """Half of a normal noise has a mean of 0.4 standard deviations; without noise each
    reading is 0.
    """
    offset = {"1e-6": "0"}.get(noise_a, "-2e-6")
    settings = (f"simulator.noise_a={noise_a}", f"simulator.offset_a={offset}")
    rows, check = checked(bare("st_lpm01a", "port=simulator", *settings))
    row = rows["current offset", 0.05]
    assert row.estimate is None and "its lowest" in row.why
    limits = check.accuracy(datetime.date(2026, 11, 27))
    assert limits.calibration is not None
    assert limits.calibration.correction[0].zero == 0
    stated_a = check.info.accuracy.current[0].offset
    assert limits.current[0].offset == pytest.approx(stated_a * 2 / math.sqrt(3))


def test_the_file_holds_what_follows_from_the_readings_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the samples of the very recordings, as pyjls reads them: zero, gain and
    their expanded uncertainties, each with its formula written out here.
    """
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    settings = ("gain=0.0013", "offset_a=2e-6", "noise_a=40e-6", "sample_hz=50000")
    resistor = Resistor(2000.0, 0.0004)
    plan = replace(SHORT, resistors=(resistor,), voltmeter=0.0003, drift=0.0005)
    hands = SimulatedHands([2000.5], 0.0)
    check = MonitorCheck(bare("virtual", *settings), plan, hands, Stop())
    readings_a: list[NDArray[np.float64]] = []
    for row in check.rows():
        if row.name in ("current offset", "current gain"):
            (folder,) = tmp_path.glob("rig-monitor-*")
            readings_a.append(current_of(folder / str(len(readings_a) + 1)))
    open_a, loaded_a = readings_a
    zero_a = open_a.mean()
    true_a = 3.3 / 2000.0
    ratio = (loaded_a.mean() - zero_a) / true_a
    limits = check.accuracy(datetime.date(2026, 11, 27))
    assert limits.calibration is not None
    (correction,) = limits.calibration.correction
    assert correction.zero == pytest.approx(zero_a, rel=1e-5)
    assert correction.factor == pytest.approx(1 / ratio, rel=1e-7)
    # Scatter: the means of twenty parts, nineteen degrees of freedom.
    zero_u_a = scatter_of_parts(open_a)
    at_load_u_a = scatter_of_parts(loaded_a)
    shares = [
        0.0004 / math.sqrt(3),
        0.0003 / math.sqrt(3),
        0.0005 / math.sqrt(3),
        zero_u_a / true_a,
        at_load_u_a / true_a,
    ]
    gain_u = math.sqrt(sum(share**2 for share in shares))
    (of_file,) = limits.current
    assert limits.distribution == "normal"
    # The file's limits stand for k = 2.
    assert of_file.gain == pytest.approx(2 * gain_u, rel=0.01)
    assert of_file.offset == pytest.approx(2.093 * zero_u_a, rel=0.01)
    # That of the maker, here the true one, unless more is seen.
    noise_a = max(40e-6, open_a.std(), loaded_a.std())
    assert of_file.noise == pytest.approx(noise_a, rel=1e-5)


def current_of(folder: Path) -> NDArray[np.float64]:
    """Read the current of a trace, apart from the rig's own reader."""
    with pyjls.Reader(str(folder / "trace.jls")) as reader:
        (signal,) = (each for each in reader.signals.values() if each.name == "current")
        read = reader.fsr(signal.signal_id, 0, signal.length)
    return np.asarray(read, dtype=np.float64)


def scatter_of_parts(readings_a: NDArray[np.float64]) -> float:
    """Return the standard error of a mean by the means of twenty equal parts."""
    length = len(readings_a) // 20
    parts_a = readings_a[: 20 * length].reshape(20, length).mean(axis=1)
    return float(parts_a.std(ddof=1) / math.sqrt(20))


# --- Refused


def test_a_check_that_measured_no_limit_gives_no_calibration() -> None:
    """Without noise no zero is seen, and the stated one makes the gain's interval wider
    than the stated limit.
    """
    monitor = bare("joulescope", "device=simulator")
    rows, check = checked(monitor, hands=SimulatedHands([1000.0], 0.0))
    (gain,) = (row for row in rows.values() if row.name == "current gain")
    assert "the largest part is the zero; a smaller resistor" in gain.why
    with pytest.raises(BenchError, match="was measured"):
        check.accuracy(datetime.date(2026, 11, 27))


def test_a_resistor_of_another_value_is_refused() -> None:
    with pytest.raises(BenchError, match="implausible") as caught:
        checked(bare("virtual"), hands=SimulatedHands([1200.0]))
    assert "measure the resistor" in caught.value.try_next


def test_an_output_that_is_not_open_is_refused() -> None:
    with pytest.raises(BenchError, match="is not open") as caught:
        checked(bare("virtual"), hands=SimulatedHands(leaves=10e3))
    assert "330" in caught.value.evidence and "disconnect" in caught.value.try_next


def test_a_resistor_that_is_not_there_is_refused() -> None:
    with pytest.raises(BenchError, match="no current flows"):
        checked(bare("virtual"), hands=SimulatedHands([1e12]))


def test_a_current_between_two_ranges_is_refused() -> None:
    # 4.4 mA: above 0.8 of 5 mA, where both may measure it.
    plan = replace(SHORT, resistors=(parse("750ohm,0.1%"),))
    with pytest.raises(BenchError, match="no range of its own"):
        checked(bare("nordic_ppk2", "port=simulator"), plan)


def test_a_cable_that_is_pulled_ends_the_check() -> None:
    monitor = bare(
        "nordic_ppk2", "port=simulator", "simulator.faults.unplugged_at_s=0.1"
    )
    with pytest.raises(DeviceLost):
        checked(monitor)


def test_a_monitor_without_an_output_is_refused() -> None:
    with pytest.raises(ConfigError, match="no output"):
        checked(bare("rapl", "root=simulator", "gain_limit=0.1"))


@pytest.mark.paced
@pytest.mark.skipif(os.name != "posix", reason="a pseudo terminal")
def test_each_recording_of_a_real_interface_has_a_watchdog_of_its_own() -> None:
    """The driver takes the simulated instrument for a real one, whose supply a process
    watches from the opening to the closing."""
    with attached(noise_a=1e-7) as (simulator, context):
        world = context.world
        switched: list[bool] = []

        class SwitchedHands(SimulatedHands):
            def wire(self, load: OutputLoad) -> None:
                switched.append(world.supply_on)
                power_w = 2.5**2 / load.resistor.ohm if load.resistor else 0.0
                world.put(world.now_ns(), True, power_w)

            def act(self, load: OutputLoad, world: World, duration_s: float) -> None:
                return

        monitor = bare("nordic_ppk2", f"port={simulator.port}", "supply_v=2.5")
        plan = replace(SHORT, voltmeter=0.0, clock_seconds=4.0, seconds=0.5)
        rows, check = checked(monitor, plan, SwitchedHands())
        assert not check.info.simulated
        assert not rows["current gain", 4e-3].simulated
        assert holds(rows["current gain", 4e-3], 0.0)
        assert rows["clock", 0.0].estimate is not None
        assert switched == [False, False, False] and not world.supply_on


def test_a_stop_ends_the_check_with_the_supply_off() -> None:
    stop = Stop()
    worlds: list[World] = []

    class StoppingHands(SimulatedHands):
        def act(self, load: OutputLoad, world: World, duration_s: float) -> None:
            super().act(load, world, duration_s)
            worlds.append(world)
            stop.request()

    check = MonitorCheck(bare("virtual"), SHORT, StoppingHands(), stop)
    with pytest.raises(Stopped):
        list(check.rows())
    assert len(worlds) == 1 and not worlds[0].supply_on
    assert threading.active_count() < 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1kohm,0.1%", Resistor(1000.0, 0.001)),
        ("10 ohm, 1 %", Resistor(10.0, 0.01)),
        ("4.7M,5%,2.5V", Resistor(4.7e6, 0.05, 2.5)),
        ("100mohm,0.5%,99mV", Resistor(0.1, 0.005, 0.099)),
    ],
)
def test_resistors_are_read_as_people_write_them(text: str, expected: Resistor) -> None:
    found = parse(text)
    assert found.ohm == pytest.approx(expected.ohm)
    assert found.tolerance == pytest.approx(expected.tolerance)
    assert found.volts == (expected.volts and pytest.approx(expected.volts))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1k",
        "1k,0%",
        "1k,-1%",
        "0,1%",
        "1k,1%,0V",
        "1k,1%,2",
        "1k,200%",
        "e,1%",
        "1k,1%,1V,1",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no resistor") as caught:
        parse(text)
    assert "1kohm,0.1%" in caught.value.try_next
