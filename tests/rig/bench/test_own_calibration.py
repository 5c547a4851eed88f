# SPDX-License-Identifier: Apache-2.0
"""A session uses the calibration file of its own instrument, keeps it and names it; any
other file is refused.
"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from rig.bench import config
from rig.bench.config import PluginChoice
from rig.bench.named_monitor import open_monitor
from rig.bench.qualification import calibration_file
from rig.bench.qualification.check import CheckPlan, MonitorCheck
from rig.bench.qualification.load import SimulatedHands, parse
from rig.bench.qualification.recording import Bare
from rig.check.check import check
from rig.cli.main import rig
from rig.errors import ConfigError
from rig.host.stop import Stop
from rig.interfaces.context import BenchContext
from rig.session.session import open_bench
from rig.trace.trace import Trace
from rig.uncertainty import accuracy
from tests.conftest import ROOT

BENCH = ROOT / "benches" / "virtual-null.toml"
GAIN = 0.0019
TODAY = datetime.date(2026, 11, 27)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a calibration of the virtual monitor, whose gain is GAIN."""
    path = tmp_path_factory.mktemp("calibration") / "mine.toml"
    settings = config.settings_of("monitor", "virtual", [f"gain={GAIN}"])
    bare = Bare.of("", PluginChoice("virtual", settings), path.parent)
    plan = CheckPlan(
        resistors=(parse("1kohm,0.01%"),),
        voltmeter=1e-4,
        seconds=0.3,
        clock_seconds=0.0,
    )
    under_way = MonitorCheck(bare, plan, SimulatedHands(voltmeter=0.0), Stop())
    list(under_way.rows())
    today = datetime.datetime.now(datetime.UTC).date()
    calibration_file.write(path, under_way.accuracy(today))
    return path


def changed(file: Path, folder: Path, honest: bool = True, **keys: Any) -> Path:
    """Return a copy with other keys of [calibration]; `honest`: without its hash."""
    content = tomllib.loads(file.read_text())
    content["calibration"] |= keys
    if honest:
        del content["calibration"]["sha256"]
    path = folder / "changed.toml"
    path.write_text(tomli_w.dumps(content))
    return path


def opened(kind: str, file: Path, *settings: str) -> str:
    """Open and close a monitor; return what refuses it."""
    changes = [*settings, f"calibration={file}"]
    choice = PluginChoice(kind, config.settings_of("monitor", kind, changes))
    try:
        open_monitor("", choice, BenchContext()).close()
    except ConfigError as error:
        return f"{error.cause}; {error.evidence}; {error.try_next}"
    return ""


def energies(folder: Path, *overrides: str) -> tuple[Any, Path]:
    with open_bench(BENCH, [f"monitor.virtual.gain={GAIN}", *overrides]) as bench:
        result = bench.run(trials=2, root=folder)
    return result, result.folder


def test_a_session_is_corrected_by_the_file_and_keeps_and_names_it(
    file: Path, tmp_path: Path
) -> None:
    plain, without = energies(tmp_path / "a")
    used, folder = energies(tmp_path / "b", f"monitor.virtual.calibration={file}")
    kept = folder / "calibration" / "monitor.toml"
    assert kept.read_bytes() == file.read_bytes()
    assert not (without / "calibration").exists()
    means_w = [
        Trace.open(each / "trial-1" / "trace.jls").mean_w(0.0, 0.05)
        for each in (without, folder)
    ]
    assert means_w[0] / means_w[1] == pytest.approx(1 + GAIN, abs=3e-4)
    name = "power_idle" if "power_idle" in used.metrics else "power_active"
    parts = {
        part.component: part.standard_uncertainty
        for part in used.results.metrics[name].budget
    }
    before = {
        part.component: part.standard_uncertainty
        for part in plain.results.metrics[name].budget
    }
    [calibrated] = [each for each in parts if each.startswith("current gain")]
    assert "calibration of 20" in calibrated
    # The file's limit stands for two standard uncertainties, and counts once.
    [row] = tomllib.loads(file.read_text())["current"]
    expected_w = used.metrics[name].value * row["gain"] / 2
    assert parts[calibrated] == pytest.approx(expected_w, rel=1e-3)
    assert parts[calibrated] < 0.3 * before["current gain"]
    findings = check(folder)
    assert all(each.ok for each in findings.findings), findings
    assert not any("has no copy" in each.detail for each in findings.findings)


def test_a_check_finds_that_the_kept_file_is_another(
    file: Path, tmp_path: Path
) -> None:
    _, folder = energies(tmp_path, f"monitor.virtual.calibration={file}")
    kept = folder / "calibration" / "monitor.toml"
    kept.write_text(changed(file, tmp_path, serial="4711").read_text())
    wrong = [each for each in check(folder).findings if each.ok is False]
    assert any("calibration is not as" in each.detail for each in wrong)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"valid_until": "2026-01-31"}, "past its date"),
        ({"serial": "000417"}, "serial number '000417'"),
        ({"kind": "joulescope"}, "kind 'joulescope'"),
        ({"sample_hz": 1000.0}, "1000 Hz"),
        ({"correction": [{"up_to": 1.0, "factor": 1.0}]}, "its ranges end at"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    file: Path, tmp_path: Path, keys: dict[str, Any], words: str
) -> None:
    refusal = opened("virtual", changed(file, tmp_path, **keys))
    assert words in refusal and "rig monitor check" in refusal


def test_an_edited_file_is_refused_and_one_that_fits_is_not(
    file: Path, tmp_path: Path
) -> None:
    assert opened("virtual", file) == ""
    edited = changed(file, tmp_path, honest=False, made="2026-01-01")
    assert "not as rig monitor check wrote it" in opened("virtual", edited)


def test_another_serial_number_of_a_real_interface_is_refused(tmp_path: Path) -> None:
    settings = ("device=simulator", "simulator.noise_a=1e-6")
    choice = PluginChoice(
        "joulescope", config.settings_of("monitor", "joulescope", settings)
    )
    plan = CheckPlan(seconds=0.2, clock_seconds=0.0)
    bare = Bare.of("", choice, tmp_path)
    under_way = MonitorCheck(bare, plan, SimulatedHands(), Stop())
    list(under_way.rows())
    path = tmp_path / "js220.toml"
    calibration_file.write(path, under_way.accuracy(TODAY))
    assert opened("joulescope", path, *settings) == ""
    other = 'simulator.serials=["000416"]'
    assert "'000415'" in opened("joulescope", path, *settings, other)
    narrow = "current_range=18 mA"
    assert "ranges end at" in opened("joulescope", path, *settings, narrow)


def test_the_date_counts_on_the_day_of_the_measurement(
    file: Path, tmp_path: Path
) -> None:
    path = changed(file, tmp_path, valid_until="2026-11-27")
    last = datetime.date(2026, 11, 27)
    assert accuracy.load(path, last).calibration is not None
    with pytest.raises(ConfigError, match="past its date"):
        accuracy.load(path, last + datetime.timedelta(days=1))
    assert accuracy.read(path) == accuracy.load(path, last)


def test_a_correcting_file_is_no_statement_on_another_trace(
    file: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,current_a,voltage_v\n0,0.1,3.3\n0.001,0.1,3.3\n")
    words = ["measure", str(trace), "--calibration", str(file)]
    with pytest.raises(ConfigError, match="while they are recorded"):
        rig.main(words, standalone_mode=False)


def test_what_is_written_is_read_again(file: Path, tmp_path: Path) -> None:
    limits = accuracy.load(file)
    assert limits.calibration is not None
    again = tmp_path / "again.toml"
    calibration_file.write(again, limits)
    assert accuracy.load(again) == limits
    with pytest.raises(ConfigError, match="is there already"):
        calibration_file.write(again, replace(limits, source="another"))
