# SPDX-License-Identifier: Apache-2.0
"""A session measured from files of other programs has the energies of the session whose
samples they hold.

The files are written here, after what those programs write, and share no code with what
reads them.
"""

from __future__ import annotations

import dataclasses
import io
import json
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest
from numpy.typing import NDArray

from rig.errors import ConfigError
from rig.session.session import SessionResult, open_bench
from tests.calibrations import VIRTUAL_MONITOR
from tests.checking import check
from tests.conftest import VIRTUAL_NULL

TRIALS = 5
SAMPLE_HZ = 100_000
SUPPLY_V = 3.3
SUT = [
    "task.null.samples=4",
    "scenario.single_stream.idle_s=0.02",
    "sut.virtual.preprocess.duration_s=0.004",
    "sut.virtual.infer.duration_s=0.008",
]


@dataclass(frozen=True)
class Samples:
    """The content of a recording; of the line as many samples as of current."""

    sample_hz: int
    current_a: NDArray[np.float32]
    voltage_v: NDArray[np.float32]
    levels: NDArray[np.uint8]


Write = Callable[[Path, Samples], None]


def recorded(
    folder: Path, words: Sequence[str], sample_hz: int = SAMPLE_HZ
) -> SessionResult:
    with open_bench(
        VIRTUAL_NULL, [*words, f"monitor.virtual.sample_hz={sample_hz}"]
    ) as bench:
        return bench.run(TRIALS, folder)


def read(result: SessionResult) -> list[Samples]:
    """Return the content of a session's recordings, by the library alone."""
    results = []
    for trial in range(1, TRIALS + 1):
        with pyjls.Reader(
            str(result.folder / f"trial-{trial}" / "trace.jls")
        ) as reader:
            signals = {signal.name: signal for signal in reader.signals.values()}
            length = int(signals["current"].length)
            current_a, voltage_v, packed = (
                reader.fsr(signals[name].signal_id, 0, length)
                for name in ("current", "voltage", "sync")
            )
            levels = np.unpackbits(packed, bitorder="little")[:length]
            results.append(
                Samples(
                    int(signals["current"].sample_rate), current_a, voltage_v, levels
                )
            )
    return results


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> SessionResult:
    return recorded(tmp_path_factory.mktemp("original"), SUT)


@pytest.fixture(scope="module")
def samples(original: SessionResult) -> list[Samples]:
    return read(original)


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., SessionResult]:
    """Write a recording for each trial, and measure a session from them; `signals` are
    keys of the bench file, `words` set the device's behaviour.
    """

    def play(
        samples: Sequence[Samples],
        write: Write,
        suffix: str,
        *signals: str,
        words: Sequence[str] = SUT,
    ) -> SessionResult:
        (tmp_path / "calibration.toml").write_text(VIRTUAL_MONITOR)
        (tmp_path / "again").mkdir()
        for trial, sampled in enumerate(samples, start=1):
            write(tmp_path / f"trial-{trial}{suffix}", sampled)
        keys = [
            f"path={tmp_path}/trial-{{n}}{suffix}",
            f"calibration={tmp_path}/calibration.toml",
            "start_s=0.01",
        ]
        keys += [f"signals.{signal}" for signal in signals]
        with open_bench(
            VIRTUAL_NULL, [*words, *(f"monitor.playback.{key}" for key in keys)]
        ) as bench:
            return bench.run(TRIALS, tmp_path / "again")

    return play


def windows(result: SessionResult, trial: int) -> list[dict[str, Any]]:
    """Return every window of a trial, the idle ones too."""
    lines = (
        (result.folder / f"trial-{trial}" / "samples.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    rows = map(json.loads, lines)
    lists = (row.get("windows", [row.get("idle")]) for row in rows)
    return list(chain.from_iterable(lists))


# --- The forms


def _rows(path: Path, heading: str, rows: Sequence[str]) -> None:
    path.write_text(heading + "\n" + "\n".join(rows) + "\n", encoding="utf-8")


def write_table(path: Path, what: Samples) -> None:
    """Write named columns; time in ms, as of a UNIX clock."""
    columns = zip(
        (what.current_a * np.float64(1e3)).tolist(),
        what.voltage_v.tolist(),
        what.levels.tolist(),
        strict=True,
    )
    rows = [
        f"{1_700_000_000_000 + k // 100}.{k % 100:02d},{ma!r},{volt!r},{level}"
        for k, (ma, volt, level) in enumerate(columns)
    ]
    _rows(path, "t (ms),I (mA),U [V],sync", rows)


def write_table_of_commas(path: Path, what: Samples) -> None:
    """Write decimal commas and the line as a voltage, a mean over each sample: levels
    are those at its ends.
    """
    line_v = SUPPLY_V * (what.levels + np.append(what.levels[1:], what.levels[-1])) / 2
    columns = zip(
        what.current_a.tolist(), what.voltage_v.tolist(), line_v.tolist(), strict=True
    )
    rows = [
        f"{k / what.sample_hz:.5f};{ampere:.9f};{volt!r};{line}"
        for k, (ampere, volt, line) in enumerate(columns)
    ]
    _rows(
        path,
        "time_s;current_a;voltage_v;line (V)",
        [row.replace(".", ",") for row in rows],
    )


def write_power_profiler_table(path: Path, what: Samples) -> None:
    """Write an export of the Power Profiler: uA of three digits, and eight lines in one
    cell, D0 first.
    """
    columns = zip(
        (what.current_a * np.float64(1e6)).tolist(), what.levels.tolist(), strict=True
    )
    _rows(
        path,
        "Timestamp(ms),Current(uA),D0-D7",
        [
            f"{k / 100:.2f},{ua:.3f},01{level}10000"
            for k, (ua, level) in enumerate(columns)
        ],
    )


def write_ppk2(path: Path, what: Samples) -> None:
    """Write an archive of the Power Profiler: the line is D2, between one that is
    always high and one that is always low.
    """
    raw = b"".join(
        struct.pack("<f", ua)
        + struct.pack(">H", 1 | 2 << 2 | (2 if level else 1) << 4 | 1 << 6 | 0x5500)
        for ua, level in zip(
            (what.current_a * np.float64(1e6)).tolist(),
            what.levels.tolist(),
            strict=True,
        )
    )
    about = {
        "metadata": {
            "samplesPerSecond": what.sample_hz,
            "startSystemTime": 1_700_000_000_000,
        },
        "formatVersion": 2,
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("session.raw", raw)
        archive.writestr("minimap.raw", b"{}")
        archive.writestr("metadata.json", json.dumps(about))
    path.write_bytes(stream.getvalue())


def write_jls(path: Path, what: Samples, line: bool = True) -> None:
    """Write a JLS file with the library alone: other numbers of signals than the rig's,
    and of the first sample.
    """
    writer = pyjls.Writer(str(path))
    writer.source_def(
        source_id=7,
        name="instrument",
        vendor="somebody",
        model="m",
        version="1",
        serial_number="42",
    )
    for number, name, unit, values in (
        (21, "current", "A", what.current_a),
        (22, "voltage", "V", what.voltage_v),
    ):
        writer.signal_def(
            signal_id=number,
            source_id=7,
            data_type="f32",
            sample_rate=what.sample_hz,
            name=name,
            units=unit,
        )
        writer.fsr(number, 12_345, values)
    if line:
        # In whole bytes: the line stays as it is.
        levels = np.append(
            what.levels, np.repeat(what.levels[-1:], -len(what.levels) % 8)
        )
        writer.signal_def(
            signal_id=23,
            source_id=7,
            data_type="u1",
            sample_rate=what.sample_hz,
            name="gpi[0]",
        )
        writer.fsr(23, 12_345, np.packbits(levels, bitorder="little"))
    writer.close()


def write_otii(path: Path, what: Samples) -> None:
    """Write the file of an Otii's current with its digital input put beside the
    numbers."""
    columns = zip(what.current_a.tolist(), what.levels.tolist(), strict=True)
    rows = [
        f"{k / what.sample_hz:.6f},{ampere:.9f},{level}"
        for k, (ampere, level) in enumerate(columns)
    ]
    _rows(path, '"Timestamp","Value","GPI 1"', rows)


def write_otii_channel(path: Path, what: Samples) -> None:
    _rows(
        path,
        '"Timestamp","Value"',
        [
            f"{k / what.sample_hz:.6f},{ampere:.9f}"
            for k, ampere in enumerate(what.current_a.tolist())
        ],
    )


def write_jls_without_a_line(path: Path, what: Samples) -> None:
    write_jls(path, what, line=False)


OTII = ("time='Timestamp:s'", "current='Value:A'", f"supply_v={SUPPLY_V}")


# --- Measurements from them


@pytest.mark.parametrize(
    ("write", "suffix", "signals"),
    [
        (write_table, ".csv", ()),
        (write_table_of_commas, ".csv", ("sync='line (V)'",)),
        (write_power_profiler_table, ".csv", (f"supply_v={SUPPLY_V}", "sync=D2")),
        (write_ppk2, ".ppk2", (f"supply_v={SUPPLY_V}", "sync=D2")),
        (write_jls, ".jls", ()),
        (write_otii, ".csv", (*OTII, "sync='GPI 1'")),
    ],
    ids=[
        "table",
        "decimal commas",
        "Power Profiler's table",
        "Power Profiler's own",
        "JLS",
        "Otii",
    ],
)
def test_a_session_from_foreign_files_has_the_energies_of_the_session_that_was_recorded(
    original: SessionResult,
    samples: Sequence[Samples],
    played: Callable[..., SessionResult],
    write: Write,
    suffix: str,
    signals: tuple[str, ...],
) -> None:
    assert_alike(original, played(samples, write, suffix, *signals))


def test_a_playback_at_4000_samples_a_second_has_the_energies_of_the_session(
    tmp_path: Path, played: Callable[..., SessionResult]
) -> None:
    words = [
        *SUT[:2],
        "sut.virtual.sync_hold_us=1000",
        "sut.virtual.sync_period_us=8003",
    ]
    slow = recorded(tmp_path / "slow", words, 4000)
    assert_alike(
        slow, played(read(slow), write_otii, ".csv", *OTII, "sync='GPI 1'", words=words)
    )


def assert_alike(original: SessionResult, again: SessionResult) -> None:
    """Hold a session against the one whose samples it was measured from, window by
    window."""
    assert (
        original.ok
        and again.ok
        and again.content["problems"] == []
        and check(again.folder).ok
    )
    assert (
        again.content["simulated"]
        and again.content["samples"]["per_trial"] == [4] * TRIALS
    )
    for trial in range(1, TRIALS + 1):
        for then, now in zip(
            windows(original, trial), windows(again, trial), strict=True
        ):
            assert now["phase"] == then["phase"]
            # The numbers are the same to single precision, or to the digits that the
            # form prints: far less than their uncertainty.
            for name in ("energy_j", "latency_s"):
                assert now[name] == pytest.approx(then[name], rel=1e-5), name
                assert abs(now[name] - then[name]) < now[name.replace("_", "_u_")]
            for name in ("energy_u_j", "latency_u_s"):
                assert now[name] == pytest.approx(then[name], rel=1e-2), name
    for name, metric in original.metrics.items():
        assert again.metrics[name].value == pytest.approx(metric.value, rel=1e-4), name


@pytest.mark.parametrize(
    ("write", "suffix", "signals", "evidence"),
    [
        (write_table, ".csv", ("sync=none",), "no SYNC"),
        (
            write_power_profiler_table,
            ".csv",
            (f"supply_v={SUPPLY_V}",),
            "there are the lines D0-D7",
        ),
        (
            write_ppk2,
            ".ppk2",
            (f"supply_v={SUPPLY_V}",),
            "there are the lines D0 to D7",
        ),
        (write_jls_without_a_line, ".jls", (), "no SYNC"),
        (
            write_otii_channel,
            ".csv",
            OTII,
            "no SYNC among the columns Timestamp, Value",
        ),
    ],
    ids=["table", "Power Profiler's table", "Power Profiler's own", "JLS", "Otii"],
)
def test_a_session_from_files_that_tell_no_line_is_refused_with_the_key_that_names_one(
    tmp_path: Path,
    samples: Sequence[Samples],
    played: Callable[..., SessionResult],
    write: Write,
    suffix: str,
    signals: tuple[str, ...],
    evidence: str,
) -> None:
    with pytest.raises(
        ConfigError, match="sees no SYNC line, so energy cannot be aligned with phases"
    ) as caught:
        played(samples, write, suffix, *signals)
    assert caught.value.path == "monitor.playback" and evidence in caught.value.evidence
    assert (
        "monitor.playback.signals.sync = " in caught.value.try_next
        and "--" not in f"{caught.value.evidence}{caught.value.try_next}"
    )
    assert not list((tmp_path / "again").iterdir()), "nothing was begun"


def test_pulses_that_may_lie_between_the_samples_of_a_recording_are_refused(
    tmp_path: Path, samples: Sequence[Samples], played: Callable[..., SessionResult]
) -> None:
    few = [
        Samples(
            4000, sample.current_a[::25], sample.voltage_v[::25], sample.levels[::25]
        )
        for sample in samples
    ]
    with pytest.raises(
        ConfigError, match="50 µs can be missed by playback, which needs 500 µs"
    ) as caught:
        played(few, write_otii, ".csv", *OTII, "sync='GPI 1'")
    assert caught.value.path == "sut.virtual.sync_hold_us" and not list(
        (tmp_path / "again").iterdir()
    )


def test_a_line_that_never_moves_is_no_sync_and_its_trials_are_not_valid(
    samples: Sequence[Samples], played: Callable[..., SessionResult]
) -> None:
    result = played(samples, write_ppk2, ".ppk2", f"supply_v={SUPPLY_V}", "sync=D3")
    assert not result.ok and {row["code"] for row in result.content["problems"]} == {
        "edges"
    }
    assert [trial.valid for trial in result.trials] == [False] * TRIALS


def test_an_inverted_line_is_named(
    samples: Sequence[Samples], played: Callable[..., SessionResult]
) -> None:
    upside_down = [
        dataclasses.replace(sampled, levels=1 - sampled.levels) for sampled in samples
    ]
    result = played(upside_down, write_jls, ".jls")
    assert not result.ok and {row["code"] for row in result.content["problems"]} == {
        "sync"
    }
    assert len(result.content["problems"]) == TRIALS, "and nothing else"
    for row in result.content["problems"]:
        assert "inverted" in row["detail"]


def test_recordings_of_other_trials_fit_no_marks(
    samples: Sequence[Samples], played: Callable[..., SessionResult]
) -> None:
    result = played(samples[::-1], write_jls, ".jls")
    middle = TRIALS // 2
    assert [trial.valid for trial in result.trials] == [
        number == middle for number in range(TRIALS)
    ]
    assert {row["trial"] - 1 for row in result.content["problems"]} == {
        *range(TRIALS)
    } - {middle}
    assert {row["code"] for row in result.content["problems"]} <= {"edges", "sync"}
