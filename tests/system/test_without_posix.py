# SPDX-License-Identifier: Apache-2.0
"""The rig on a system without the modules and functions of Linux and macOS, as Windows
is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import captured
from tests.recorded import recorded

ASC = ROOT / "benches" / "virtual-asc.toml"
SMALL = ("--set", "task.asc.samples=4", "--set", "scenario.single_stream.idle_s=0.1")


def there(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Return `rig` with `words`, on such a system, in a folder."""
    command = [sys.executable, "-m", "tests.without_posix", *map(str, words)]
    return captured(command, cwd=folder, env=ENVIRONMENT, timeout=120)


ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "PATH": "/usr/bin:/bin",
    "QT_QPA_PLATFORM": "offscreen",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one session that was measured there."""

    def measure(folder: Path) -> None:
        folder.mkdir()
        done = there(folder, "run", ASC, *SMALL, "--sessions", "sessions")
        assert done.returncode == 0, done.stdout + done.stderr

    measured = recorded(tmp_path_factory, "without", measure)
    return shutil.copytree(measured, tmp_path_factory.mktemp("without") / "folder")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("check", "SESSION"), "SIMULATED"),
        (("report", "SESSION"), "report.html"),
        (("sessions",), "virtual-asc"),
        (("compare", "SESSION", "SESSION"), "energy"),
        (("measure", "SESSION/trial-1/trace.jls"), "windows"),
        (("bundle", "SESSION"), "wrote"),
        (("bench", "new", "virtual-asc", "mine.toml"), "written"),
        (("plan", ASC), "disk"),
        (("probe", ASC), "SYNC"),
        (("list",), "virtual"),
        (("scan",), ""),
        (("doctor",), "Python"),
        (("doctor", ASC), "this bench has what it needs"),
    ],
    ids=lambda part: part[0] if isinstance(part, tuple) else "",
)
def test_a_command_works(
    folder: Path, words: tuple[str | Path, ...], shown: str
) -> None:
    (session,) = (folder / "sessions").iterdir()
    named = [str(word).replace("SESSION", str(session)) for word in words]
    done = there(folder, *named)
    # A normal user may have no port that can be opened: an outcome of scan, and no error.
    expected = (0, 3) if words == ("scan",) else (0,)
    assert done.returncode in expected, done.stdout + done.stderr
    assert shown in done.stdout
    assert "dialout" not in done.stdout


@pytest.mark.parametrize("labgrid", [False, True])
def test_what_cannot_run_there_is_refused_in_words(folder: Path, labgrid: bool) -> None:
    bench = ROOT / "benches" / "posix-asc.toml"
    if labgrid:
        text = (ROOT / "benches" / "uart-asc.toml").read_text(encoding="utf-8")
        bench = folder / "lent.toml"
        bench.write_text(f'{text}\n[labgrid]\nplace = "board-1"\n', encoding="utf-8")
    done = there(folder, "run", bench)
    assert done.returncode == 2
    assert "runs on Linux and macOS only" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_module_can_be_imported(folder: Path) -> None:
    every = (
        "import importlib, pkgutil, sys, tests.without_posix\n"
        "for top in tests.without_posix.OURS:\n"
        "    package = importlib.import_module(top)\n"
        "    for found in pkgutil.walk_packages(package.__path__, top + '.'):\n"
        "        if '__main__' in found.name:\n"
        "            continue\n"
        "        try:\n"
        "            importlib.import_module(found.name)\n"
        "        except ImportError as error:\n"
        "            # Vendors' packages need not be installed.\n"
        "            name = str((error.__cause__ or error).name)\n"
        "            ours = name.partition('.')[0] in tests.without_posix.OURS\n"
        "            if ours or name in tests.without_posix.ABSENT:\n"
        "                raise\n"
    )
    done = captured(
        [sys.executable, "-c", every], cwd=folder, env=ENVIRONMENT, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.repeats
@pytest.mark.timeout(600)
def test_tests_of_the_portable_rooms_pass_there(tmp_path: Path) -> None:
    rooms = [ROOT / "tests" / "rig" / room for room in ("importers", "report", "store")]
    # A power cut is simulated by hidden functions, any port that is no serial port
    # counts as a terminal there, and Windows has no group dialout and no permission
    # bits of folders.
    left_out = (
        "not on_the_disk_before_its_line and not no_serial_port"
        " and not on_board_ports and not others_may_write_to"
    )
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.without_posix",
        "-k",
        left_out,
    ]
    done = captured(
        [sys.executable, "-m", "pytest", *options, *map(str, rooms)],
        cwd=ROOT,
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path)},
        timeout=590,
    )
    assert done.returncode == 0, done.stdout[-3000:]
