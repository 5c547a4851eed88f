# SPDX-License-Identifier: Apache-2.0
"""rig measure: windows by edges, markers and times agree with arithmetic; unknown facts
are stated, never guessed.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest
from click.testing import CliRunner, Result

from rig.api.traces.trace import open_trace
from rig.cli.measure import measure
from rig.errors import ConfigError, DataError
from rig.session.session import SessionResult as SessionResult
from rig.trace.trace import Gap
from tests.calibrations import CALIBRATION
from tests.traces import jls_writer, trace_writer

#: The waveform that is written with pyjls alone: idle, then for each window 37 samples
#: at a level of its own, in an order that no symmetry can hide. Current and GPI begin
#: at other sample numbers, as in a capture that was cut out of a longer one.
HZ = 10_000
GPI_HZ = 20_000
SUPPLY_V = 3.25
IDLE_A = 0.002
LEVELS_A = (0.013, 0.029, 0.005)
WINDOW = 37


def run(*words: str | Path) -> Result:
    """Run the command; a RigError is raised as it is."""
    done = CliRunner().invoke(
        measure, [str(word) for word in words], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return done


def content(*words: str | Path) -> dict[str, Any]:
    """Return what --json prints."""
    result: dict[str, Any] = json.loads(run(*words, "--json").stdout)
    return result


def annotate(writer: pyjls.Writer, signal: int, at: int, kind: str, name: str) -> None:
    form = (None, kind, 0)
    writer.annotation(signal, at, *form, name)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A JLS file by pyjls alone: GPI falls at the start of each window and at the end
    of the last, and rises 4 samples later.
    """
    current = np.full(400, IDLE_A, np.float32)
    gpi = np.ones(2 * 400, bool)
    for k, level in enumerate(LEVELS_A):
        current[100 + k * WINDOW : 100 + (k + 1) * WINDOW] = level
    for k in range(len(LEVELS_A) + 1):
        gpi[2 * (100 + k * WINDOW) : 2 * (104 + k * WINDOW)] = False
    path = tmp_path / "capture.jls"
    writer = pyjls.Writer(str(path))
    writer.source_def(
        source_id=1,
        name="JS220-001234",
        vendor="Jetperch",
        model="JS220",
        version="1",
        serial_number="001234",
    )
    for number, name, units in (
        (1, "current", "A"),
        (2, "voltage", "V"),
        (3, "power", "W"),
    ):
        writer.signal_def(
            signal_id=number,
            source_id=1,
            data_type="f32",
            sample_rate=HZ,
            name=name,
            units=units,
        )
    writer.signal_def(
        signal_id=4, source_id=1, data_type="u1", sample_rate=GPI_HZ, name="gpi[0]"
    )
    voltage = np.full(400, SUPPLY_V, np.float32)
    for number, data in ((1, current), (2, voltage), (3, current * voltage)):
        writer.fsr(number, 5000, data)
    writer.fsr(4, 10_000, np.packbits(gpi, bitorder="little"))
    for number in (1, 4):
        writer.utc(number, 5000 if number == 1 else 10_000, 2**30 * 1000)
        writer.utc(
            number, 5400 if number == 1 else 10_800, 2**30 * 1000 + 2**30 * 400 // HZ
        )
    for signal, at, kind, name in (
        (1, 5100, "vmarker", '1a\x1c{"text_pos1": "right"}'),
        (1, 5137, "vmarker", "1b"),
        (4, 10_300, "vmarker", "2a"),
        (4, 10_500, "vmarker", "2b"),
        (1, 5000, "text", "begin"),
    ):
        annotate(writer, signal, at, kind, name)
    writer.close()
    return path


@pytest.fixture
def calibration(tmp_path: Path) -> Path:
    (tmp_path / "calibration.toml").write_text(CALIBRATION)
    return tmp_path / "calibration.toml"


def test_a_jls_file_by_pyjls_alone_agrees_with_arithmetic(capture: Path) -> None:
    result = content(capture)
    assert (
        result["schema"] == "neurorig-measure-1"
        and result["origin"] == "jls"
        and not result["simulated"]
    )
    assert len(result["windows"]) == 3
    # An edge lies a quarter of a current sample before the first sample that shows it,
    # as GPI runs at twice the rate. The part of a sample at an end has the reading of
    # its neighbour inside, so each window holds its own level alone.
    for k, window in enumerate(result["windows"]):
        charge_c = WINDOW * LEVELS_A[k] / HZ
        assert window["start_s"] == pytest.approx(
            (100 + k * WINDOW - 0.25) / HZ, abs=1e-12
        )
        assert window["duration_s"] == pytest.approx(WINDOW / HZ, rel=1e-9)
        assert window["charge_c"] == pytest.approx(charge_c, rel=1e-6)
        assert window["energy_j"] == pytest.approx(charge_c * SUPPLY_V, rel=1e-6)
        assert window["mean_w"] == pytest.approx(
            charge_c * SUPPLY_V / (WINDOW / HZ), rel=1e-6
        )
        assert window["mean_a"] == pytest.approx(charge_c / (WINDOW / HZ), rel=1e-6)
        assert (
            window["least_w"]
            == window["most_w"]
            == pytest.approx(LEVELS_A[k] * SUPPLY_V, rel=1e-6)
        )
        assert window["energy_u_j"] is None and window["mean_u_w"] is None, (
            "without a calibration, nobody knows"
        )
    total_c = WINDOW * sum(LEVELS_A) / HZ
    assert result["total"]["energy_j"] == pytest.approx(total_c * SUPPLY_V, rel=1e-6)
    assert result["total"]["duration_s"] == pytest.approx(3 * WINDOW / HZ, rel=1e-9)


def test_windows_from_fall_to_rise_and_the_other_patterns(capture: Path) -> None:
    low = content(capture, "--edges", "fall-rise")["windows"]
    assert [window["duration_s"] for window in low] == pytest.approx([4 / HZ] * 4)
    assert low[3]["energy_j"] == pytest.approx(4 * IDLE_A * SUPPLY_V / HZ, rel=1e-6)
    high = content(capture, "--edges", "rise-fall")["windows"]
    assert [window["duration_s"] for window in high] == pytest.approx([33 / HZ] * 3)
    assert [
        window["duration_s"]
        for window in content(capture, "--edges", "rise-rise")["windows"]
    ] == pytest.approx([WINDOW / HZ] * 3)


def test_pairs_of_markers_are_windows_on_whichever_signal_they_stand(
    capture: Path,
) -> None:
    first, second = content(capture, "--markers")["windows"]
    assert (first["name"], first["start_s"], first["duration_s"]) == (
        "1",
        pytest.approx(0.01),
        pytest.approx(0.0037),
    )
    assert first["energy_j"] == pytest.approx(
        WINDOW * LEVELS_A[0] * SUPPLY_V / HZ, rel=1e-6
    )
    assert (second["name"], second["start_s"], second["duration_s"]) == (
        "2",
        pytest.approx(0.015),
        pytest.approx(0.01),
    )


def annotation_file(
    path: Path, names: list[tuple[float, str, str]], first: int = 0
) -> None:
    """Write what Joulescope UI puts beside a capture: a signal without samples, its own
    count of samples, and UTC.
    """
    writer = jls_writer(path, 1_000_000, "current")
    writer.utc(1, first, 2**30 * 1000)
    writer.utc(1, first + 1_000_000, 2**30 * 1001)
    for at_s, kind, name in names:
        annotate(writer, 1, first + round(at_s * 1e6), kind, name)
    writer.close()


def without_markers(folder: Path, utc: bool = True) -> Path:
    writer = jls_writer(folder / "plain.jls", 1000, "current", "voltage")
    for number in (1, 2):
        writer.fsr(number, 700, np.ones(1000, np.float32))
    if utc:
        writer.utc(1, 700, 2**30 * 1000)
        writer.utc(1, 1700, 2**30 * 1001)
    writer.close()
    return folder / "plain.jls"


def test_markers_in_an_annotation_file_are_placed_by_their_dates(
    tmp_path: Path,
) -> None:
    path = without_markers(tmp_path)
    annotation_file(
        tmp_path / "plain.anno.jls", [(0.25, "vmarker", "1a"), (0.75, "vmarker", "1b")]
    )
    (window,) = content(path, "--markers")["windows"]
    assert (window["start_s"], window["duration_s"]) == (
        pytest.approx(0.25),
        pytest.approx(0.5),
    )


def test_a_marker_of_another_program_becomes_no_formula_and_no_command(
    tmp_path: Path,
) -> None:
    """Names of markers come from the maker of the file; a spreadsheet may open the
    table.
    """
    path = without_markers(tmp_path)
    nasty = "=cmd|'/C x'!A0\x1b[2J"
    names = [(0.25, "vmarker", f"{nasty}a"), (0.75, "vmarker", f"{nasty}b")]
    annotation_file(tmp_path / "plain.anno.jls", names)
    printed = run(path, "--markers", "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert rows[0]["name"].startswith("'") and "\x1b" not in printed
    assert float(rows[0]["duration_s"]) == pytest.approx(0.5)


def test_single_markers_and_texts_make_windows_from_each_to_the_next(
    tmp_path: Path,
) -> None:
    path = without_markers(tmp_path)
    names = [
        (0.1, "vmarker", "1"),
        (0.3, "vmarker", "2"),
        (0.2, "text", "on"),
        (0.4, "text", "off"),
        (0.6, "vmarker", "3"),
    ]
    annotation_file(tmp_path / "plain.anno.jls", names)
    result = content(path, "--markers")["windows"]
    assert [(window["name"], round(window["duration_s"], 6)) for window in result] == [
        ("1 to 2", 0.2),
        ("2 to 3", 0.3),
    ]
    (tmp_path / "plain.anno.jls").unlink()
    annotation_file(
        tmp_path / "plain.anno.jls", [name for name in names if name[1] == "text"]
    )
    assert [window["name"] for window in content(path, "--markers")["windows"]] == [
        "on to off"
    ]


@pytest.mark.parametrize(
    ("names", "utc", "message"),
    [
        ([(0.1, "vmarker", "1a")], True, "marker 1 has not one a and one b"),
        ([(0.1, "vmarker", "1")], True, "no markers to make a window of"),
        (
            [(0.1, "vmarker", "1a"), (0.2, "vmarker", "1b")],
            False,
            "has a date and plain.jls none",
        ),
    ],
)
def test_markers_that_make_no_window_are_refused(
    tmp_path: Path, names: list[tuple[float, str, str]], utc: bool, message: str
) -> None:
    path = without_markers(tmp_path, utc)
    annotation_file(tmp_path / "plain.anno.jls", names)
    with pytest.raises(DataError, match=message):
        run(path, "--markers")


def test_an_annotation_file_that_is_none_is_refused_only_when_markers_are_asked_for(
    tmp_path: Path,
) -> None:
    path = without_markers(tmp_path)
    (tmp_path / "plain.anno.jls").write_text("x")
    assert run(path).return_value == 0
    with pytest.raises(DataError, match=r"plain\.anno\.jls is not a JLS file"):
        run(path, "--markers")


def test_an_annotation_file_is_distinguished_from_the_trace_that_it_belongs_to(
    tmp_path: Path,
) -> None:
    path = without_markers(tmp_path)
    annotation_file(
        tmp_path / "plain.anno.jls", [(0.25, "vmarker", "1a"), (0.75, "vmarker", "1b")]
    )
    with pytest.raises(DataError, match=r"plain\.anno\.jls has no samples") as caught:
        run(path.with_name("plain.anno.jls"))
    assert (
        "it holds 2 markers" in caught.value.evidence
        and "rig measure plain.jls --markers" in caught.value.try_next
    )


def test_windows_by_times_cut_samples_by_their_fraction(capture: Path) -> None:
    result = content(capture, "--times", "0.01003-1.365e-2", "--times", "0.03-0.04")
    first, last = result["windows"]
    assert first["energy_j"] == pytest.approx(
        (0.01365 - 0.01003) * LEVELS_A[0] * SUPPLY_V, rel=1e-6
    )
    assert last["energy_j"] == pytest.approx(0.01 * IDLE_A * SUPPLY_V, rel=1e-6)
    assert result["total"]["energy_j"] == pytest.approx(
        first["energy_j"] + last["energy_j"]
    )


def test_the_whole_trace_is_one_window_also_where_there_is_no_edge(
    capture: Path, tmp_path: Path
) -> None:
    charge_c = ((400 - 3 * WINDOW) * IDLE_A + WINDOW * sum(LEVELS_A)) / HZ
    assert content(capture, "--whole")["windows"][0]["energy_j"] == pytest.approx(
        charge_c * SUPPLY_V, rel=1e-6
    )
    result = content(without_markers(tmp_path))
    assert [window["name"] for window in result["windows"]] == ["whole"]
    assert "no edges of SYNC: the whole trace is one window" in result["notes"]
    with pytest.raises(DataError, match="no window from fall to fall") as error:
        run(without_markers(tmp_path), "--edges", "fall-fall")
    assert "0 falling and 0 rising edges" in error.value.evidence


def test_windows_that_overlap_have_no_total(capture: Path) -> None:
    result = content(capture, "--times", "0.01-0.02", "--times", "0.015-0.03")
    assert (
        result["total"]["energy_j"] is None and "overlap" in result["total"]["problem"]
    )
    assert all(window["energy_j"] is not None for window in result["windows"])


@pytest.mark.parametrize(
    "times", ["0.2", "0.2-0.1", "a-b", "0.1-0.2-0.3", "-0.1-0.2", "0.1-inf"]
)
def test_times_that_are_no_window_are_refused(capture: Path, times: str) -> None:
    with pytest.raises(ConfigError, match="--times"):
        run(capture, f"--times={times}")


def test_a_window_that_touches_a_gap_has_no_energy_and_says_so(tmp_path: Path) -> None:
    with trace_writer(tmp_path, 1000) as writer:
        writer.analog(np.ones(400, np.float32), np.ones(400, np.float32))
        writer.sync((np.arange(400) % 100 < 50).astype(np.uint8))
        writer.gap(Gap(160, 170, "lost by the cable"))
    done = run(tmp_path, "--json")
    result = json.loads(done.stdout)
    bad = [window for window in result["windows"] if window["energy_j"] is None]
    assert (
        len(bad) == 1
        and "lost by the cable" in bad[0]["problem"]
        and bad[0]["mean_w"] is None
    )
    assert (
        result["total"]["energy_j"] is None
        and "1 of 3 windows have no energy" in result["total"]["problem"]
    )
    assert done.return_value == 1
    assert result["gaps"] == [
        {"start_s": 0.16, "stop_s": 0.17, "cause": "lost by the cable"}
    ]
    shown = run(tmp_path)
    assert (
        "no energy, samples 160 to 170: lost by the cable" in shown.stdout
        and shown.return_value == 1
    )


def test_a_window_beyond_the_trace_has_no_energy(capture: Path) -> None:
    result = content(capture, "--times", "0.03-0.05")
    assert (
        result["windows"][0]["energy_j"] is None
        and "outside the trace" in result["windows"][0]["problem"]
    )


def test_uncertainties_come_from_a_calibration_file(
    capture: Path, calibration: Path
) -> None:
    result = content(capture, "--calibration", calibration)
    window = result["windows"][0]
    third = math.sqrt(3)
    energy_j = window["energy_j"]
    duration_s = window["duration_s"]
    # By hand, after the GUM: limits are rectangles; both edges are uniform over one GPI
    # sample.
    gain_j = 0.001 * energy_j / third
    offset_j = 1e-5 * SUPPLY_V * duration_s / third
    volt_j = 0.0005 * energy_j / third
    clock_j = 50e-6 * energy_j / third
    edges_j = math.sqrt(2) * LEVELS_A[0] * SUPPLY_V / GPI_HZ / math.sqrt(12)
    assert window["energy_u_j"] == pytest.approx(
        math.hypot(gain_j, offset_j, volt_j, clock_j, edges_j), rel=1e-6
    )
    # Neither the clock nor an end that moves changes the mean of a constant power.
    assert window["mean_u_w"] == pytest.approx(
        math.hypot(gain_j, offset_j, volt_j) / duration_s, rel=1e-5
    )
    gain_c = 0.001 * window["charge_c"] / third
    clock_c = 50e-6 * window["charge_c"] / third
    offset_c = 1e-5 * duration_s / third
    edges_c = edges_j / SUPPLY_V
    assert window["charge_u_c"] == pytest.approx(
        math.hypot(gain_c, offset_c, clock_c, edges_c), rel=1e-6
    )
    assert window["mean_u_a"] == pytest.approx(
        math.hypot(gain_c, offset_c) / duration_s, rel=1e-6
    )
    total = result["total"]
    gain_w, volt_w, offset_w = (
        limit * total["mean_w"] / third
        for limit in (0.001, 0.0005, 1e-5 * SUPPLY_V / total["mean_w"])
    )
    # Where levels differ, an end that moves changes the mean of all.
    moves_w = [
        (level * SUPPLY_V - total["mean_w"]) * math.sqrt(2) / GPI_HZ / math.sqrt(12)
        for level in LEVELS_A
    ]
    edges_w = math.hypot(*moves_w) / total["duration_s"]
    assert total["mean_u_w"] == pytest.approx(
        math.hypot(gain_w, volt_w, offset_w, edges_w), rel=1e-6
    )
    parts = [row["energy_u_j"] for row in result["windows"]]
    assert math.hypot(*parts) < result["total"]["energy_u_j"] < sum(parts), (
        "gains err alike, edges do not"
    )
    exact = content(
        capture,
        "--calibration",
        calibration,
        "--times",
        f"{window['start_s']}-{window['start_s'] + duration_s}",
    )
    more = exact["windows"][0]["energy_j"] / energy_j
    limits_j = math.hypot(gain_j * more, offset_j, volt_j * more, clock_j * more)
    assert exact["windows"][0]["energy_u_j"] == pytest.approx(limits_j, rel=1e-5)
    assert result["accuracy"]["source"] == "made up for a test"


def test_a_trace_in_a_session_has_the_accuracy_that_is_stored_with_it(
    run_virtual: Callable[..., SessionResult],
) -> None:
    folder = run_virtual().folder
    result = content(folder / "trial-1")
    assert (
        result["simulated"]
        and result["origin"] == "rig"
        and result["accuracy"]["source"] == "the limits in the bench file"
    )
    assert all(
        0 < window["energy_u_j"] < window["energy_j"] for window in result["windows"]
    )
    shown = run(folder / "trial-1")
    assert "uncertainty unknown" not in shown.stdout
    for label in ("SIMULATED", "RANDOM BYTES"):
        assert label in shown.stdout.splitlines()[0]
    assert result["labels"] == ["SIMULATED", "RANDOM BYTES"]
    rows = csv.DictReader(io.StringIO(run(folder / "trial-1", "--csv").stdout))
    assert {row["labels"] for row in rows} == {"SIMULATED; RANDOM BYTES"}


@pytest.mark.parametrize("form", ["jls", "csv"])
def test_what_was_exported_of_a_session_keeps_its_labels(
    run_virtual: Callable[..., SessionResult], tmp_path: Path, form: str
) -> None:
    with open_trace(run_virtual().folder / "trial-1") as trace:
        part = trace.export(tmp_path / f"part.{form}", 0, 0.02)
    result = content(part)
    assert result["simulated"] is True and result["labels"] == [
        "SIMULATED",
        "RANDOM BYTES",
    ]


def test_a_table_of_another_program_has_no_labels_whatever_stands_above_it(
    tmp_path: Path,
) -> None:
    rows = "\n".join(f"{at / 100},0.001,3.3" for at in range(50))
    path = tmp_path / "table.csv"
    for above in ("", "# SIMULATED\n", "#\n"):
        path.write_text(f"{above}time (s),current (A),voltage (V)\n{rows}\n")
        result = content(path)
        assert result["labels"] == [] and result["simulated"] is False


def test_a_segment_has_the_accuracy_of_its_session_and_a_file_that_was_put_there_has_not(
    run_virtual: Callable[..., SessionResult], capture: Path
) -> None:
    trial = run_virtual().folder / "trial-1"
    (trial / "segment-2").mkdir()
    for name in ("trace.jls", "gaps.jsonl"):
        (trial / name).rename(trial / "segment-2" / name)
    stored = content(trial / "segment-2")["accuracy"]
    assert stored is not None and stored["source"] == "the limits in the bench file"
    assert content(trial / "segment-2" / "trace.jls")["accuracy"] == stored
    other = trial / "other.jls"
    other.write_bytes(capture.read_bytes())
    assert content(other)["accuracy"] is None


def test_power_alone_has_no_uncertainty_from_limits_of_current_and_voltage(
    capture: Path, calibration: Path
) -> None:
    result = content(capture, "--power", "power", "--calibration", calibration)
    assert result["windows"][0]["energy_j"] == pytest.approx(
        content(capture)["windows"][0]["energy_j"], rel=1e-6
    )
    assert (
        result["windows"][0]["charge_c"] is None
        and result["windows"][0]["energy_u_j"] is None
    )
    assert any("uncertainty unknown" in note for note in result["notes"])


def test_csv_has_every_digit_and_units_in_its_names(capture: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run(capture, "--csv").stdout)))
    assert [row["name"] for row in rows] == ["1", "2", "3", "total"]
    for row, window in zip(rows, content(capture)["windows"], strict=False):
        assert (
            float(row["energy_j"]) == window["energy_j"]
            and float(row["start_s"]) == window["start_s"]
        )
        assert row["energy_u_j"] == ""


def test_plus_or_minus_is_the_half_of_a_95_percent_interval_and_columns_say_so(
    capture: Path, calibration: Path
) -> None:
    words = ("--edges", "fall-rise", "--calibration", calibration)
    rows = content(capture, *words)["windows"]
    for row in rows:
        for name in ("energy_{}_j", "mean_{}_w", "charge_{}_c", "mean_{}_a"):
            assert row[name.format("u95")] == pytest.approx(
                1.96 * row[name.format("u")], rel=1e-4
            )
    lines = run(capture, *words).stdout.splitlines()
    assert lines[1].split("± 95 %") and lines[1].count("± 95 %") == 2
    first = dict(
        zip(("start", "time", "energy", "half"), lines[3].split()[1:], strict=False)
    )
    part = rows[0]["energy_u95_j"] / rows[0]["energy_j"]
    assert float(first["half"]) / float(first["energy"]) == pytest.approx(
        part, rel=0.03
    )
    heads = run(capture, *words, "--csv").stdout.splitlines()[0].split(",")
    assert heads.index("energy_u95_j") == heads.index("energy_u_j") + 1


def test_the_table_fits_80_columns(capture: Path, calibration: Path) -> None:
    done = run(capture, "--calibration", calibration)
    assert max(map(len, done.stdout.splitlines())) <= 80 and "…" not in done.stdout
    for word in ("energy", "µJ", "µC", "total", "SYNC: gpi[0] at 20000 Hz"):
        assert word in done.stdout
    assert "uncertainty unknown" in run(capture).stdout


def test_the_table_has_names_whole_large_numbers_and_negative_ones(
    tmp_path: Path,
) -> None:
    with trace_writer(tmp_path, 10, sync_kind="none") as writer:
        writer.analog(
            np.linspace(-0.123456789, 123.456789, 50_000), np.full(50_000, 3.3)
        )
    (tmp_path / "calibration.toml").write_text(CALIBRATION)
    names = [
        (1234.5678, "text", "the preprocessing"),
        (2345.6789, "text", "the inference"),
        (4567.8901, "text", "the end of all"),
    ]
    writer = jls_writer(tmp_path / "trace.anno.jls", 10, "current")
    with pyjls.Reader(str(tmp_path / "trace.jls")) as reader:
        writer.utc(1, 0, reader.sample_id_to_timestamp(1, 0))
        writer.utc(1, 50_000, reader.sample_id_to_timestamp(1, 50_000))
    for at_s, kind, name in names:
        annotate(writer, 1, round(at_s * 10), kind, name)
    writer.close()
    done = run(tmp_path, "--markers", "--calibration", tmp_path / "calibration.toml")
    rows = done.stdout.splitlines()[1:6]
    assert len(set(map(len, rows))) == 1 and "…" not in done.stdout, done.stdout
    assert "the preprocessing to the inference " in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--whole", "--markers"),
        ("--times", "0-1", "--whole"),
        ("--csv", "--json"),
        ("--edges", "fall-fall", "--whole"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    capture: Path, words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError):
        run(capture, *words)


def test_files_and_folders_that_cannot_be_used_are_reported(
    capture: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"missing.jls cannot be read") as missing:
        run(tmp_path / "missing.jls")
    assert "No such file" in missing.value.evidence and missing.value.exit_code == 2
    with pytest.raises(ConfigError, match="cannot be written"):
        run(capture, "--scratch", tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="calibration file"):
        run(capture, "--calibration", tmp_path / "nothing.toml")
    with pytest.raises(DataError, match="has no markers"):
        (tmp_path / "a.csv").write_text("time_s,power_w\n0,1\n1,1\n")
        run(tmp_path / "a.csv", "--markers")


def test_a_window_beyond_the_ranges_of_a_calibration_has_an_energy_and_no_uncertainty(
    capture: Path, calibration: Path
) -> None:
    middle_a = sorted(LEVELS_A)[1] * 1.001
    calibration.write_text(CALIBRATION.replace("up_to = 1.0", f"up_to = {middle_a}"))
    rows = content(capture, "--calibration", calibration)["windows"]
    over = [level > middle_a for level in LEVELS_A]
    assert over == [False, True, False]
    assert (
        [row["energy_u_j"] is None for row in rows]
        == [row["mean_u_w"] is None for row in rows]
        == over
    )
    assert all(row["energy_j"] for row in rows)
    assert ["more than" in row["problem"] for row in rows] == over
    output = run(capture, "--calibration", calibration).stdout
    assert "no uncertainty" in output and "no limits of error" in output


def test_a_trace_without_samples_is_reported_to_have_none(tmp_path: Path) -> None:
    with trace_writer(tmp_path, 1000):
        pass
    with pytest.raises(DataError, match="has no samples"):
        run(tmp_path)
