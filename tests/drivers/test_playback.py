# SPDX-License-Identifier: Apache-2.0
"""Playback: a session measured from recordings has the energies of the session that
made them; recordings that cannot be played are reported.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers.playback import Playback
from rig.bench import plugins, supply_watchdog
from rig.errors import BenchError, ConfigError, DataError, DeviceNotFound, RigError
from rig.importers.options import Options
from rig.interfaces.context import BenchContext
from rig.session.session import SessionResult, open_bench, resume
from rig.settings import ranges
from rig.store.events import Event, StepDone, TrialFinished
from rig.trace.trace import Trace
from tests.calibrations import CALIBRATION
from tests.checking import check
from tests.conftest import VIRTUAL_NULL
from tests.traces import jls_writer

SMALL = ["task.null.samples=6", "scenario.single_stream.idle_s=0.1"]


@pytest.fixture
def calibration(tmp_path: Path) -> str:
    (tmp_path / "calibration.toml").write_text(CALIBRATION)
    return str(tmp_path / "calibration.toml")


def opened(path: Path, **settings: Any) -> Playback:
    return Playback.open(Playback.Settings(path=str(path), **settings), BenchContext())


def played(root: Path, path: str, trials: int = 2) -> SessionResult:
    (root / "again").mkdir(exist_ok=True)
    with open_bench(
        VIRTUAL_NULL,
        [*SMALL, f"monitor.playback.path={path}", "monitor.playback.start_s=0.01"],
    ) as bench:
        return bench.run(trials, root / "again")


def windows(folder: Path, trial: int) -> list[float]:
    """Return energy (J) and latency (s) of every window, idle ones too."""
    result: list[float] = []
    for line in (folder / f"trial-{trial}" / "samples.jsonl").read_text().splitlines():
        row = json.loads(line)
        for window in row.get("windows", [row.get("idle")]):
            result += [window["energy_j"], window["latency_s"]]
    return result


def table_file(folder: Path) -> Path:
    rows = "".join(f"{k},{0.001 * (k % 7)},3,{int(k % 50 > 5)}\n" for k in range(400))
    (folder / "a.csv").write_text("time_ms,current_a,voltage_v,sync\n" + rows)
    return folder / "a.csv"


def test_the_traces_of_a_session_played_back_give_its_energies_again(
    run_virtual: Callable[..., SessionResult], tmp_path: Path
) -> None:
    first = run_virtual(trials=2)
    again = played(tmp_path, f"{first.folder}/trial-{{n}}/trace.jls")
    for trial in (1, 2):
        assert windows(again.folder, trial) == pytest.approx(
            windows(first.folder, trial), rel=1e-6
        )
        for name in ("trace.jls", "gaps.jsonl"):
            original, copy = (
                folder / f"trial-{trial}" / name
                for folder in (first.folder, again.folder)
            )
            assert original.read_bytes() == copy.read_bytes()
    assert windows(again.folder, 1) != windows(again.folder, 2), (
        "each trial has its own recording"
    )
    for name in ("energy_infer", "energy_dynamic", "power_idle"):
        assert again.metrics[name].value == pytest.approx(
            first.metrics[name].value, rel=1e-6
        )


class Cut(Exception):
    """An unforeseen error."""


def after(
    kind: type[StepDone] | type[TrialFinished], trial: int, count: int
) -> Callable[[Event], None]:
    """Return a subscriber that ends the session after so many events of a kind in a
    trial."""
    left = [count]

    def subscriber(event: Event) -> None:
        if isinstance(event, kind) and trial == (
            event.trial.number if isinstance(event, TrialFinished) else event.trial
        ):
            left[0] -= 1
            if not left[0]:
                raise Cut

    return subscriber


#: Trials are then all alike, so that a wrong recording fits the marks of any of them.
ALIKE = ["sut.virtual.preprocess.variation=0.0", "sut.virtual.infer.variation=0.0"]


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record three trials that are all alike, once: tests play them and do not change
    them.
    """
    with open_bench(VIRTUAL_NULL, [*SMALL, *ALIKE]) as bench:
        return bench.run(3, tmp_path_factory.mktemp("alike")).folder


def cut_off(root: Path, original: Path, ends: Callable[[Event], None]) -> Path:
    root.mkdir()
    words = [
        *SMALL,
        *ALIKE,
        f"monitor.playback.path={original}/trial-{{n}}",
        "monitor.playback.start_s=0.01",
    ]
    with open_bench(VIRTUAL_NULL, words) as bench, pytest.raises(Cut):
        bench.run(3, root, [ends])
    [folder] = root.iterdir()
    return folder


def traces(folder: Path) -> list[bytes]:
    return [
        (folder / f"trial-{trial}" / "trace.jls").read_bytes() for trial in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "ends",
    [
        after(TrialFinished, 1, 1),
        after(TrialFinished, 2, 1),
        after(StepDone, 2, 1),
        after(StepDone, 2, 6),
        after(StepDone, 1, 6),
    ],
    ids=[
        "behind trial 1",
        "behind trial 2",
        "as trial 2 begins",
        "in trial 2",
        "in trial 1",
    ],
)
def test_a_resumed_session_plays_each_trial_its_own_recording(
    alike: Path, tmp_path: Path, ends: Callable[[Event], None]
) -> None:
    result = resume(cut_off(tmp_path / "again", alike, ends))
    assert traces(result.folder) == traces(alike)
    assert result.content["problems"] == [] and result.content["samples"][
        "per_trial"
    ] == [6, 6, 6]
    assert check(result.folder).ok


def test_a_trial_that_was_begun_is_played_again_and_what_was_heard_of_it_is_kept(
    alike: Path, tmp_path: Path
) -> None:
    folder = cut_off(tmp_path / "again", alike, after(StepDone, 2, 6))
    heard = (folder / "trial-2" / "completions.jsonl").read_bytes()
    with pytest.raises(Cut):
        resume(folder, [after(StepDone, 2, 6)])
    result = resume(folder)
    assert [trial.segments for trial in result.trials] == [1, 1, 1]
    assert (folder / "trial-2-cut-off-1" / "completions.jsonl").read_bytes() == heard
    assert (folder / "trial-2-cut-off-2").is_dir() and not (
        folder / "trial-2" / "segment-1"
    ).exists()


def test_a_second_session_on_an_open_bench_plays_the_recordings_from_the_first_on(
    alike: Path, tmp_path: Path
) -> None:
    words = [
        *SMALL,
        *ALIKE,
        f"monitor.playback.path={alike}/trial-{{n}}",
        "monitor.playback.start_s=0.01",
    ]
    with open_bench(VIRTUAL_NULL, words) as bench:
        for name in ("one", "two"):
            assert traces(bench.run(3, tmp_path / name).folder) == traces(alike)


def test_a_converted_recording_is_played_as_often_as_its_trial_begins(
    tmp_path: Path, calibration: str
) -> None:
    for trial in (1, 2):
        rows = "".join(f"{k},{0.001 * trial},3\n" for k in range(400))
        (tmp_path / f"r-{trial}.csv").write_text("time_ms,current_a,voltage_v\n" + rows)
    context = BenchContext()
    monitor = Playback.open(
        Playback.Settings(path=str(tmp_path / "r-{n}.csv"), calibration=calibration),
        context,
    )
    for at, trial in enumerate((2, 1, 2, 1)):
        context.state.trial = trial
        (tmp_path / str(at)).mkdir()
        with monitor.record(tmp_path / str(at)):
            pass
        assert Trace.open(tmp_path / str(at) / "trace.jls").energy_j(
            0.0, 0.4
        ) == pytest.approx(0.4 * 0.003 * trial)
    monitor.close()


def test_what_is_known_of_a_recording_is_reported(
    run_virtual: Callable[..., SessionResult],
) -> None:
    folder = run_virtual().folder
    monitor = opened(folder / "trial-1")
    info = monitor.info
    assert (info.simulated, info.sample_hz, info.edge_hz, info.sync) == (
        True,
        200_000,
        200_000,
        "digital",
    )
    assert info.accuracy.source == "the limits in the bench file"
    assert info.details["power"] == "not switched: nothing is measured"
    assert info.details["recordings"] == "all are copies of one file"
    monitor.power(True)
    monitor.close()
    monitor.close()


def test_a_table_is_played_back_with_the_accuracy_of_a_calibration_file(
    tmp_path: Path, calibration: str
) -> None:
    monitor = opened(table_file(tmp_path), calibration=calibration)
    assert (
        not monitor.info.simulated
        and monitor.info.sync == "stamps"
        and monitor.info.sample_hz == 1000
    )
    (tmp_path / "out").mkdir()
    with monitor.record(tmp_path / "out") as recording:
        recording.check()
    trace = Trace.open(tmp_path / "out" / "trace.jls")
    assert trace.energy_j(0.0, 0.4) == pytest.approx(
        sum(0.003 * (k % 7) for k in range(400)) / 1000, rel=1e-6
    )
    assert trace.falls_s.tolist() == pytest.approx(
        [k / 1000 - 0.0005 for k in range(50, 400, 50)]
    )
    monitor.close()
    assert Trace.open(tmp_path / "out" / "trace.jls").length == 400, (
        "the copy outlives what was converted"
    )


def test_no_process_watches_over_a_supply_that_a_recording_does_not_switch(
    tmp_path: Path, calibration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"path={table_file(tmp_path)}", f"calibration={calibration}"]
    monkeypatch.setattr(supply_watchdog, "PythonChild", None)
    with open_bench(VIRTUAL_NULL, [f"monitor.playback.{key}" for key in keys]) as bench:
        (monitor,) = bench.monitors.values()
        assert not (monitor.info.simulated or monitor.info.switches)


def test_a_jls_file_of_another_program_is_played_back(
    tmp_path: Path, calibration: str
) -> None:
    writer = jls_writer(tmp_path / "a.jls", 1000, "current", first=5)
    writer.fsr(5, 33, np.full(200, 0.5, np.float32))
    writer.close()
    monitor = opened(
        tmp_path / "a.jls", calibration=calibration, signals=Options(supply_v=2.0)
    )
    (tmp_path / "out").mkdir()
    with monitor.record(tmp_path / "out"):
        pass
    assert Trace.open(tmp_path / "out" / "trace.jls").energy_j(
        0.0, 0.2
    ) == pytest.approx(0.2)
    assert monitor.info.sync == "none" and "no SYNC" in monitor.info.details["notes"]
    monitor.close()


def test_signals_are_chosen_in_the_bench_file(tmp_path: Path, calibration: str) -> None:
    path = table_file(tmp_path)
    words = [f"path={path}", f"calibration={calibration}", "signals.sync=none"]
    with (
        pytest.raises(ConfigError, match="sees no SYNC line"),
        open_bench(
            VIRTUAL_NULL, [*SMALL, *(f"monitor.playback.{word}" for word in words)]
        ) as bench,
    ):
        bench.run(1, tmp_path)


def test_the_driver_is_found_by_its_name() -> None:
    assert plugins.find("monitor", "playback") is Playback


def test_without_an_accuracy_a_recording_is_refused_with_what_to_write(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="no uncertainty") as error:
        opened(table_file(tmp_path))
    assert (
        error.value.path == "monitor.playback.calibration"
        and "docs/explanation/UNCERTAINTY.md" in error.value.try_next
    )


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", ConfigError, "no file is named"),
        ("missing.csv", DataError, "cannot be read"),
        ("text.jls", DataError, "not a JLS file"),
    ],
)
def test_a_file_that_cannot_be_played_back_is_refused_when_opened(
    tmp_path: Path, calibration: str, name: str, error: type[RigError], message: str
) -> None:
    (tmp_path / "text.jls").write_text("x")
    with pytest.raises(error, match=message):
        Playback.open(
            Playback.Settings(
                path=str(tmp_path / name) if name else "", calibration=calibration
            ),
            BenchContext(),
        )


def test_a_recording_of_power_alone_is_refused(
    tmp_path: Path, calibration: str
) -> None:
    (tmp_path / "p.csv").write_text("time_s,power_w\n0,1\n1,1\n2,1\n")
    with pytest.raises(ConfigError, match="power alone"):
        opened(tmp_path / "p.csv", calibration=calibration)


def test_a_table_of_uneven_rows_is_refused_with_the_setting_that_takes_it(
    tmp_path: Path, calibration: str
) -> None:
    scatter = np.random.default_rng(1).uniform(-0.1, 0.1, 400)
    times_ms = np.arange(400) + scatter
    rows = "".join(f"{at:.6f},0.001,3,1\n" for at in times_ms)
    path = tmp_path / "a.csv"
    path.write_text("time_ms,current_a,voltage_v,sync\n" + rows)
    with pytest.raises(DataError, match="uneven times") as caught:
        opened(path, calibration=calibration)
    assert "integrated as stamped" in caught.value.evidence
    assert "monitor.playback.signals.rate_hz = HZ" in caught.value.try_next
    signals = Options(rate_hz=1000.0)
    taken = opened(path, calibration=calibration, signals=signals)
    assert taken.info.accuracy.clock_ppm > 50.0
    taken.close()
    path.write_text(
        "time_ms,current_a,voltage_v\n"
        + "".join(f"{at},1,3\n" for at in (0.0, 0.5, 3.25, 5.125, 11.0))
    )
    with pytest.raises(DataError) as caught:
        opened(path, calibration=calibration)
    assert "resample" in caught.value.try_next


def test_more_trials_than_recordings_end_the_session_with_the_number_that_is_missing(
    run_virtual: Callable[..., SessionResult], tmp_path: Path
) -> None:
    first = run_virtual(trials=2)
    with pytest.raises(
        DeviceNotFound, match=r"recording 3: .*trial-3/trace\.jls cannot be read"
    ):
        played(tmp_path, f"{first.folder}/trial-{{n}}/trace.jls", trials=3)


def test_a_recording_of_another_rate_is_refused(
    run_virtual: Callable[..., SessionResult], tmp_path: Path, calibration: str
) -> None:
    for number, rate in ((1, "200000"), (2, "100000")):
        folder = run_virtual(
            f"monitor.virtual.sample_hz={rate}", "sut.virtual.sync_hold_us=50"
        ).folder
        shutil.copytree(folder / "trial-1", tmp_path / f"kept-{number}")
    context = BenchContext()
    monitor = Playback.open(
        Playback.Settings(path=str(tmp_path / "kept-{n}"), calibration=calibration),
        context,
    )
    context.state.trial = 2
    with (
        pytest.raises(BenchError, match="recording 2 is not of the kind of the first"),
        monitor.record(tmp_path),
    ):
        pass
    monitor.close()


def test_an_exception_in_a_recording_leaves_a_complete_trace(
    tmp_path: Path, calibration: str
) -> None:
    monitor = opened(table_file(tmp_path), calibration=calibration)
    (tmp_path / "out").mkdir()
    with pytest.raises(BenchError, match="cable"), monitor.record(tmp_path / "out"):
        raise BenchError("the cable is out")
    assert Trace.open(tmp_path / "out" / "trace.jls").length == 400 and not list(
        (tmp_path / "out").glob("*.partial")
    )
    monitor.close()


def test_a_missing_recording_is_reported_as_missing_whatever_else_is(
    tmp_path: Path, calibration: str
) -> None:
    for more in (
        {},
        {"calibration": calibration},
        {"calibration": str(tmp_path / "no.toml")},
    ):
        with pytest.raises(DataError, match=r"missing\.csv cannot be read") as caught:
            opened(tmp_path / "missing.csv", **more)
        assert (
            "No such file" in caught.value.evidence
            and "path, relative to" in caught.value.try_next
        )


def test_what_rounded_stamps_leave_open_of_the_rate_is_an_error_of_the_clock(
    tmp_path: Path, calibration: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "time_ms,current_a,voltage_v\n"
        + "".join(f"{round(k * 1000 / 300)},1,3\n" for k in range(31))
    )
    monitor = opened(path, calibration=calibration)
    # Known to one of 100 ms; both limits are hard ones.
    assert monitor.info.accuracy.clock_ppm == pytest.approx(
        (50.0**2 + 10_000.0**2) ** 0.5
    )
    assert any("known to within 1 %" in note for note in monitor.info.details["notes"])
    monitor.close()


OTII = '"Timestamp","Value"\n' + "".join(f"{k / 1000:.3f},0.01\n" for k in range(400))


@pytest.mark.parametrize(
    ("text", "signals", "said"),
    [
        (
            "t_ms,I (A),U (V)\n" + "".join(f"{k},1,3\n" for k in range(400)),
            [],
            "t_ms, I (A), U (V)",
        ),
        (
            OTII,
            ["time='Timestamp:s'", "current='Value:A'", "supply_v=3.3"],
            "Timestamp, Value",
        ),
        (
            "t_ms,I (A),U (V),D1\n" + "".join(f"{k},1,3,1\n" for k in range(400)),
            [],
            "D1",
        ),
    ],
)
def test_a_table_without_sync_says_what_is_missing_and_how_to_name_it(
    tmp_path: Path, calibration: str, text: str, signals: list[str], said: str
) -> None:
    (tmp_path / "a.csv").write_text(text)
    words = [
        f"path={tmp_path / 'a.csv'}",
        f"calibration={calibration}",
        *(f"signals.{word}" for word in signals),
    ]
    with (
        pytest.raises(ConfigError, match="sees no SYNC line") as caught,
        open_bench(
            VIRTUAL_NULL, [*SMALL, *(f"monitor.playback.{word}" for word in words)]
        ) as bench,
    ):
        bench.run(1, tmp_path)
    assert "signals.sync =" in caught.value.try_next and said in caught.value.evidence


def test_an_otii_export_joined_with_its_digital_input_is_played_back(
    tmp_path: Path, calibration: str
) -> None:
    # What Otii exports has one channel a file: current and input of the same times, put
    # side by side.
    rows = "".join(f"{k / 1000:.3f},0.01,{int(k % 50 > 5)}\n" for k in range(400))
    (tmp_path / "a.csv").write_text('"Timestamp","Value","GPI 1"\n' + rows)
    signals = Options(time="Timestamp:s", current="Value:A", supply_v=3.3, sync="GPI 1")
    monitor = opened(tmp_path / "a.csv", calibration=calibration, signals=signals)
    (tmp_path / "out").mkdir()
    with monitor.record(tmp_path / "out"):
        pass
    assert len(Trace.open(tmp_path / "out" / "trace.jls").falls_s) == 7
    monitor.close()


@pytest.mark.parametrize("rate_hz", ["1e300", "1e-300", "5e9"])
def test_a_rate_that_no_trace_can_have_is_refused_with_its_key(
    tmp_path: Path, calibration: str, rate_hz: str
) -> None:
    words = [
        f"path={table_file(tmp_path)}",
        f"calibration={calibration}",
        f"signals.rate_hz={rate_hz}",
    ]
    with (
        pytest.raises(ConfigError, match=r"monitor\.playback\.signals") as caught,
        open_bench(
            VIRTUAL_NULL, [*SMALL, *(f"monitor.playback.{word}" for word in words)]
        ) as bench,
    ):
        bench.run(1, tmp_path)
    assert caught.value.path == "monitor.playback.signals.rate_hz"
    assert (
        caught.value.cause
        == f"monitor.playback.signals.rate_hz: {ranges.number(float(rate_hz))} Hz"
    )
    assert caught.value.try_next.startswith("0: not given; or 0.001 to 4294967295 Hz")
