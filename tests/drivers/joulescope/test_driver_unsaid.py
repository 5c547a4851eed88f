# SPDX-License-Identifier: Apache-2.0
"""Facts that a Joulescope does not report and the driver derives: readings beyond a
range, which of several lost samples, where its own clock stood, and whether the supply
is off.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.joulescope import driver as joulescope
from drivers.joulescope.driver import Joulescope
from drivers.joulescope.models import RequestedSettings, of_path, readable
from drivers.joulescope.shared import Shared
from drivers.joulescope.sim.ranges import spans
from drivers.joulescope.sim.settings import JoulescopeFaults
from drivers.joulescope.sim.simulator import SimulatedDriver
from rig.errors import BenchError, ConfigError, DeviceBusy
from rig.trace.trace import SAID, Trace
from tests.drivers.joulescope.test_driver import (
    MODELS,
    TICKS_PER_MS,
    Bench,
    opened,
    simulated,
    three_pulses,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield from opened(tmp_path)


# --- Ranges

BOTH = ("auto", "10 A", "180 mA", "18 mA", "1.8 mA", "180 uA", "18 uA")


@pytest.mark.parametrize(
    ("model", "name"),
    [("js110", "2 A"), *product(MODELS, BOTH), ("js320", "auto"), ("js320", "18 mA")],
)
def test_a_current_in_the_range_is_measured_and_one_beyond_it_is_a_gap(
    bench: Bench, model: str, name: str
) -> None:
    monitor = bench.open(model, current_range=name)
    full_a = monitor.info.accuracy.current[-1].up_to
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.85 * full_a * 3.3, 100)
        bench.draw(1.3 * full_a * 3.3, 20)
        bench.draw(0.85 * full_a * 3.3, 100)
    trace = bench.trace()
    [gap] = joined(trace)
    begin_s = gap[0] / trace.sample_hz
    end_s = gap[1] / trace.sample_hz
    assert (begin_s, end_s) == pytest.approx((0.110, 0.130), abs=2e-4)
    assert all("beyond its range" in gap.cause for gap in trace.gaps)
    assert trace.mean_w(0.02, begin_s - 1e-4) == pytest.approx(
        0.85 * full_a * 3.3, rel=1e-6
    )
    assert trace.mean_w(end_s + 1e-4, end_s + 0.09) == pytest.approx(
        0.85 * full_a * 3.3, rel=1e-6
    )


@pytest.mark.parametrize(
    ("model", "name", "in_v", "over_v"),
    [
        ("js220", "2 V", 1.9, 3.3),
        ("js320", "2 V", 1.9, 3.3),
        ("js110", "5 V", 3.9, 4.5),
        ("js110", "15 V", 13.0, 20.0),
    ],
)
def test_a_voltage_in_the_range_is_measured_and_one_beyond_it_is_a_gap(
    bench: Bench, model: str, name: str, in_v: float, over_v: float
) -> None:
    for supply_v in (in_v, over_v):
        monitor = bench.open(
            model, voltage_range=name, simulator={"supply_v": supply_v}
        )
        monitor.power(True)
        with monitor.record(bench.folder):
            bench.draw(0.033, 100)
        trace = bench.trace()
        if supply_v == in_v:
            assert not trace.gaps and trace.mean_w(0.02, 0.1) == pytest.approx(
                0.033, rel=1e-6
            )
        else:
            assert (
                joined(trace) == [(0, trace.length)]
                and f"beyond its range (10 A, {name})" in trace.gaps[0].cause
            )
        monitor.close()


@pytest.mark.parametrize("model", MODELS)
def test_a_reverse_current_beyond_the_range_is_a_gap(bench: Bench, model: str) -> None:
    monitor = bench.open(model, current_range="18 mA", simulator={"offset_a": -0.02})
    monitor.power(True)
    with monitor.record(bench.folder):
        bench.draw(0.0, 100)
    assert joined(bench.trace()) == [(0, bench.trace().length)]


CURRENTS = {
    "js220": {
        "10 A": 129,
        "180 mA": 130,
        "18 mA": 132,
        "1.8 mA": 136,
        "180 µA": 144,
        "18 µA": 160,
    },
    "js110": {
        "auto": 128,
        "10 A": 1,
        "2 A": 2,
        "180 mA": 4,
        "18 mA": 8,
        "1.8 mA": 16,
        "180 µA": 32,
        "18 µA": 64,
    },
}


@pytest.mark.parametrize(
    ("model", "voltage", "number"),
    [
        ("js220", "15 V", 0),
        ("js220", "2 V", 1),
        ("js110", "15 V", 0),
        ("js110", "5 V", 1),
    ],
)
def test_no_reading_is_believed_at_which_the_simulated_converter_stands_still(
    model: str, voltage: str, number: int
) -> None:
    for name, select in CURRENTS[model].items():
        instrument = {
            "s/i/range/select": select,
            "s/i/range/mode": 2,
            "s/v/range/mode": 2,
            "s/v/range/select": number,
        }
        believed = readable(
            of_path(f"u/{model}/1"), RequestedSettings(0, "3.3 V", name, voltage)
        )
        for row, (least, most) in zip(
            believed.values(), spans(model, instrument), strict=True
        ):
            assert least < row.least < 0 < row.most < most, (name, row)


@pytest.mark.parametrize("model", MODELS)
def test_a_voltage_without_a_number_is_a_gap(bench: Bench, model: str) -> None:
    trace = three_pulses(
        bench,
        bench.open(
            model,
            faults=JoulescopeFaults(
                nan_at_tick=190 * TICKS_PER_MS, nan_samples=137, nan_signal="v"
            ),
        ),
    )
    [gap] = trace.gaps
    assert gap.stop - gap.start == 137 and gap.start / trace.sample_hz == pytest.approx(
        0.190, abs=2e-4
    )
    assert len(trace.falls_s) == 3


def joined(trace: Trace) -> list[tuple[int, int]]:
    """Return the gaps of a trace, those that touch as one: a block of the driver's is
    one note."""
    spans: list[tuple[int, int]] = []
    for gap in sorted(trace.gaps, key=lambda gap: gap.start):
        if spans and spans[-1][1] == gap.start:
            spans[-1] = spans[-1][0], gap.stop
        else:
            spans.append((gap.start, gap.stop))
    return spans


# --- Losses


def two_js110(bench: Bench, faults: JoulescopeFaults, pulses: int = 6) -> list[Path]:
    """Record with two JS110 at once, the first of them with the faults; check both
    between pulses.
    """
    monitors = [
        bench.open("js110", faults=faults),
        bench.open("js110", simulator={"serials": ("000416",)}),
    ]
    folders = [bench.folder / name for name in ("first", "second")]
    for monitor, folder in zip(monitors, folders, strict=True):
        folder.mkdir()
        monitor.power(True)
    with (
        monitors[0].record(folders[0]) as item,
        monitors[1].record(folders[1]) as other,
    ):
        for _ in range(pulses):
            bench.pulse(100)
            item.check()
            other.check()
    for monitor in monitors:
        monitor.close()
    return folders


def test_two_js110_without_a_loss_are_two_traces_without_a_gap(bench: Bench) -> None:
    for folder in two_js110(bench, JoulescopeFaults()):
        trace = Trace.open(folder / "trace.jls")
        assert not trace.gaps and len(trace.falls_s) == 6


def test_of_two_js110_none_is_reported_to_have_lost_what_the_log_does_not_ascribe(
    bench: Bench,
) -> None:
    faults = JoulescopeFaults(
        drop_at_tick=200 * TICKS_PER_MS, drop_ticks=10 * TICKS_PER_MS
    )
    with pytest.raises(BenchError, match="one of several JS110 lost samples") as caught:
        two_js110(bench, faults, pulses=60)
    assert (
        "pkt_index skip: expected" in caught.value.evidence
        and "rig resume" in caught.value.try_next
    )
    lengths = []
    for name in ("first", "second"):
        trace = Trace.open(bench.folder / name / "trace.jls")
        assert len(trace.falls_s) >= 1, "what came before is readable"
        [gap] = trace.gaps
        assert gap.start <= 200 * TICKS_PER_MS and gap.stop == trace.length, (
            "what lies about the loss does not count"
        )
        lengths.append(trace.length)
    assert max(lengths) < 3 * 2e6, "nothing more was written"


def test_a_js110_beside_a_js220_keeps_its_losses_to_itself(bench: Bench) -> None:
    faults = JoulescopeFaults(
        drop_at_tick=200 * TICKS_PER_MS, drop_ticks=10 * TICKS_PER_MS
    )
    monitors = [bench.open("js110", faults=faults), bench.open("js220")]
    for name, monitor in zip(MODELS, monitors, strict=True):
        (bench.folder / name).mkdir()
        monitor.power(True)
    with (
        monitors[0].record(bench.folder / MODELS[0]),
        monitors[1].record(bench.folder / MODELS[1]),
    ):
        for _ in range(6):
            bench.pulse(100)
    gaps = [Trace.open(bench.folder / name / "trace.jls").gaps for name in MODELS]
    assert len(gaps[0]) == 2 and not gaps[1]


def test_a_js110_that_records_after_another_knows_again_whose_loss_it_is(
    bench: Bench,
) -> None:
    two_js110(bench, JoulescopeFaults())
    faults = JoulescopeFaults(
        drop_at_tick=100 * TICKS_PER_MS, drop_ticks=10 * TICKS_PER_MS
    )
    assert len(three_pulses(bench, bench.open("js110", faults=faults)).gaps) == 2


@pytest.mark.parametrize("packets", [1, 4, 16, 80])
def test_what_a_js110_loses_without_a_word_brings_later_edges_forward_by_as_much(
    bench: Bench, packets: int
) -> None:
    lost = packets * 126
    faults = JoulescopeFaults(
        drop_at_tick=100 * TICKS_PER_MS, drop_ticks=lost, drop_unlogged=True
    )
    monitor = bench.open("js110", faults=faults)
    trace = three_pulses(bench, monitor)
    assert not trace.gaps, (
        "less than 20 ms cannot be told from a late block: the edges tell it"
    )
    expected_s = (
        trace.falls_s[0] + np.array([0.0, 0.1, 0.2]) - np.array([0, lost, lost]) / 2e6
    )
    assert trace.falls_s == pytest.approx(expected_s, abs=2e-6)
    assert "edges that come too early" in monitor.info.details["lost_samples"]


@pytest.mark.parametrize("model", MODELS)
def test_streams_that_all_end_while_the_instrument_stays_are_one_error_that_names_them(
    bench: Bench, model: str
) -> None:
    faults = JoulescopeFaults(
        drop_at_tick=100 * TICKS_PER_MS, drop_ticks=10**9, drop_unlogged=True
    )
    monitor = bench.open(model, faults=faults)
    with (
        pytest.raises(
            BenchError, match="no current and no voltage and no sync any more"
        ),
        monitor.record(bench.folder),
    ):
        for _ in range(10):
            bench.pulse(100)
    assert bench.trace().duration_s == pytest.approx(0.100, abs=1e-3), (
        "what came is kept"
    )


def test_in_real_time_streams_that_end_shortly_before_the_recording_are_reported(
    bench: Bench,
) -> None:
    bench.live()
    monitor = bench.open(
        faults=JoulescopeFaults(drop_at_tick=300 * TICKS_PER_MS, drop_ticks=10**9),
        simulator={"discards": True},
    )
    with (
        pytest.raises(
            BenchError, match="no current and no voltage and no sync any more"
        ),
        monitor.record(bench.folder),
    ):
        bench.draw(0.033, 1000)


# --- The supply

SUPPLY = {"js220": "s/i/range/mode", "js110": "s/i/range/select"}
#: The instrument is off when it is opened, so that "off" is not retransmitted: the
#: first of the supply's values is on, the second off.
ON = 1
OFF = 2


def refusing(bench: Bench, model: str, *which: int, **more: Any) -> Joulescope:
    return bench.open(
        model, faults=JoulescopeFaults(refuse=SUPPLY[model], refuse_only=which, **more)
    )


def refusal(model: str) -> str:
    return {
        "js220": "does not answer to s/i/range/mode",
        "js110": "refuses s/i/range/select",
    }[model]


@pytest.mark.parametrize("model", MODELS)
def test_a_supply_that_does_not_go_on_is_reported_and_goes_off_at_the_end(
    bench: Bench, model: str
) -> None:
    monitor = refusing(bench, model, ON)
    with pytest.raises(BenchError, match=refusal(model)):
        monitor.power(True)
    monitor.close()
    assert not bench.context.world.supply_on


@pytest.mark.parametrize("model", MODELS)
def test_a_supply_that_went_off_only_when_it_was_asked_again_is_off_and_reported_once(
    bench: Bench, model: str
) -> None:
    monitor = refusing(bench, model, OFF)
    monitor.power(True)
    with pytest.raises(
        BenchError, match="switched the DUT's supply off only when it was opened again"
    ) as caught:
        monitor.power(False)
    assert refusal(model) in caught.value.evidence and caught.value.try_next.startswith(
        "it is off"
    )
    assert not bench.context.world.supply_on
    monitor.close()


def test_a_supply_of_a_js110_that_went_off_and_reported_so_too_late_is_asked_again(
    bench: Bench,
) -> None:
    monitor = refusing(bench, "js110", OFF, unanswered=True)
    monitor.power(True)
    with pytest.raises(
        BenchError, match="switched the DUT's supply off only when it was opened again"
    ) as caught:
        monitor.close()
    assert (
        "does not answer to s/i/range/select" in caught.value.evidence
        and caught.value.try_next.startswith("it is off")
    )
    assert not bench.context.world.supply_on


@pytest.mark.parametrize("model", MODELS)
def test_a_supply_that_never_goes_off_is_reported_as_one_that_may_still_be_on_each_time(
    bench: Bench, model: str
) -> None:
    monitor = refusing(bench, model, *range(OFF, 9))
    monitor.power(True)
    for leave in (lambda: monitor.power(False), monitor.close):
        with pytest.raises(
            BenchError, match="does not switch the DUT's supply off"
        ) as caught:
            leave()
        assert (
            refusal(model) in caught.value.evidence
            and "may still be on" in caught.value.try_next
        )
    assert bench.context.world.supply_on, "nobody could switch it off"
    bench.context.world.supply_on = False


@pytest.mark.parametrize("model", MODELS)
def test_a_supply_that_cannot_be_asked_again_is_reported_as_one_that_may_still_be_on(
    bench: Bench, model: str
) -> None:
    monitor = refusing(bench, model, OFF, opens_once=True)
    monitor.power(True)
    with pytest.raises(
        BenchError, match="does not switch the DUT's supply off"
    ) as caught:
        monitor.close()
    assert (
        refusal(model) in caught.value.evidence
        and "does not open again" in caught.value.evidence
    )
    assert "may still be on" in caught.value.try_next and bench.context.world.supply_on
    bench.context.world.supply_on = False


@pytest.mark.parametrize("model", MODELS)
def test_a_supply_whose_state_is_not_known_is_reported_when_opening(
    bench: Bench, model: str
) -> None:
    # Found on, "off" is the first that is sent.
    with pytest.raises(
        BenchError, match="does not switch the DUT's supply off"
    ) as caught:
        refusing(bench, model, *range(1, 9), found_on=True)
    assert "may still be on" in caught.value.try_next
    assert bench.context.world.supply_on
    bench.context.world.supply_on = False


@pytest.mark.parametrize(
    ("topic", "says"), [("s/v/range/select", "stream"), ("s/extio/voltage", "extio")]
)
def test_what_a_js110_acknowledges_and_does_not_carry_out_is_a_refusal(
    bench: Bench, topic: str, says: str
) -> None:
    with pytest.raises(BenchError, match=f"refuses {topic}") as caught:
        bench.open(
            "js110",
            faults=JoulescopeFaults(refuse=topic),
            voltage_range="5 V",
            reference="1.8 V",
        )
    assert (
        f"{says}_settings_send did not work" in caught.value.evidence
        and "wanted" in caught.value.evidence
    )


def test_a_js110_whose_log_is_not_heard_is_not_believed(bench: Bench) -> None:
    logger = logging.getLogger("jsdrv")
    logger.setLevel(logging.CRITICAL)
    try:
        with pytest.raises(BenchError) as caught:
            bench.open("js110")
    finally:
        logger.setLevel(logging.NOTSET)
    assert (
        "the log of the Joulescope driver is not heard"
        in f"{caught.value.cause} {caught.value.evidence}"
    )


def test_of_what_a_js110_is_asked_its_log_is_silent_about_others(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    monitor = bench.open("js110")
    monitor.power(True)
    monitor.close()
    assert not caplog.records, (
        "the lines that are provoked to know that all was heard are for the driver alone"
    )


@pytest.mark.parametrize(("which", "wanted"), [(1, 1), (2, 0)])
def test_a_stream_that_is_not_switched_is_reported_and_what_came_is_kept(
    bench: Bench, which: int, wanted: int
) -> None:
    monitor = bench.open(
        faults=JoulescopeFaults(refuse="s/v/ctrl", refuse_only=(which,))
    )
    monitor.power(True)
    with (
        pytest.raises(BenchError, match="does not answer to s/v/ctrl") as caught,
        monitor.record(bench.folder),
    ):
        bench.draw(0.033, 300)
    assert f"wanted {wanted}" in caught.value.evidence
    assert (bench.trace().duration_s > 0.25) == (wanted == 0)


# --- Identity


def test_the_same_serial_number_on_two_models_is_ambiguous(bench: Bench) -> None:
    beside: dict[str, Any] = {"beside": ("u/js110/000415",)}
    with pytest.raises(
        ConfigError, match="several Joulescopes 000415 are attached"
    ) as caught:
        bench.open(simulator=beside, device="simulator/000415")
    assert caught.value.evidence == "u/js110/000415, u/js220/000415"
    assert (
        bench.open(simulator=beside, device="simulator/JS220-000415").info.name
        == "Joulescope JS220"
    )


def test_a_model_that_is_unknown_is_refused_by_name_and_listed_by_a_scan(
    bench: Bench,
) -> None:
    beside = ("u/js9/000001",)
    with pytest.raises(
        ConfigError, match="u/js9/000001 is none of JS110, JS220, JS320"
    ) as caught:
        bench.open(simulator={"serials": (), "beside": beside})
    assert caught.value.evidence == "JS9: it is unknown"
    with simulated(beside=beside) as (driver, _):
        assert [
            row.problem for row in joulescope.found(driver, Shared(SimulatedDriver))
        ] == ["", "JS9: it is unknown"]


@pytest.mark.parametrize(
    ("fpga", "noted"), [("1.3.2", True), ("1.3.3", False), ("1.10.0", False)]
)
def test_an_fpga_image_that_tells_utc_wrongly_is_noted(
    bench: Bench, fpga: str, noted: bool
) -> None:
    details = bench.open(simulator={"fpga": fpga}).info.details
    assert details["s/fpga/version"] == fpga and ("fpga_note" in details) == noted


def test_a_js110_that_another_program_has_is_busy(bench: Bench) -> None:
    with pytest.raises(
        DeviceBusy, match="u/js110/000415 is attached but does not open"
    ):
        bench.open("js110", faults=JoulescopeFaults(busy=True))


# --- Its clock


def test_what_the_time_maps_say_is_kept_beside_the_trace(bench: Bench) -> None:
    three_pulses(
        bench,
        bench.open(
            faults=JoulescopeFaults(time_map_at_tick=150 * TICKS_PER_MS),
            simulator={"clock_ppm": 20.0},
        ),
    )
    output = json.loads((bench.folder / SAID).read_text())
    kept = output["time_maps"]
    assert kept["count"] == 2
    assert kept["counter_rates_hz"] == pytest.approx(
        [2e6 * (1 + 20e-6), 2e6 * (1 + 20e-6) * (1 + 5e-6)], rel=1e-9
    )
    first = kept["first"]
    last = kept["last"]
    assert (
        first["counter_rate"] == kept["counter_rates_hz"][0]
        and last["counter_rate"] == kept["counter_rates_hz"][1]
    )
    assert last["offset_counter"] - first["offset_counter"] == pytest.approx(
        150 * TICKS_PER_MS, abs=2000
    )
    assert 0 <= output["first_sample_counter"] - first["offset_counter"] < 1000
    # UTC was corrected by 1 ms there.
    passed_s = (last["offset_counter"] - first["offset_counter"]) / first[
        "counter_rate"
    ]
    assert (last["offset_time"] - first["offset_time"]) / 2**30 == pytest.approx(
        passed_s + 1e-3, abs=1e-6
    )


def test_the_time_maps_of_a_recording_that_was_cut_off_are_kept_too(
    bench: Bench,
) -> None:
    monitor = bench.open(faults=JoulescopeFaults(mute="v"))
    with pytest.raises(BenchError), monitor.record(bench.folder):
        bench.draw(0.033, 300)
    output = json.loads((bench.folder / SAID).read_text())
    assert output["time_maps"]["count"] == 1 and output["first_sample_counter"] is None
