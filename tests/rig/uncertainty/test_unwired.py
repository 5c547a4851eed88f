# SPDX-License-Identifier: Apache-2.0
"""A device that another cable feeds, on every monitor with stated limits: no trial of
it counts, and the probe says why; devices that draw little but enough are measured.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.bench.probe import probe
from rig.errors import ConfigError
from rig.model.finding import Finding
from rig.problems import PROBLEM_CODES
from rig.session.session import SessionResult, open_bench
from rig.trace.trace import EndPower, Integral
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.unwired import may_be_one_sided, one_sided, unwired_j
from tests.conftest import ROOT, VIRTUAL_NULL

pytestmark = pytest.mark.computes

BENCHES = ROOT / "benches"
#: Pulses and periods that each of the instruments sees.
SLOW = ["sut.virtual.sync_hold_us=800", "sut.virtual.sync_period_us=20_030"]
MONITORS = {
    "virtual": (["monitor.virtual.sample_hz=200_000"], "monitor.virtual.fed_v"),
    "lpm01a": (
        ["monitor.st_lpm01a.port=simulator"],
        "monitor.st_lpm01a.simulator.fed_v",
    ),
    "js220": (
        ["monitor.joulescope.device=simulator"],
        "monitor.joulescope.simulator.fed_v",
    ),
    "js110": (
        [
            "monitor.joulescope.device=simulator",
            "monitor.joulescope.simulator.model=js110",
        ],
        "monitor.joulescope.simulator.fed_v",
    ),
    "n6705": (
        ["monitor.keysight_n6705.resource=simulator"],
        "monitor.keysight_n6705.simulator.fed_v",
    ),
}
#: What an instrument may have of its own, within the limits that are stated of it.
ERRORS = {
    "virtual": ["monitor.virtual.offset_a=4e-6"],
    "lpm01a": ["monitor.st_lpm01a.simulator.offset_a=9e-8"],
    "js220": ["monitor.joulescope.simulator.offset_a=8e-10"],
    "js110": ["monitor.joulescope.simulator.offset_a=8e-10"],
    "n6705": ["monitor.keysight_n6705.simulator.offset_a=7e-9"],
}
#: Of these two the voltage is measured at the DUT's side, also while the supply is off.
READ = ("virtual", "js220", "js110", "n6705")


def run(folder: Path, *overrides: str, bench: Path = VIRTUAL_NULL) -> SessionResult:
    few = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]
    with open_bench(bench, [*few, *SLOW, *overrides]) as opened:
        return opened.run(1, folder)


def power(result: SessionResult) -> list[str]:
    return [
        problem["detail"]
        for problem in result.content["problems"]
        if problem["code"] == "power"
    ]


def probed(*overrides: str) -> dict[str, Finding]:
    return {
        finding.name: finding for finding in probe(VIRTUAL_NULL, [*SLOW, *overrides])
    }


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.repeats) for seed in (2, 3))]
)
@pytest.mark.parametrize("errors", [False, True])
@pytest.mark.parametrize("name", MONITORS)
def test_no_trial_of_a_device_that_another_cable_feeds_is_valid(
    name: str, errors: bool, seed: int, tmp_path: Path
) -> None:
    chosen, fed = MONITORS[name]
    result = run(
        tmp_path,
        *chosen,
        f"{fed}=3.3",
        f"bench.seed={seed}",
        *(ERRORS[name] if errors else []),
    )
    assert not result.trials[0].valid
    (detail,) = power(result)
    assert "fed by another cable" in detail and "nothing wired may show" in detail
    # Nearly all windows, not those alone whose noise happens to be negative.
    hit, of = (int(word) for word in detail.split(" windows")[0].split(" of "))
    assert of == 18 and hit >= 0.6 * of


@pytest.mark.parametrize("name", MONITORS)
def test_a_device_that_the_monitor_feeds_is_measured(name: str, tmp_path: Path) -> None:
    chosen, _ = MONITORS[name]
    result = run(tmp_path, *chosen)
    assert result.content["problems"] == []
    assert result.metrics["energy_total"].value == pytest.approx(
        0.018 * 0.035 + 0.042 * 0.045, rel=0.05
    )


@pytest.mark.parametrize(
    ("name", "idle_a"),
    [("virtual", 50e-6), ("lpm01a", 3e-6), ("js220", 0.1e-6), ("n6705", 20e-6)],
)
def test_a_device_that_draws_little_but_more_than_the_limits_is_measured(
    name: str, idle_a: float, tmp_path: Path
) -> None:
    chosen, _ = MONITORS[name]
    few = [
        f"sut.virtual.{phase}.power_w={4 * 3.3 * idle_a}"
        for phase in ("preprocess", "infer")
    ]
    result = run(tmp_path, *chosen, f"sut.virtual.idle_w={3.3 * idle_a}", *few)
    assert power(result) == []
    assert result.metrics["power_idle"].value == pytest.approx(3.3 * idle_a, rel=0.15)


NOISE = np.maximum(np.random.default_rng(5).standard_normal(4000), 0.0)
BURSTS = np.random.default_rng(6).random(4000) < 0.4


@pytest.mark.parametrize(
    ("readings_ua", "nothing"),
    [
        (NOISE, True),
        (NOISE[:40], True),
        (np.maximum(0.09 + np.random.default_rng(7).standard_normal(90), 0.0), True),
        (3.0 * NOISE, True),
        (1.0 + NOISE, False),
        (NOISE + 1000.0 * BURSTS, False),
        (1000.0 * BURSTS, False),
        (NOISE + 30.0 * BURSTS, False),
        (NOISE + 1000.0 * (np.arange(4000) < 40), False),
        (np.where(BURSTS, NOISE, -NOISE), False),
    ],
)
def test_half_a_noise_is_distinguished_from_a_device_that_sleeps_between_bursts(
    readings_ua: NDArray[np.float64], nothing: bool
) -> None:
    power_w = 3.3e-6 * readings_ua
    whole = Integral(
        0.0,
        1.0,
        float(power_w.mean()),
        float(power_w.mean()) / 3.3,
        least_w=float(power_w.min()),
        most_w=float(power_w.max()),
        ends=(EndPower(0.0, 0.0), EndPower(0.0, 0.0)),
        range_energy_j=(0.0,),
        range_charge_c=(0.0,),
        range_volt_s=(3.3,),
    )
    limits = Accuracy(
        (Range(0.05, 0.02, 100e-9),), (Range(3.6, 0.01, 0.0),), 100.0, "as of an LPM01A"
    )
    assert one_sided(power_w, whole, limits) is nothing


CURRENT = (
    Range(0.01, 0.1, offset=2e-6, noise=5e-6, lsb=4e-6),
    Range(1.0, 0.2, offset=3e-4, noise=2e-3, lsb=2e-4),
)
VOLTAGE = (
    Range(2.0, 0.1, offset=1e-3, noise=4e-3, lsb=2e-3),
    Range(5.0, 0.2, offset=3e-3, noise=9e-3, lsb=6e-3),
)
LIMITS = Accuracy(CURRENT, VOLTAGE, 100.0, "made up")


def readings(
    counts: tuple[int, int], volts: float, charge_c: float, power_w: tuple[float, float]
) -> Integral:
    """Return a window at 50 Hz with so many samples in each range of the current."""
    return Integral(
        start_s=2.0,
        stop_s=2.0 + sum(counts) / 50,
        energy_j=0.0,
        charge_c=charge_c,
        least_w=power_w[0],
        most_w=power_w[1],
        ends=(EndPower(0.0, 0.0), EndPower(0.0, 0.0)),
        range_energy_j=(0.0, 0.0),
        range_charge_c=(0.0, 0.0),
        range_volt_s=(counts[0] * volts / 50, counts[1] * volts / 50),
    )


@given(
    counts=st.tuples(st.integers(0, 400), st.integers(1, 400)),
    volts=st.sampled_from([1.8, 3.3, 12.0, -1.5]),
    charge_c=st.sampled_from([0.0, -0.5, 40.0]),
    least_w=st.floats(-0.1, 0.0),
    most_w=st.floats(0.0, 0.3),
)
def test_the_energy_without_current_is_that_of_offsets_steps_and_three_sigma(
    counts: tuple[int, int],
    volts: float,
    charge_c: float,
    least_w: float,
    most_w: float,
) -> None:
    window = readings(counts, volts, charge_c, (least_w, most_w))
    # Each sample lasts 20 ms: offset and half a step add up, noise adds in squares.
    still_as = 0.02 * (counts[0] * 4e-6 + counts[1] * 4e-4)
    noise_as = 0.02 * math.hypot(
        5e-6 * math.sqrt(counts[0]), 2e-3 * math.sqrt(counts[1])
    )
    stated_j = abs(volts) * (still_as + 3 * noise_as)
    # Readings about zero, of both signs: two standard deviations of a mean.
    seen_j = abs(volts) * still_as
    if 0 < most_w <= 2.5 * -least_w:
        seen_j += 2 * -least_w * 0.02 * math.sqrt(sum(counts))
    still_v, noise_v = (2e-3, 4e-3) if abs(volts) <= 2.0 else (6e-3, 9e-3)
    no_voltage_j = abs(charge_c) * (still_v + 3 * noise_v / math.sqrt(sum(counts)))
    expected_j = max(stated_j, seen_j, no_voltage_j)
    assert unwired_j(window, LIMITS, 50.0) == pytest.approx(expected_j, rel=1e-9)


@pytest.mark.parametrize(
    ("least_w", "possible"),
    [(-1e-9, False), (0.0, True), (8e-6, True), (8.1e-6, False)],
)
def test_a_noise_may_be_one_sided_up_to_the_largest_reading_without_current(
    least_w: float, possible: bool
) -> None:
    # 2 uA of offset and half a step of 4 uA, at 2 V.
    window = readings((50, 0), 2.0, 0.0, (least_w, 1.0))
    assert may_be_one_sided(window, LIMITS) is possible


def test_a_device_that_draws_less_than_the_limits_is_reported_to_need_another_instrument(
    tmp_path: Path,
) -> None:
    few = [
        f"sut.virtual.{name}=1e-6"
        for name in ("idle_w", "infer.power_w", "preprocess.power_w")
    ]
    (detail,) = power(run(tmp_path, *few))
    assert "where it draws so little, this instrument cannot measure it" in detail


def rails(folder: Path, *io: str) -> Path:
    text = VIRTUAL_NULL.read_text().replace(
        "[monitor.virtual]\nsample_hz = 200_000\n", ""
    )
    text += (
        "[rail.core.virtual]\nsample_hz = 200_000\n[rail.io.virtual]\nsample_hz ="
        " 200_000\n" + "".join(f"{line}\n" for line in io)
    )
    (folder / "bench.toml").write_text(text)
    return folder / "bench.toml"


def test_a_rail_from_which_nothing_is_ever_drawn_is_named(tmp_path: Path) -> None:
    (detail,) = power(run(tmp_path, bench=rails(tmp_path, "fed_v = 1.8")))
    assert detail.startswith("io: nothing is drawn from it in any of 18 windows")
    assert detail.endswith("the bench can leave the rail out")


def test_a_rail_that_draws_no_current_for_a_while_is_no_problem(tmp_path: Path) -> None:
    # The idle current, 3.6 uA, is below its limits; the current of inference is not.
    assert (
        power(
            run(
                tmp_path,
                "sut.virtual.idle_w=0.0012",
                bench=rails(tmp_path, "share = 0.01"),
            )
        )
        == []
    )


def test_a_current_that_flows_backwards_is_named_with_its_rail(tmp_path: Path) -> None:
    details = power(
        run(tmp_path, bench=rails(tmp_path, "share = 0.01", "offset_a = -1e-3"))
    )
    assert any(
        detail.startswith("io: ") and detail.endswith("it flows backwards")
        for detail in details
    )


@pytest.mark.parametrize("name", MONITORS)
def test_probe_reads_the_supply_off_and_on(name: str) -> None:
    chosen, fed = MONITORS[name]
    good = probed(*chosen)
    assert [finding.detail for finding in good.values() if not finding.ok] == []
    assert (
        "3.3 V" in good["supply on"].detail and "3.636 mA" in good["supply on"].detail
    )
    bad = probed(*chosen, f"{fed}=2.8")
    failed = {finding.name for finding in bad.values() if not finding.ok}
    assert failed == ({"supply off", "supply on"} if name in READ else {"supply on"})
    for finding in (bad[name] for name in failed):
        assert "another cable feeds the device" in finding.detail
        assert "unplug USB" in finding.try_next
    if name in READ:
        assert bad["supply off"].detail.startswith("2.8 V")


def test_probe_of_several_rails_lets_one_draw_nothing(tmp_path: Path) -> None:
    findings = {
        finding.name: finding
        for finding in probe(rails(tmp_path, "share = 1e-6"), SLOW)
    }
    assert (
        findings["supply on of io"].ok
        and "another rail feeds the device" in findings["supply on of io"].detail
    )
    assert findings["supply on of core"].ok


@pytest.mark.parametrize("after", ["supply off", "SYNC wire", "supply on"])
def test_the_supply_is_off_after_a_probe_however_far_it_came(
    after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drivers.virtual import VirtualMonitor

    switched: list[bool] = []
    real = VirtualMonitor.power

    def power(self: VirtualMonitor, on: bool) -> None:
        switched.append(on)
        real(self, on)

    monkeypatch.setattr(VirtualMonitor, "power", power)
    rows = probe(VIRTUAL_NULL)
    assert next(row for row in rows if row.name == after).ok
    rows.close()
    assert switched[-1] is False


def test_the_simulated_cable_has_a_voltage(tmp_path: Path) -> None:
    for name, (chosen, fed) in MONITORS.items():
        if name not in ("n6705", "lpm01a"):
            with pytest.raises(ConfigError, match="fed_v"):
                run(tmp_path, *chosen, f"{fed}=-1.0")
    assert "nothing wired" in PROBLEM_CODES["power"]
