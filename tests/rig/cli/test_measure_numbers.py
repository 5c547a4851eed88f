# SPDX-License-Identifier: Apache-2.0
"""rig measure with numbers that no trace can have: an error that names them, never a
traceback; and its JSON is JSON.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyjls
import pytest
from click.testing import CliRunner, Result

from rig.cli.measure import measure
from rig.errors import ConfigError, DataError, RigError
from tests.rig.importers.profilers.test_ppk2 import archive, frame
from tests.traces import jls_writer

TABLE = "time_ms,I (A),U (V)\n" + "".join(f"{k},1,3\n" for k in range(100))
HEADLESS = "I (A),U (V)\n" + "1,3\n" * 100


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text(HEADLESS)
    (tmp_path / "a.ppk2").write_bytes(archive(frame(1.0) * 100))
    marked(tmp_path / "a.jls")
    return tmp_path


def marked(
    path: Path, *markers: tuple[str, int], kind: str = "f32", value: float = 1.0
) -> Path:
    """Write 1000 samples at 1 kHz with vertical markers at samples."""
    writer = jls_writer(path, 1000, "current", "voltage", kind=kind)
    values = np.full(1000, value, np.float32 if kind == "f32" else np.float64)
    for number in (1, 2):
        writer.fsr(number, 0, values)
    for name, at in markers:
        form = (None, pyjls.AnnotationType.VMARKER, 0)
        writer.annotation(1, at, *form, name)
    writer.close()
    return path


def run(*words: Any) -> Result:
    return CliRunner().invoke(
        measure, [str(word) for word in words], standalone_mode=False
    )


def refused(kind: type[RigError], *words: Any) -> RigError:
    with pytest.raises(kind) as caught:
        done = run(*words)
        if done.exception is not None:
            raise done.exception
    assert caught.value.cause and caught.value.try_next
    return caught.value


@pytest.mark.parametrize("rate", ["5e9", "1e12", "1e300", "1e-300", "1e-9"])
@pytest.mark.parametrize("name", ["a.csv", "b.csv", "a.ppk2", "a.jls"])
def test_a_rate_that_no_trace_can_have_is_refused(
    files: Path, rate: str, name: str
) -> None:
    supply = ("--supply-v", 3) if name == "a.ppk2" else ()
    error = refused(ConfigError, files / name, "--rate", rate, *supply)
    assert "rate_hz" in error.cause and "4294967295" in error.try_next


def test_the_slowest_and_the_fastest_rate_are_taken(files: Path) -> None:
    for rate in ("0.001", "4294967295"):
        done = run(files / "a.csv", "--rate", rate, "--time=none", "--json")
        assert done.exception is None and json.loads(done.stdout)["sample_hz"] == float(
            rate
        )


@pytest.mark.parametrize("rate", ["1e300", "1e-300", "4294967296"])
def test_a_rate_in_a_file_that_no_trace_can_have_is_refused(
    tmp_path: Path, rate: str
) -> None:
    about = f'{{"formatVersion": 2, "metadata": {{"samplesPerSecond": {rate}}}}}'
    (tmp_path / "a.ppk2").write_bytes(archive(frame(1.0) * 100, about))
    error = refused(DataError, tmp_path / "a.ppk2", "--supply-v", 3)
    assert "rate" in error.cause and "--rate" in error.try_next


@pytest.mark.parametrize("step", ["1e-300", "1e-12", "1e15"])
def test_times_that_make_a_rate_that_no_trace_can_have_are_refused(
    tmp_path: Path, step: str
) -> None:
    (tmp_path / "a.csv").write_text(
        "t (s),I (A),U (V)\n" + "".join(f"{k * float(step)!r},1,3\n" for k in range(10))
    )
    assert "rate" in refused(DataError, tmp_path / "a.csv").cause


def test_a_recording_that_would_take_centuries_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("session.raw", frame(1.0) * 5_000_000)
        out.writestr(
            "metadata.json",
            '{"formatVersion": 2, "metadata": {"samplesPerSecond": 0.001}}',
        )
    (tmp_path / "a.ppk2").write_bytes(stream.getvalue())
    error = refused(DataError, tmp_path / "a.ppk2", "--supply-v", 3)
    assert "158 years" in error.evidence


@pytest.mark.parametrize("times", ["0-1e308", "1e300-1e308", "0-1e10"])
def test_a_window_that_ends_in_centuries_is_refused(files: Path, times: str) -> None:
    assert times in refused(ConfigError, files / "a.csv", "--times", times).cause


@pytest.mark.parametrize("volts", ["1e308", "1e39"])
def test_a_supply_voltage_beyond_single_precision_is_refused(
    files: Path, volts: str
) -> None:
    assert (
        "supply_v" in refused(ConfigError, files / "a.ppk2", "--supply-v", volts).cause
    )


def test_readings_of_double_precision_beyond_single_precision_are_refused(
    tmp_path: Path,
) -> None:
    error = refused(DataError, marked(tmp_path / "a.jls", kind="f64", value=1e39))
    assert "current" in error.cause and "1e+39" in error.evidence


@pytest.mark.parametrize("at", [0, 500, 1000])
def test_markers_at_one_place_make_no_window(tmp_path: Path, at: int) -> None:
    error = refused(
        DataError,
        marked(tmp_path / "a.jls", ("1a", at), ("1b", at)),
        "--markers",
        "--json",
    )
    assert "1" in error.cause and "same place" in error.cause


def test_single_markers_at_one_place_make_no_window_either(tmp_path: Path) -> None:
    path = marked(tmp_path / "a.jls", ("x", 100), ("y", 300), ("z", 300), ("w", 700))
    done = run(path, "--markers", "--json")
    assert done.exception is None
    result = json.loads(done.stdout)
    assert [row["name"] for row in result["windows"]] == ["x to y", "z to w"]
    assert any("y to z" in note and "same place" in note for note in result["notes"])


def strict(text: str) -> Any:
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    "words",
    [
        ["--whole"],
        ["--times", "0.09999999999999999-0.1"],
        ["--times", "0-5e-324"],
        ["--times", "0-1e-9"],
    ],
)
def test_the_json_of_a_window_of_any_length_is_json(
    files: Path, words: list[str]
) -> None:
    done = run(files / "a.csv", *words, "--json")
    assert done.exception is None
    for row in strict(done.stdout)["windows"]:
        # No row is left out silently.
        assert row["problem"] or all(
            row[name] is not None
            for name in ("energy_j", "mean_w", "least_w", "most_w")
        )


def test_the_largest_limits_that_a_calibration_may_state_give_numbers(
    files: Path,
) -> None:
    limits = "".join(
        f"[[{name}]]\nup_to = 10\ngain = 1e12\noffset = 1e12\nnoise = 1e12\n"
        for name in ("current", "voltage")
    )
    (files / "c.toml").write_text(
        f'source = "x"\nclock_ppm = 1e12\nedge_s = 1e12\n{limits}'
    )
    spans = ("--times=0-0.05", "--times=0.05-0.1")
    certificate = ("--calibration", files / "c.toml")
    done = run(files / "a.csv", *spans, *certificate, "--json")
    assert done.exception is None
    assert all(row["energy_u_j"] > 1e10 for row in strict(done.stdout)["windows"])
