# SPDX-License-Identifier: Apache-2.0
"""The faults of instruments, seen through a whole session: each case injects one and
sees only its problem or its error.

The device is the virtual one, so its time is virtual: always the same parts of a trial
last from and to the same second. `IN` lies inside a phase of the second sample, `OUT`
while that sample is loaded, inside no window.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

from rig.bench import parts
from rig.errors import (
    BenchError,
    ConfigError,
    DeadlineError,
    DeviceBusy,
    DeviceLost,
    DeviceNotFound,
    RemoteProtocolError,
    RigError,
)
from rig.interfaces.context import BenchContext
from rig.session.session import SessionResult, open_bench
from rig.simulation.world import World
from rig.store.events import Event
from rig.store.session_folder import SAMPLES
from rig.trace.trace import GAPS, SAID, TRACE, Trace
from tests.checking import check
from tests.waiting import own_threads


@dataclass(frozen=True, slots=True)
class Instrument:
    """How a bench names an instrument, its requirements on a device, and where faults
    are put, in seconds from the first sample.
    """

    context: str
    sut: str
    inside_s: float
    outside_s: float

    @property
    def faults(self) -> str:
        """Return where its faults lie in the bench file."""
        return f"{self.context.splitlines()[0].strip('[]')}.simulator.faults"


JOULESCOPE = '[monitor.joulescope]\ndevice = "simulator"\n'
LPM = '[monitor.st_lpm01a]\nport = "simulator"\n'
PPK2 = '[monitor.nordic_ppk2]\nport = "simulator"\n'
N6705 = '[monitor.keysight_n6705]\nresource = "simulator"\ntimeout_s = 0.5\n'
INSTRUMENTS = {
    "js220": Instrument(JOULESCOPE, "", 0.54, 0.45),
    # A loss is known to a tenth of a second: so much longer are the windows apart.
    "js110": Instrument(
        JOULESCOPE + '[monitor.joulescope.simulator]\nmodel = "js110"\n',
        "load_s = 0.4\n",
        1.14,
        0.9,
    ),
    "lpm01a": Instrument(
        LPM, "sync_hold_us = 500\nsync_period_us = 20_000\n", 0.83, 0.74
    ),
    "ppk2": Instrument(PPK2, "", 0.54, 0.45),
    "n6705": Instrument(
        N6705, "sync_hold_us = 800\nsync_period_us = 10_000\n", 0.67, 0.58
    ),
    "io manager": Instrument(
        N6705 + 'sync = "io_manager"\nio_manager.ppm = 100.0\n',
        "sync_hold_us = 800\nsync_period_us = 10_000\n",
        0.67,
        0.58,
    ),
    "n6705 trigger": Instrument(
        N6705 + 'sync = "trigger"\n',
        "sync_hold_us = 800\nsync_period_us = 10_000\n",
        0.67,
        0.58,
    ),
}
BENCH = """
[bench]
name = "faults"
[sut.virtual]
{sut}
{monitor}
[scenario.single_stream]
idle_s = 0.2
warmup = 0
[task.null]
samples = 3
"""
JS_HZ = 2_000_000
LPM_HZ = 5_000
PPK2_HZ = 100_000
PPK2_WORD_B = 4
#: Windows of a trial: two idle times, three samples of two phases.
WINDOWS = 8


@dataclass(slots=True)
class Seen:
    """The end of a session: its result, or the error that ended it; the truth of the
    bench after it.
    """

    result: SessionResult | None
    error: RigError | None
    world: World
    root: Path

    @property
    def codes(self) -> list[str]:
        """Return the codes of all problems."""
        assert self.result is not None, self.error
        return [problem["code"] for problem in self.result.content["problems"]]

    @property
    def detail(self) -> str:
        """Return the text of the only problem."""
        assert self.result is not None
        [problem] = self.result.content["problems"]
        return str(problem["detail"])

    @property
    def told(self) -> str:
        """Return the statements on the instrument in the trial's gaps and the session's
        provenance.
        """
        assert self.result is not None
        gaps = (self.folder / "trial-1" / GAPS).read_text()
        return gaps + json.dumps(self.result.content["provenance"]["monitors"][""])

    @property
    def folder(self) -> Path:
        """Return the folder of the session."""
        [folder] = self.root.iterdir()
        return folder


Run = Callable[..., Seen]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run one trial with faults; after any result, no thread is left and no file
    unfinished.
    """

    def start(name: str, faults: Sequence[str] = (), pace_s: float = 0.0) -> Seen:
        instrument = INSTRUMENTS[name]
        tables = list[BenchContext]()
        root = tmp_path / "sessions"
        (tmp_path / "bench.toml").write_text(
            BENCH.format(
                sut=(
                    instrument.sut
                    if "load_s" in instrument.sut
                    else f"load_s = 0.1\n{instrument.sut}"
                ),
                monitor=instrument.context,
            )
        )
        overrides = [
            (
                fault
                if fault.split(".")[0] in ("monitor", "sut", "scenario")
                else f"{instrument.faults}.{fault}"
            )
            for fault in faults
        ]

        def context(**settings: Any) -> BenchContext:
            tables.append(BenchContext(**settings))
            return tables[-1]

        def pace(event: Event) -> None:
            time.sleep(pace_s)  # the pace of a bench in real time

        monkeypatch.setattr(parts, "BenchContext", context)
        before = own_threads()
        result = None
        error = None
        try:
            with open_bench(tmp_path / "bench.toml", overrides) as bench:
                result = bench.run(1, root, [pace])
        except RigError as caught:
            error = caught
        assert own_threads() == before, "a thread outlives the session"
        assert not list(tmp_path.rglob("*.partial"))
        return Seen(result, error, tables[0].world, root)

    return start


def inside(name: str, hz: int = JS_HZ) -> int:
    return round(INSTRUMENTS[name].inside_s * hz)


def outside(name: str, hz: int = JS_HZ) -> int:
    return round(INSTRUMENTS[name].outside_s * hz)


def lpm_byte(at_s: float) -> int:
    """Return about where in its stream the board tells of a time: nine bytes a sample,
    a line every thousand, a line an edge.
    """
    samples = round(at_s * LPM_HZ)
    edges = 13
    return 9 * samples + 35 * (samples // 1000 + 1) + 14 * edges


LPM_IN, LPM_OUT = (
    lpm_byte(at_s)
    for at_s in (INSTRUMENTS["lpm01a"].inside_s, INSTRUMENTS["lpm01a"].outside_s)
)


# --- Without faults


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_without_a_fault_there_is_no_problem_and_the_places_of_faults_are_where_they_should_be(
    run: Run, name: str
) -> None:
    seen = run(name)
    assert seen.codes == [] and not seen.world.supply_on
    assert seen.result is not None
    measured = seen.result.trials[0].measured
    of_samples = (sample.windows for sample in measured.samples)
    windows = [*measured.idles, *chain.from_iterable(of_samples)]
    assert len(windows) == WINDOWS
    hit = [
        window
        for window in windows
        if window.start_s < INSTRUMENTS[name].inside_s < window.stop_s
    ]
    assert [window.phase for window in hit] == ["infer"]
    margin_s = 0.1 if name == "js110" else 0.01
    outside_s = INSTRUMENTS[name].outside_s
    assert not [
        window
        for window in windows
        if window.start_s - margin_s < outside_s < window.stop_s + margin_s
    ]
    assert check(seen.folder).ok


def cases(rows: Mapping[str, tuple[Any, ...]], repeated: Sequence[str]) -> list[Any]:
    """Return the cases of a test; the marked ones only repeat a proof of the same code,
    at some cost of time.
    """
    assert set(repeated) <= set(rows)
    marks = {name: [pytest.mark.repeats] for name in repeated}
    return [
        pytest.param(*row, id=name, marks=marks.get(name, []))
        for name, row in rows.items()
    ]


# --- Faults that concern no window

N6705_UNREADABLE = [
    (
        of,
        what,
        ["overload_records=3", f'overload_of="{of}"', f'overload_as="{value}"'],
        told + where,
    )
    for (of, where), (what, value, told) in product(
        (
            ("current", ""),
            ("voltage", ""),
            ("sync", ", on the SYNC channel"),
        ),
        (
            ("beyond the range", "9.9E37", "beyond the measuring range"),
            ("without a number", "9.91E37", "the instrument gave no number"),
        ),
    )
]
JS_HARMLESS = {
    "values without a number outside": (
        "nan_at_tick={outside} nan_samples=10",
        '"cause": "the instrument gave no number, or ',
    ),
    "another FPGA image": (
        'monitor.joulescope.simulator.fpga="1.3.2"',
        '"fpga_note": "before 1.3.3',
    ),
    "samples lost outside": (
        "drop_at_tick={outside} drop_ticks=10000",
        "lost samples of current and voltage and sync",
    ),
    "supply found on": ("found_on=true", '"supply_found_on": true'),
}
#: Instrument, faults, and the reports on them though they are no problem.
HARMLESS: dict[str, tuple[str, list[str], str]] = {
    f"js220, {what}": ("js220", fault.format(outside=outside("js220")).split(), told)
    for what, (fault, told) in JS_HARMLESS.items()
} | {
    # A packet is 126 ticks. Not counted, even one would bring all later edges forward.
    **{
        f"js110, {what} lost outside": (
            "js110",
            [f"drop_at_tick={outside('js110')}", f"drop_ticks={ticks}"],
            "pkt_index skip",
        )
        for what, ticks in (("a packet", 126), ("packets", 10_000))
    },
    "lpm01a, a byte lost outside": (
        "lpm01a",
        [f"lose_byte_at={LPM_OUT}"],
        "damaged stream",
    ),
    "lpm01a, a bit changed outside": (
        "lpm01a",
        [f"flip_byte_at={LPM_OUT}"],
        "damaged stream",
    ),
    "lpm01a, a byte too many outside": (
        "lpm01a",
        [f"insert_byte_at={LPM_OUT}"],
        "damaged stream",
    ),
    "lpm01a, an event of the first burst is lost": (
        "lpm01a",
        ["event_skipped=3"],
        "events 2 and 4 follow each other",
    ),
    "lpm01a, the first time stamp is damaged": (
        "lpm01a",
        ["flip_byte_at=5"],
        r'"start": 0, "stop": 1, .*buff 00%',
    ),
    "lpm01a, the end is not confirmed": (
        "lpm01a",
        ["no_completion=true"],
        "did not say that the acquisition was complete",
    ),
    "lpm01a, an error of before": (
        "lpm01a",
        ['old_error="overcurrent"'],
        '"status_at_open": "error: overcurrent"',
    ),
    "lpm01a, supply found on": (
        "lpm01a",
        ["supply_found_on=true"],
        '"supply_on_at_open": true',
    ),
    **{
        f"lpm01a, an earlier run has left: {stale}": (
            "lpm01a",
            [f'stale="{stale}"'],
            r'"stale_at_open_b": [1-9]',
        )
        for stale in ("streaming", "streaming binary", "half line", "summary")
    },
    **{
        f"ppk2, {samples} lost outside": (
            "ppk2",
            [f"lose_at={outside('ppk2', PPK2_HZ)}", f"lose_samples={samples}"],
            f'"cause": "{samples} samples by the PPK2\'s counter',
        )
        for samples in (1, 63)
    },
    **{
        f"ppk2, {lost} bytes lost outside": (
            "ppk2",
            [
                f"lose_byte_at={outside('ppk2', PPK2_HZ) * PPK2_WORD_B + place}",
                f"lose_bytes={lost}",
            ],
            "samples by the PPK2's counter .* (shifted|lost)",
        )
        for lost, place in ((1, 0), (1, 3), (2, 1), (3, 2), (5, 3))
    },
    "ppk2, a counter changed outside": (
        "ppk2",
        [f"flip_at={outside('ppk2', PPK2_HZ)}"],
        "samples by the PPK2's counter",
    ),
    "ppk2, an earlier run has left bytes": (
        "ppk2",
        ["stale_b=17_413"],
        '"stale_at_open_b": 17413',
    ),
    "ppk2, an earlier run still measures": (
        "ppk2",
        ["streaming=true", "stale_b=4001"],
        r'"stale_at_open_b": [1-9]',
    ),
    "ppk2, bytes of before come with the first samples": (
        "ppk2",
        ["late_stale_b=4001"],
        "samples by the PPK2's counter",
    ),
    "ppk2, constants of an unused range missing": (
        "ppk2",
        ['not_numbers=["S4", "O4"]'],
        '"constants_missing": {"4": "O S"}',
    ),
    "ppk2, not calibrated by its own words": (
        "ppk2",
        ["monitor.nordic_ppk2.simulator.calibrated=0"],
        "it says Calibrated: 0",
    ),
    **{
        f"n6705, {of} {what} outside": (
            "n6705",
            [*fault, "overload_at_s=0.58"],
            f'"cause": "{told}"',
        )
        for of, what, fault, told in N6705_UNREADABLE
    },
    "n6705, our output found on": (
        "n6705",
        ["output_on=[1]"],
        r'"outputs_found_on_and_switched_off": \[1\]',
    ),
    "n6705, the output of the SYNC channel found on": (
        "n6705",
        ["output_on=[2]"],
        r'"outputs_found_on_and_switched_off": \[2\]',
    ),
    "n6705, another output found on": (
        "n6705",
        [
            "output_on=[3]",
            'monitor.keysight_n6705.simulator.modules=["N6781A", "N6781A", "N6731B"]',
        ],
        r'"outputs_left_on": \[3\]',
    ),
}


#: The effect of a lost packet is seen in a window; each way that makes a record
#: unreadable, and each parameter that has one, is among the others.
HARMLESS_AGAIN = (
    "js110, a packet lost outside",
    "n6705, current without a number outside",
    "n6705, voltage beyond the range outside",
    "n6705, sync without a number outside",
)


@pytest.mark.parametrize(("name", "faults", "told"), cases(HARMLESS, HARMLESS_AGAIN))
def test_a_fault_in_no_window_is_no_problem_but_told(
    run: Run, name: str, faults: list[str], told: str
) -> None:
    seen = run(name, faults)
    assert seen.codes == []
    assert re.search(told, seen.told), seen.told
    assert not seen.world.supply_on


@pytest.mark.parametrize("name", ["js220", "js110"])
def test_a_block_that_comes_twice_and_a_correction_of_utc_change_not_one_digit(
    run: Run,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
) -> None:
    texts = []
    happened = []
    both = [f"duplicate_at_tick={inside(name)}", f"time_map_at_tick={inside(name)}"]
    for faults in ([], both):
        seen = run(name, faults)
        assert seen.codes == []
        texts.append((seen.folder / "trial-1" / SAMPLES).read_text())
        about = json.loads((seen.folder / "trial-1" / SAID).read_text())
        happened.append((about["repeated_blocks"], about["time_maps"]["count"]))
        seen.folder.rename(tmp_path_factory.mktemp("session") / "moved")
    assert texts[0] == texts[1]
    assert happened == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    "name", ["js220", pytest.param("js110", marks=pytest.mark.repeats)]
)
def test_a_sync_that_begins_a_millisecond_later_takes_as_much_from_the_trace_and_no_more(
    run: Run, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    lengths_s = []
    measured = []
    for faults in ([], ["gpi_late_ticks=2000"]):
        seen = run(name, faults)
        assert seen.codes == [] and not seen.world.supply_on
        assert seen.result is not None
        lengths_s.append(Trace.open(seen.folder / "trial-1" / TRACE).duration_s)
        measured.append(
            {
                metric: row["value"]
                for metric, row in seen.result.content["metrics"].items()
            }
        )
        seen.folder.rename(tmp_path_factory.mktemp("session") / "moved")
    assert lengths_s[0] - lengths_s[1] == pytest.approx(0.001, abs=1e-5)
    assert measured[1] == pytest.approx(measured[0], rel=1e-6)


# --- Faults that spoil the trial

LOST = "drop_at_tick={} drop_ticks=2000"
GAP_1 = f"^1 of {WINDOWS} windows, first infer of step 5"
GAP_3 = f"^3 of {WINDOWS} windows, first preprocess of step 3"
SPOILT: dict[str, tuple[str, list[str], str, str]] = {
    "js220, samples lost": (
        "js220",
        LOST.format(inside("js220")).split(),
        "gap",
        f"{GAP_1} .*lost samples of current and voltage and sync",
    ),
    **{
        f"js220, samples of {what} lost": (
            "js220",
            [*LOST.format(inside("js220")).split(), f'drop_signal="{signal}"'],
            "gap",
            f"{GAP_1} .*lost samples of {what}",
        )
        for signal, what in (("i", "current"), ("v", "voltage"), ("gpi", "sync"))
    },
    "js220, no number": (
        "js220",
        [f"nan_at_tick={inside('js220')}", "nan_samples=10"],
        "gap",
        f"{GAP_1} .*no number",
    ),
    "js220, no number of voltage": (
        "js220",
        [f"nan_at_tick={inside('js220')}", "nan_samples=10", 'nan_signal="v"'],
        "gap",
        f"{GAP_1} .*no number",
    ),
    **{
        f"{model}, beyond the range while it infers": (
            model,
            [
                'monitor.joulescope.current_range="18 mA"',
                "sut.virtual.infer.power_w=0.08",
            ],
            "gap",
            (
                f"^5 of {WINDOWS} windows, first infer of step 3 .*beyond its range"
                " \\(18 mA, 15 V\\)"
            ),
        )
        for model in ("js220", "js110")
    },
    **{
        f"{model}, beyond the highest range while it infers": (
            model,
            ["sut.virtual.infer.power_w=50.0"],
            "gap",
            (
                f"^5 of {WINDOWS} windows, first infer of step 3 .*beyond its range"
                " \\(10 A, 15 V\\)"
            ),
        )
        for model in ("js220", "js110")
    },
    **{
        f"{model}, always beyond the range of {signal}": (
            model,
            fault,
            "gap",
            "samples, and with them all edges",
        )
        for model, signal, fault in (
            ("js220", "current", ['monitor.joulescope.current_range="18 uA"']),
            ("js110", "current", ['monitor.joulescope.current_range="18 uA"']),
            ("js220", "voltage", ['monitor.joulescope.voltage_range="2 V"']),
            (
                "js110",
                "voltage",
                [
                    'monitor.joulescope.voltage_range="5 V"',
                    "monitor.joulescope.simulator.supply_v=4.5",
                ],
            ),
        )
    },
    "js220, SYNC begins too late": (
        "js220",
        ["gpi_late_ticks=60000"],
        "edges",
        "no edge for mark 1, 2",
    ),
    "js220, SYNC at another input": (
        "js220",
        ["monitor.joulescope.simulator.sync_gpi=1"],
        "edges",
        "0 falling edges.*wired",
    ),
    "js220, Vref not wired": (
        "js220",
        ['monitor.joulescope.reference="external"'],
        "edges",
        "0 falling edges.*reference voltage",
    ),
    **{
        f"js110, {what} lost": (
            "js110",
            [f"drop_at_tick={inside('js110')}", f"drop_ticks={ticks}"],
            "gap",
            "^2 of 8 windows, first preprocess of step 5 .*pkt_index",
        )
        for what, ticks in (("a packet", 126), ("packets", 2000))
    },
    # Found from the edges that come too early, at any size; the driver cannot detect
    # it.
    **{
        f"js110, {ticks} ticks lost and not a word": (
            "js110",
            [
                f"drop_at_tick={inside('js110')}",
                f"drop_ticks={ticks}",
                "drop_unlogged=true",
            ],
            code,
            words,
        )
        for ticks, code, words in (
            (126, "sync", "^an edge lies 3.* us off the line"),
            (504, "sync", "^an edge lies 14.* us off the line"),
            (2000, "edges", "^29 marks, 29 falling edges"),
            (10000, "edges", "^29 marks, 29 falling edges"),
        )
    },
    "js110, no number": (
        "js110",
        [f"nan_at_tick={inside('js110')}", "nan_samples=10"],
        "gap",
        f"{GAP_1} .*no number",
    ),
    "lpm01a, a byte lost": (
        "lpm01a",
        [f"lose_byte_at={LPM_IN}"],
        "gap",
        f"{GAP_1} .*damaged stream",
    ),
    **{
        # With whole lines lost, others may be missing between the same two time stamps.
        f"lpm01a, a hundred bytes lost {where}": (
            "lpm01a",
            [f"lose_byte_at={at}", "lose_bytes=100"],
            "gap",
            (
                f"^{windows} of {WINDOWS} windows, .*damaged stream: .*whole lines are"
                " missing"
            ),
        )
        for where, at, windows in (("inside", LPM_IN, 4), ("outside", LPM_OUT, 3))
    },
    "lpm01a, more current than it promises to measure": (
        "lpm01a",
        ["sut.virtual.infer.power_w=0.18"],
        "gap",
        f"^3 of {WINDOWS} windows, first infer of step 3 .*beyond the measuring range",
    ),
    "lpm01a, a bit changed": (
        "lpm01a",
        [f"flip_byte_at={LPM_IN}", "flip_mask=128"],
        "gap",
        f"{GAP_1} .*damaged stream",
    ),
    "lpm01a, a byte too many": (
        "lpm01a",
        [f"insert_byte_at={LPM_IN}"],
        "gap",
        f"{GAP_1} .*damaged stream",
    ),
    "lpm01a, an event lost": (
        "lpm01a",
        ["event_skipped=12"],
        "gap",
        f"{GAP_3} .*events 11 and 13 follow each other",
    ),
    "lpm01a, the first event lost": (
        "lpm01a",
        ["event_skipped=0"],
        "edges",
        "28 pairs; no edge for mark 1$",
    ),
    "lpm01a, the last event lost": (
        "lpm01a",
        ["event_skipped=28"],
        "edges",
        "28 pairs; no edge for mark 29$",
    ),
    **{
        f"ppk2, {samples} lost": (
            "ppk2",
            [f"lose_at={inside('ppk2', PPK2_HZ)}", f"lose_samples={samples}"],
            "gap",
            f"{GAP_1} .*{samples} samples by the PPK2's counter",
        )
        for samples in (1, 63)
    },
    # The counter is as before: only the edges of SYNC show it, and of much the clock.
    **{
        f"ppk2, {samples} lost, as many as the counter has": (
            "ppk2",
            [f"lose_at={inside('ppk2', PPK2_HZ)}", f"lose_samples={samples}"],
            "edges",
            "^29 marks, 29 falling edges, 0 pairs; the edges fit the marks in more",
        )
        for samples in (64, 128)
    },
    **{
        f"ppk2, {lost} bytes lost from byte {place}": (
            "ppk2",
            [
                f"lose_byte_at={inside('ppk2', PPK2_HZ) * PPK2_WORD_B + place}",
                f"lose_bytes={lost}",
            ],
            "gap",
            f"{GAP_1} .*samples by the PPK2's counter",
        )
        for lost, place in ((1, 0), (1, 2), (2, 3), (3, 1))
    },
    "ppk2, a counter changed": (
        "ppk2",
        [f"flip_at={inside('ppk2', PPK2_HZ)}"],
        "gap",
        f"{GAP_1} .*1 samples by the PPK2's counter",
    ),
    "ppk2, the converter at its end": (
        "ppk2",
        [f"saturate_at={inside('ppk2', PPK2_HZ)}", "saturate_samples=3"],
        "gap",
        f"{GAP_1} .*beyond the measuring range",
    ),
    "ppk2, more current than it promises to measure": (
        "ppk2",
        ["sut.virtual.infer.power_w=3.6"],
        "gap",
        f"^3 of {WINDOWS} windows, first infer of step 3 .*beyond the measuring range",
    ),
    "ppk2, a range that does not exist": (
        "ppk2",
        [f"no_range_at={inside('ppk2', PPK2_HZ)}"],
        "gap",
        f"{GAP_1} .*its range does not exist",
    ),
    "ppk2, constants of a range in use missing": (
        "ppk2",
        ['not_numbers=["GI3"]'],
        "gap",
        "in range 3, whose GI is not known",
    ),
    **{
        f"ppk2, a logic port without a supply, {level}": (
            "ppk2",
            [f'logic_stuck="{level}"'],
            "edges",
            "29 marks, 0 falling edges",
        )
        for level in ("low", "high")
    },
    "ppk2, a supply that is not switched on": (
        "ppk2",
        ["disobeys=[12]"],
        "edges",
        "29 marks, 0 falling edges",
    ),
    **{
        f"n6705, {of} {what}": (
            "n6705",
            [*fault, "overload_at_s=0.67"],
            "gap",
            f"{GAP_1} .*: {told}\\)$",
        )
        for of, what, fault, told in N6705_UNREADABLE
    },
    "n6705, always beyond the range": (
        "n6705",
        ['monitor.keysight_n6705.current_range="0.001"'],
        "gap",
        "samples, and with them all edges",
    ),
    "n6705, records of all channels overwritten": (
        "n6705",
        ["lose_at_s=0.67", "lose_records=400"],
        "edges",
        "28 falling edges",
    ),
    "n6705, three records of all channels overwritten": (
        "n6705",
        ["lose_at_s=0.67", "lose_records=3"],
        "sync",
        "us off the line",
    ),
    "n6705, a fourth parameter is logged in secret": (
        "n6705",
        ["stuck=1", "stuck_hidden=true"],
        "clock",
        "close to 3/4",
    ),
    "n6705, three parameters are logged in secret": (
        "n6705",
        ["stuck=3", "stuck_hidden=true"],
        "clock",
        "close to 1/2",
    ),
    "io manager, an edge lost": (
        "io manager",
        ["lost_lap=15"],
        "edges",
        "28 falling edges, 28 pairs; no edge for mark 15$",
    ),
    "io manager, an edge too many": (
        "io manager",
        ["extra_lap=15"],
        "edges",
        "30 falling edges, 29 pairs; bounced: edge 16$",
    ),
}


#: Of an undetected loss, a small one (126 ticks) and a large one (2000) are enough; of
#: a range, each signal and each model; of unreadable records as above, the other half.
SPOILT_AGAIN = (
    "js110, 504 ticks lost and not a word",
    "js110, 10000 ticks lost and not a word",
    "js110, packets lost",
    "js110, beyond the highest range while it infers",
    "js110, always beyond the range of current",
    "js220, always beyond the range of voltage",
    "js220, samples of voltage lost",
    "n6705, current beyond the range",
    "n6705, voltage without a number",
    "n6705, sync beyond the range",
)


@pytest.mark.parametrize(
    ("name", "faults", "code", "words"), cases(SPOILT, SPOILT_AGAIN)
)
def test_a_fault_in_a_window_is_its_problem_and_no_other(
    run: Run, name: str, faults: list[str], code: str, words: str
) -> None:
    seen = run(name, faults)
    assert seen.codes == [code], (
        seen.result.content["problems"] if seen.result else seen.error
    )
    assert re.search(words, seen.detail), seen.detail
    assert seen.result is not None and not seen.result.ok and not seen.world.supply_on
    # Unspoilt samples are measured, and all of it is found again.
    assert seen.result.content["samples"]["per_trial"] == [3]
    assert check(seen.folder).ok


@pytest.mark.parametrize("samples", [64, 65, 127, 640, 6400])
@pytest.mark.parametrize("place", [inside, outside])
def test_no_number_of_samples_that_a_ppk2_loses_leaves_a_valid_trial_with_wrong_times(
    run: Run, place: Callable[..., int], samples: int
) -> None:
    at = place("ppk2", PPK2_HZ)
    seen = run("ppk2", [f"lose_at={at}", f"lose_samples={samples}"])
    assert seen.result is not None and not seen.result.ok
    assert set(seen.codes) <= {"edges", "sync", "gap"} and seen.codes
    assert check(seen.folder).ok


# --- Faults that end the session

Ending = tuple[str, list[str], type[RigError], str]
BEGUN: dict[str, Ending] = {
    "js220, unplugged": (
        "js220",
        [f"remove_at_tick={inside('js220')}"],
        DeviceLost,
        "is gone",
    ),
    "js110, unplugged": (
        "js110",
        [f"remove_at_tick={inside('js110')}"],
        DeviceLost,
        "is gone",
    ),
    **{
        f"js220, no {what}": (
            "js220",
            [f'mute="{signal}"'],
            BenchError,
            f"sends no {what}",
        )
        for signal, what in (("i", "current"), ("v", "voltage"), ("gpi", "sync"))
    },
    **{
        f"{model}, all streams end": (
            model,
            [
                f"drop_at_tick={inside(model)}",
                "drop_ticks=1000000000",
                "drop_unlogged=true",
            ],
            BenchError,
            "sends no current and no voltage and no sync any more",
        )
        for model in ("js220", "js110")
    },
    "js220, voltage ends": (
        "js220",
        [f"drop_at_tick={inside('js220')}", "drop_ticks=1000000000", 'drop_signal="v"'],
        BenchError,
        "sends no voltage any more",
    ),
    **{
        f"{model}, {topic} not acknowledged when its stream {when}": (
            model,
            [f'refuse="{topic}"', f"refuse_only=[{which}]"],
            BenchError,
            f"{said} {topic}",
        )
        for model, topic, which, when, said in (
            ("js220", "s/v/ctrl", 1, "starts", "does not answer to"),
            ("js220", "s/v/ctrl", 2, "stops", "does not answer to"),
            # The host tells a JS110 of the first stream that starts and the last that
            # stops.
            ("js110", "s/i/ctrl", 1, "starts", "refuses"),
            ("js110", "s/gpi/0/ctrl", 2, "stops", "refuses"),
        )
    },
    "js110, s/v/ctrl acknowledged too late": (
        "js110",
        ['refuse="s/v/ctrl"', "refuse_only=[1]", "unanswered=true"],
        BenchError,
        "does not answer to s/v/ctrl",
    ),
    "lpm01a, unplugged": ("lpm01a", ["unplugged_at_s=0.83"], DeviceLost, "is gone"),
    "lpm01a, overcurrent": (
        "lpm01a",
        ["overcurrent_at_s=0.83"],
        BenchError,
        "reports: overcurrent",
    ),
    "lpm01a, more current than it can give": (
        "lpm01a",
        ["sut.virtual.infer.power_w=0.2"],
        BenchError,
        "reports: overcurrent",
    ),
    "lpm01a, voltage drop": (
        "lpm01a",
        ["voltage_drop_at_s=0.83"],
        BenchError,
        "reports: voltage drop",
    ),
    "lpm01a, target powered down": (
        "lpm01a",
        ["power_down_at_s=0.83"],
        BenchError,
        "reports: target power-down",
    ),
    "lpm01a, supply off": (
        "lpm01a",
        ["power_off_at_s=0.83"],
        BenchError,
        "reports: the target's supply is off",
    ),
    "lpm01a, supply off unsaid": (
        "lpm01a",
        ["drops_supply_at_s=0.83"],
        BenchError,
        "supply is off, not on as commanded",
    ),
    "lpm01a, buffer full": (
        "lpm01a",
        ["load_rises_at_s=0.3"],
        BenchError,
        "buffer is full",
    ),
    "lpm01a, ends by itself": (
        "lpm01a",
        ["ends_at_s=0.83"],
        BenchError,
        "ended the acquisition by itself",
    ),
    "lpm01a, falls silent": (
        "lpm01a",
        ["mute_at_s=0.83"],
        DeadlineError,
        "no time stamp of the PowerShield",
    ),
    "lpm01a, start refused": (
        "lpm01a",
        ['error_to="start"'],
        BenchError,
        "refuses 'start'",
    ),
    "lpm01a, start not answered": (
        "lpm01a",
        ['no_answer_to="start"'],
        DeadlineError,
        "answer of the PowerShield to 'start'",
    ),
    "ppk2, unplugged": ("ppk2", ["unplugged_at_s=0.54"], DeviceLost, "is gone"),
    "ppk2, falls silent": (
        "ppk2",
        ["mute_at_s=0.54"],
        RemoteProtocolError,
        "no PPK2 answers",
    ),
    "ppk2, more samples than time": (
        "ppk2",
        ["late_stale_b=40_000"],
        BenchError,
        "sent more samples than it can have measured",
    ),
    "ppk2, pulses that it cannot see": (
        "ppk2",
        ["sut.virtual.sync_hold_us=10"],
        ConfigError,
        "a SYNC pulse of 10 µs can be missed by Nordic PPK2, which needs 20 µs",
    ),
    "lpm01a, no events in binary": (
        "lpm01a",
        ['monitor.st_lpm01a.format="bin_hexa"'],
        ConfigError,
        "sees no SYNC line",
    ),
    "n6705, connection lost": (
        "n6705",
        ["drop_at_s=0.67"],
        DeviceLost,
        "does not answer any more",
    ),
    "n6705, records of current overwritten": (
        "n6705",
        ["lose_at_s=0.67", "lose_records=40", "lose_of=[1]"],
        BenchError,
        "has overwritten records",
    ),
    "n6705, records of SYNC overwritten": (
        "n6705",
        ["lose_at_s=0.67", "lose_records=40", "lose_of=[2]"],
        BenchError,
        "has overwritten records",
    ),
    "n6705, records overwritten and told": (
        "n6705",
        [
            "lose_at_s=0.67",
            "lose_records=40",
            "lose_error='-363,\"Input buffer overrun\"'",
        ],
        BenchError,
        "refused: the data log under way",
    ),
    "n6705, a fetch comes late": (
        "n6705",
        ['late="FETC:ELOG?"', "late_at=6"],
        DeadlineError,
        "no answer of the N6705, fetching records, within 0.5 s",
    ),
    "n6705, falls silent": (
        "n6705",
        ['late="FETC:ELOG?"', "late_at=6", "mute=true"],
        DeviceLost,
        "does not answer any more",
    ),
    "n6705, a block ends early": (
        "n6705",
        ["short_block_at=5"],
        RemoteProtocolError,
        "before its announced length",
    ),
    "n6705, log not started": (
        "n6705",
        ['refuse="INIT:ELOG"'],
        BenchError,
        "refused: start of the log",
    ),
    "n6705, log not ended": (
        "n6705",
        ['refuse="ABOR:ELOG"'],
        BenchError,
        "refused: end of the log",
    ),
    "n6705, no records": (
        "n6705",
        ['refuse="FETC:ELOG?"'],
        BenchError,
        "refused: fetching records",
    ),
    **{
        f"{name}, {what} logged in secret": (
            name,
            # The simulator takes its time over so many records: patience has no effect
            # here.
            [
                f"stuck={stuck}",
                "stuck_hidden=true",
                "scenario.single_stream.idle_s=6.0",
                "monitor.keysight_n6705.timeout_s=10.0",
            ],
            BenchError,
            f"{told} s for each second its period says",
        )
        for name, what, stuck, told in (
            ("n6705", "a fourth parameter is", 1, "logs 1.33"),
            ("n6705", "three parameters are", 3, "logs 2.00"),
            # The log began at an edge that was not observed: when, is known to a fetch.
            ("n6705 trigger", "two parameters are", 2, ""),
        )
    },
    "n6705, voltage before current": (
        "n6705",
        ["columns_swapped=true"],
        RemoteProtocolError,
        "writes voltage before current",
    ),
    "n6705, a protection trips": (
        "n6705",
        ["trip_at_s=0.67"],
        BenchError,
        "left its voltage: over-voltage protection",
    ),
    "n6705, the DUT draws more than its limit": (
        "n6705",
        ["sut.virtual.infer.power_w=0.9"],
        BenchError,
        "left its voltage: current limit",
    ),
    "io manager, an edge without time": (
        "io manager",
        ["garbled_lap=20"],
        RemoteProtocolError,
        "has no time",
    ),
    "io manager, unplugged": (
        "io manager",
        ["unplugged_lap=20"],
        DeviceLost,
        "the IO manager is gone",
    ),
}
#: The N6705 is asked for records four times a second: a device that takes no time would
#: be through by then, so these are paced.
PACED = ("n6705, connection lost", "n6705 trigger, two parameters are logged in secret")
#: What a pulled cable still holds is lost: a busy computer has read less of it.
READ_IN_TIME = ("lpm01a, unplugged",)
#: Faults after which there is something to be measured: marks that have an edge.
RECORDED = (
    *("js220, all streams end", "js110, all streams end", "js220, voltage ends"),
    *(
        "js220, unplugged",
        "js110, unplugged",
        "lpm01a, unplugged",
        "lpm01a, overcurrent",
        "lpm01a, ends by itself",
    ),
    *(
        "lpm01a, falls silent",
        "n6705, connection lost",
        "n6705, records of current overwritten",
        "n6705, a protection trips",
        "n6705, the DUT draws more than its limit",
        "io manager, an edge without time",
        "io manager, unplugged",
    ),
)


def marks_of(case: str) -> tuple[pytest.MarkDecorator, ...]:
    if case in (*PACED, *READ_IN_TIME):
        return (pytest.mark.paced,)
    return (pytest.mark.long,) if case == "lpm01a, falls silent" else ()


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=marks_of(case)) for case in BEGUN]
)
def test_an_error_ends_the_session_with_the_supply_off_and_what_was_recorded_readable(
    run: Run, case: str
) -> None:
    name, faults, kind, words = BEGUN[case]
    paced = ["monitor.keysight_n6705.fetch_s=0.02"] if case in PACED else []
    seen = run(name, [*faults, *paced], pace_s=0.1 if paced else 0.0)
    assert isinstance(seen.error, kind) and words in seen.error.cause, repr(seen.error)
    notes = getattr(seen.error, "__notes__", [])
    assert len(notes) == case.endswith("falls silent") * (name != "n6705"), (
        "one fault, one error; a silent board does not say that it is off"
    )
    assert seen.error.try_next
    assert not seen.world.supply_on
    if kind is ConfigError:
        assert not seen.root.exists()
        return
    last = json.loads((seen.folder / "events.jsonl").read_text().splitlines()[-1])
    assert (last["status"], last["reason"]) == ("fail", str(seen.error))
    checked = check(seen.folder)
    assert checked.status == "fail"
    [cut_off] = [finding for finding in checked.findings if not finding.ok]
    assert "samples measured" in cut_off.detail
    if case in RECORDED:
        assert int(cut_off.detail.split(" of ")[0].split()[-1]) >= 11, cut_off.detail


def section(name: str) -> str:
    """Return the section of an instrument in its bench file: monitor.KIND."""
    return INSTRUMENTS[name].context.splitlines()[0].strip("[]")


REFUSED: dict[str, Ending] = {
    **{
        f"{name}, no calibration file": (
            name,
            [f'{section(name)}.calibration="nowhere.toml"'],
            ConfigError,
            "calibration file",
        )
        for name in ("js220", "js110", "lpm01a", "ppk2", "n6705", "io manager")
    },
    "js220, in use": ("js220", ["busy=true"], DeviceBusy, "does not open"),
    "js220, a topic not acknowledged": (
        "js220",
        ['refuse="h/fs"'],
        BenchError,
        "does not answer to h/fs",
    ),
    "js220, a setting not kept": (
        "js220",
        ['misread="s/v/range/select"', "misread_as=1"],
        BenchError,
        "does not keep a setting",
    ),
    "js220, the supply does not go on": (
        "js220",
        ['refuse="s/i/range/mode"', "refuse_only=[1]"],
        BenchError,
        "does not answer to s/i/range/mode",
    ),
    **{
        f"{model}, the supply found on goes off at the second try": (
            model,
            ["found_on=true", f'refuse="{topic}"', "refuse_only=[1]"],
            BenchError,
            "switched the DUT's supply off only when it was opened again",
        )
        for model, topic in (("js220", "s/i/range/mode"), ("js110", "s/i/range/select"))
    },
    "js110, the supply does not go on": (
        "js110",
        ['refuse="s/i/range/select"', "refuse_only=[1]"],
        BenchError,
        "refuses s/i/range/select",
    ),
    "js110, in use": ("js110", ["busy=true"], DeviceBusy, "does not open"),
    "js110, a topic acknowledged and not carried out": (
        "js110",
        ['refuse="s/i/lsb_src"'],
        BenchError,
        "refuses s/i/lsb_src",
    ),
    "js110, a topic not acknowledged": (
        "js110",
        ['refuse="s/i/lsb_src"', "unanswered=true"],
        BenchError,
        "does not answer to s/i/lsb_src",
    ),
    "js110, a setting not kept": (
        "js110",
        ['misread="s/i/range/mode"', "misread_as=1"],
        BenchError,
        "does not keep a setting",
    ),
    "js9": (
        "js220",
        [
            "monitor.joulescope.simulator.serials=[]",
            'monitor.joulescope.simulator.beside=["u/js9/000001"]',
        ],
        ConfigError,
        "is none of JS110, JS220, JS320",
    ),
    "js220 and js110 of the same serial number": (
        "js220",
        [
            'monitor.joulescope.simulator.beside=["u/js110/000415"]',
            'monitor.joulescope.device="simulator/000415"',
        ],
        ConfigError,
        "several Joulescopes 000415 are attached",
    ),
    "lpm01a, firmware too old": (
        "lpm01a",
        ['monitor.st_lpm01a.simulator.firmware="1.0.5"'],
        BenchError,
        "1.0.5 .* too old for events",
    ),
    "lpm01a, another board": (
        "lpm01a",
        ['prompt="OtherShield > "'],
        RemoteProtocolError,
        "no PowerShield answers",
    ),
    "lpm01a, another voltage": (
        "lpm01a",
        ["monitor.st_lpm01a.simulator.supply_v_error=0.1"],
        BenchError,
        "is not the 3.3 V",
    ),
    "lpm01a, not calibrated": (
        "lpm01a",
        ['calibration_error="no"'],
        BenchError,
        "not well after it was set up",
    ),
    "lpm01a, voltage refused": (
        "lpm01a",
        ['error_to="volt"'],
        BenchError,
        "refuses 'volt 3300m'",
    ),
    "lpm01a, supply refused": (
        "lpm01a",
        ['error_to="pwr on"'],
        BenchError,
        "refuses 'pwr on nostatus'",
    ),
    "ppk2, its shell": (
        "ppk2",
        ["is_shell=true"],
        RemoteProtocolError,
        "no PPK2 answers at",
    ),
    **{
        f"ppk2, metadata cut off at {at_b}": (
            "ppk2",
            [f"metadata_cut_b={at_b}"],
            RemoteProtocolError,
            "the metadata of the PPK2 at .* is cut off",
        )
        for at_b in (100, 400)
    },
    "ppk2, another mode": (
        "ppk2",
        ['monitor.nordic_ppk2.mode="ampere"', "disobeys=[17]"],
        BenchError,
        "is not in mode ampere at 3.3 V",
    ),
    "ppk2, another voltage": (
        "ppk2",
        ["disobeys=[13]"],
        BenchError,
        "is not in mode source at 3.3 V",
    ),
    "n6705, a name that is none": (
        "n6705",
        ['monitor.keysight_n6705.resource="foo"'],
        ConfigError,
        "'foo' is no VISA resource",
    ),
    "n6700": (
        "n6705",
        ['idn="Keysight Technologies,N6700C,MY1,1.0"'],
        DeviceNotFound,
        "is no N6705",
    ),
    "n6705, no data logger": (
        "n6705",
        ['option="055"'],
        DeviceNotFound,
        "has no data logger",
    ),
    "n6705, no data logger, and its output found on": (
        "n6705",
        ['option="055"', "output_on=[1]"],
        DeviceNotFound,
        "has no data logger",
    ),
    "n6705, the supply's word comes late": (
        "n6705",
        ['late="OUTP"'],
        DeadlineError,
        "no answer of the N6705, output 1 on, within",
    ),
    "n6705, another module": (
        "n6705",
        ['monitor.keysight_n6705.simulator.modules=["N6731B", "N6781A"]'],
        ConfigError,
        "cannot log voltage and current at once",
    ),
    "n6705, one module": (
        "n6705",
        ['monitor.keysight_n6705.simulator.modules=["N6781A"]'],
        DeviceNotFound,
        "no module at channel 2",
    ),
    "n6705, bytes in another order": (
        "n6705",
        ["keeps_byte_order=true"],
        BenchError,
        "another order of the bytes than was set",
    ),
    "n6705, no such VISA library": (
        "n6705",
        ['monitor.keysight_n6705.visa_library="/nowhere/libvisa.so@ivi"'],
        ConfigError,
        "visa_library: the VISA library .* cannot be loaded",
    ),
    "n6705, supply does not go on": (
        "n6705",
        ["output_stays_off=true"],
        BenchError,
        "output 1 does not go on",
    ),
    "n6705, another parameter is logged": (
        "n6705",
        ["stuck=1"],
        BenchError,
        "another period than asked for",
    ),
    "n6705, another period": (
        "n6705",
        ['read_back_of="SENS:ELOG:PER?"', 'read_back="0.0004096,0.0004096"'],
        BenchError,
        "another period than asked for",
    ),
}


@pytest.mark.parametrize(
    ("name", "faults", "kind", "words"), REFUSED.values(), ids=REFUSED
)
def test_an_instrument_that_is_not_as_it_must_be_is_refused_before_a_session_begins(
    run: Run, name: str, faults: list[str], kind: type[RigError], words: str
) -> None:
    seen = run(name, faults)
    assert seen.error is not None and isinstance(seen.error, kind)
    assert re.search(words, seen.error.cause), repr(seen.error)
    assert not getattr(seen.error, "__notes__", ()), "one fault, one error"
    assert seen.error.try_next and not seen.world.supply_on
    assert not seen.root.exists()


def test_an_instrument_that_stays_away_is_reported_with_its_supply_that_may_be_on(
    run: Run,
) -> None:
    seen = run("n6705", ["drop_at_s=0.67", "stays_away=true"])
    assert isinstance(seen.error, DeviceLost)
    assert "supply may still be on" in seen.error.try_next
    assert seen.world.supply_on, "nobody could switch it off"


@pytest.mark.parametrize(
    ("name", "topic"), [("js220", "s/i/range/mode"), ("js110", "s/i/range/select")]
)
@pytest.mark.parametrize(
    ("which", "cause", "try_next"),
    [
        (
            [2],
            "switched the DUT's supply off only when it was opened again",
            "it is off",
        ),
        (
            [*range(2, 20)],
            "does not switch the DUT's supply off",
            "supply may still be on",
        ),
    ],
    ids=["off at the second try", "never off"],
)
def test_a_joulescope_that_does_not_switch_off_is_reported_with_its_supply_that_may_be_on(
    run: Run, name: str, topic: str, which: list[int], cause: str, try_next: str
) -> None:
    seen = run(name, [f'refuse="{topic}"', f"refuse_only={which}"])
    assert isinstance(seen.error, BenchError) and cause in seen.error.cause
    assert try_next in seen.error.try_next and not getattr(seen.error, "__notes__", ())
    assert seen.world.supply_on == ("may still be on" in try_next)


@pytest.mark.parametrize("fault", ["error_to", "no_answer_to"])
@pytest.mark.parametrize(
    ("which", "on"),
    [([1], False), ([1, 2], True), ([2], False), ([2, 3], True)],
    ids=[
        "set up, off at the second try",
        "set up, never off",
        "in the end, off at the second try",
        "in the end, never off",
    ],
)
def test_an_lpm01a_that_does_not_switch_off_is_reported_with_its_supply_that_may_be_on(
    run: Run, fault: str, which: list[int], on: bool
) -> None:
    seen = run(
        "lpm01a", ["supply_found_on=true", f'{fault}="pwr off"', f"only={which}"]
    )
    assert (
        isinstance(seen.error, BenchError)
        and "does not switch the DUT's supply off" in seen.error.cause
    )
    assert "supply may still be on" in seen.error.try_next and not getattr(
        seen.error, "__notes__", ()
    )
    assert seen.world.supply_on == on


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (['monitor.st_lpm01a.simulator.firmware="1.0.1"'], "too old"),
        (['error_to="htc"'], "refuses 'htc'"),
    ],
    ids=["no command for it", "no control"],
)
def test_a_refused_lpm01a_that_stays_on_is_reported_with_its_supply_that_may_be_on(
    run: Run, faults: list[str], words: str
) -> None:
    seen = run("lpm01a", ["supply_found_on=true", *faults])
    assert seen.error is not None and words in seen.error.cause
    assert seen.error.__notes__ == [
        "the supply may still be on: the PowerShield does not switch the DUT's"
        " supply off"
    ]
    assert seen.world.supply_on


def test_a_supply_that_refuses_to_go_off_does_not_hide_what_went_wrong_before(
    run: Run,
) -> None:
    seen = run("n6705", ['refuse="OUTP"'])
    assert seen.error is not None and "output 1 on" in seen.error.cause
    assert [
        note
        for note in seen.error.__notes__
        if "output 1 off" in note and "may still be on" in note
    ]
