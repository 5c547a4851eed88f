# SPDX-License-Identifier: Apache-2.0
"""An error in a recording or its settings is reported with its file, and with the keys
that the bench file has for it.
"""

from __future__ import annotations

import json
import shutil
import struct
import zipfile
from pathlib import Path

import pytest

from drivers.playback import Playback
from rig.errors import BenchError, ConfigError, DataError, RigError
from rig.interfaces.context import BenchContext
from rig.session.session import open_bench
from tests.calibrations import CALIBRATION

POWER_PROFILER = {"metadata": {"samplesPerSecond": 1000}, "formatVersion": 2}
BENCH = """
[bench]
name = "rails"
[sut.virtual]
[rail.core.virtual]
[rail.io.playback]
{settings}
[scenario.single_stream]
[task.null]
"""


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "a.ppk2", "w") as out:
        out.writestr("session.raw", struct.pack("<fH", 1000.0, 0) * 100)
        out.writestr("metadata.json", json.dumps(POWER_PROFILER))
    (tmp_path / "calibration.toml").write_text(CALIBRATION)
    (tmp_path / "a.csv").write_text(
        "time_ms,current_a,voltage_v\n0,1,3\n1,1,3\n2,1,3\n"
    )
    (tmp_path / "no_voltage.csv").write_text("time_ms,I (mA),x\n0,1,1\n1,1,1\n2,1,1\n")
    (tmp_path / "two.csv").write_text("time_ms,I (mA),J (mA),U (V)\n0,1,1,1\n1,1,1,1\n")
    (tmp_path / "plain.csv").write_text("time_ms,I,U (V)\n0,1,1\n1,1,1\n")
    (tmp_path / "nothing.csv").write_text("time_ms,x\n0,1\n1,1\n")
    (tmp_path / "rows.csv").write_text("I (mA),U (V)\n1,1\n1,1\n")
    (tmp_path / "power.csv").write_text("time_ms,x (W)\n0,1\n1,1\n")
    (tmp_path / "quoted.csv").write_text('time_ms,"I ""in""",U (V)\n0,1,1\n1,1,1\n')
    return tmp_path


def refused(recordings: Path, place: str, settings: str) -> RigError:
    text = BENCH.format(settings=settings)
    if place == "monitor":
        text = text.replace("[rail.core.virtual]\n", "").replace(
            "[rail.io.", "[monitor."
        )
    (recordings / "bench.toml").write_text(text)
    with pytest.raises(RigError) as caught, open_bench(recordings / "bench.toml"):
        pass
    return caught.value


#: File, settings, error, its text, and the hint; SIGNALS is the place of the keys.
REFUSED = {
    "no voltage": (
        "a.ppk2",
        'signals.sync = "D0"',
        DataError,
        "there is no voltage beside the current",
        "SIGNALS.supply_v = VOLTS, what the supply was set to",
    ),
    "no such line": (
        "a.ppk2",
        'signals = { supply_v = 3.3, sync = "D9" }',
        DataError,
        "no line is called D9",
        'SIGNALS.sync = "D0"',
    ),
    "no voltage in a table": (
        "no_voltage.csv",
        "",
        DataError,
        "no voltage beside the current",
        (
            "SIGNALS.supply_v = VOLTS, what the supply was set to, or SIGNALS.voltage ="
            ' "COLUMN:UNIT"'
        ),
    ),
    "two currents": (
        "two.csv",
        "",
        DataError,
        "2 columns in a unit of current: I (mA), J (mA)",
        'SIGNALS.current = "COLUMN"',
    ),
    "no unit": (
        "plain.csv",
        'signals.current = "I"',
        DataError,
        "column I has no unit of current",
        'SIGNALS.current = "I:UNIT" with one of A, mA, uA, nA',
    ),
    "power would be refused as well": (
        "nothing.csv",
        "",
        DataError,
        "no column of current or power; no voltage, which a current needs beside it",
        (
            'SIGNALS.current = "COLUMN:UNIT", as I:mA; SIGNALS.supply_v = VOLTS, what'
            ' the supply was set to, or SIGNALS.voltage = "COLUMN:UNIT"'
        ),
    ),
    "power alone": (
        "power.csv",
        "signals.power = 'P'",
        DataError,
        "no columns are called P",
        "fetch or make the file again, or name another one",
    ),
    "a given rate": (
        "a.csv",
        "signals.rate_hz = 500.0",
        DataError,
        "a.csv: the given rate, 500 Hz, contradicts the column time_ms",
        (
            "leave out the rate; resample the table where its rows are not even, or"
            ' SIGNALS.time = "none", only where the column does not tell when the'
            " samples were taken"
        ),
    ),
    "a name that TOML escapes": (
        "quoted.csv",
        """signals.current = 'I "in"'""",
        DataError,
        'column I "in" has no unit of current',
        """SIGNALS.current = "I \\"in\\":UNIT" with one of A, mA, uA, nA""",
    ),
    "no times": (
        "rows.csv",
        "",
        DataError,
        "no column of times",
        'SIGNALS.time = "COLUMN:UNIT", as t:ms, or SIGNALS.rate_hz = HZ',
    ),
}


@pytest.mark.parametrize("place", ["monitor", "rail.io"])
@pytest.mark.parametrize(
    ("name", "settings", "kind", "cause", "hint"), REFUSED.values(), ids=REFUSED
)
def test_what_a_file_does_not_say_is_asked_for_by_the_keys_of_this_bench(
    recordings: Path,
    place: str,
    name: str,
    settings: str,
    kind: type[RigError],
    cause: str,
    hint: str,
) -> None:
    error = refused(
        recordings,
        place,
        f'path = "{name}"\ncalibration = "calibration.toml"\n{settings}',
    )
    assert isinstance(error, kind)
    rail = "" if place == "monitor" else "rail io: "
    assert error.cause == f"{rail}{cause}"
    assert error.evidence.startswith(str(recordings / name))
    assert error.try_next == hint.replace("SIGNALS", f"{place}.playback.signals")


@pytest.mark.parametrize("place", ["monitor", "rail.io"])
@pytest.mark.parametrize(
    ("settings", "kind", "key"),
    [
        ("", ConfigError, "path"),
        ('path = "missing.csv"', DataError, "path"),
        ('path = "a.csv"', ConfigError, "calibration"),
        (
            'path = "a.csv"\ncalibration = "calibration.toml"\nsignals.source = "x"',
            ConfigError,
            "signals.source",
        ),
        (
            'path = "a.ppk2"\ncalibration = "calibration.toml"\nsignals.time = "x"',
            ConfigError,
            "signals.time",
        ),
        ('path = "a.csv"\nstart_s = -1.0', ConfigError, "start_s"),
    ],
)
def test_a_setting_that_does_not_fit_is_reported_by_the_key_of_this_bench(
    recordings: Path, place: str, settings: str, kind: type[RigError], key: str
) -> None:
    error = refused(recordings, place, settings)
    assert isinstance(error, kind)
    output = error.path if isinstance(error, ConfigError) else error.try_next
    assert output.startswith(f"{place}.playback.{key}")
    assert place == "monitor" or "monitor." not in str(error)


def test_a_recording_without_sync_names_the_key_and_no_option(recordings: Path) -> None:
    settings = (
        'path = "a.ppk2"\ncalibration = "calibration.toml"\nsignals.supply_v = 3.0'
    )
    (recordings / "bench.toml").write_text(BENCH.format(settings=settings))
    with (
        pytest.raises(ConfigError, match="sees no SYNC line") as caught,
        open_bench(recordings / "bench.toml") as bench,
    ):
        bench.run(1, recordings / "sessions")
    assert (
        caught.value.evidence
        == 'no SYNC; there are the lines D0 to D7: rail.io.playback.signals.sync = "D0"'
    )
    assert caught.value.try_next.startswith("rail.io.playback.signals.sync = NAME")


def test_a_later_recording_that_cannot_be_read_is_named_with_what_to_do(
    recordings: Path,
) -> None:
    shutil.copyfile(recordings / "a.csv", recordings / "r-1.csv")
    shutil.copyfile(recordings / "nothing.csv", recordings / "r-2.csv")
    context = BenchContext()
    settings = Playback.Settings(
        path=str(recordings / "r-{n}.csv"),
        calibration=str(recordings / "calibration.toml"),
    )
    monitor = Playback.open(settings, context)
    context.state.trial = 2
    with pytest.raises(BenchError) as caught, monitor.record(recordings):
        pass
    assert type(caught.value) is BenchError
    assert caught.value.cause == (
        "recording 2: no column of current or power; no voltage, which a current needs"
        " beside it"
    )
    assert caught.value.evidence.startswith(f"{recordings / 'r-2.csv'}: the columns")
    asked = 'monitor.playback.signals.current = "COLUMN:UNIT", as I:mA; monitor'
    assert caught.value.try_next.startswith(asked)
    monitor.close()
