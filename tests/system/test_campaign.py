# SPDX-License-Identifier: Apache-2.0
"""`rig campaign`: cells as ordinary sessions, after any end the same command goes on."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from rig.api.campaign import grid
from rig.api.campaign.standing import CellStatus, survey
from rig.api.sessions.session import open_session, sessions
from rig.check.check import check
from rig.store.session_folder import BENCH, EVENTS, RESULTS, SessionFolder
from tests.commands import rig, started
from tests.waiting import eventually

GRID = """
[grid]
bench = "virtual-null"
repetitions = 2
[axis]
sut.virtual.idle_w = [0.005, 0.010]
[settings]
bench.trials = 2
task.null.samples = {samples}
"""
#: Sessions in real time, of some 6 s.
SLOW = """
[grid]
bench = "slow.toml"
repetitions = 2
[axis]
task.null.samples = [6, 8]
"""
BENCH_OF_SLOW = """
[bench]
trials = 2
[sut.posix]
program = "{program}"
[monitor.virtual]
sample_hz = 200_000
[scenario.single_stream]
idle_s = 1.0
[task.null]
"""


#: The command, without further options.
WORDS = ("campaign", "grid.toml", "--to", "cells")


def at(folder: Path, *more: str) -> CompletedProcess[str]:
    """Run the campaign of a folder."""
    return rig(*WORDS, *more, cwd=folder)


def told(root: Path) -> dict[str, list[str]]:
    """Return the statuses of the sessions in a folder, by their benches' names."""
    found: dict[str, list[str]] = {}
    for session in sessions(root):
        name = re.sub(r"^\d+T\d+Z-", "", session.path.name)
        found.setdefault(name, []).append(session.status)
    return found


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "grid.toml").write_text(GRID.format(samples=12))
    ran = at(folder, "--jobs=2")
    assert ran.returncode == 4, ran.stdout + ran.stderr  # too few trials
    assert "4 cells: 4 done, 0 failed, 0 missing" in ran.stdout
    return folder


def test_each_cell_is_an_ordinary_session(campaign: Path) -> None:
    found = told(campaign / "cells")
    names = ("idle_w0.005-r1", "idle_w0.005-r2", "idle_w0.01-r1", "idle_w0.01-r2")
    assert found == {f"virtual-null-{name}": ["success"] for name in names}
    for session in sessions(campaign / "cells"):
        assert check(session.path).ok


def test_the_same_command_runs_nothing_again(campaign: Path) -> None:
    before = {path: path.read_bytes() for path in campaign.glob(f"cells/*/{EVENTS}")}
    ran = at(campaign)
    assert "0 to run, 4 done" in ran.stdout
    after = {path: path.read_bytes() for path in campaign.glob(f"cells/*/{EVENTS}")}
    assert after == before


def test_the_table_has_the_axes_and_the_labels(campaign: Path) -> None:
    words = ("campaign", "grid.toml", "--to", "cells", "--table", "--csv", "out.csv")
    ran = rig(*words, cwd=campaign)
    assert "SIMULATED" in ran.stdout
    with (campaign / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["sut.virtual.idle_w"] for row in rows] == ["0.005", "0.01"]
    for row in rows:
        assert "SIMULATED" in row["labels"]
        names = row["sessions"].split()
        assert len(names) == int(row["done"]) == 2
        values = [
            open_session(campaign / "cells" / name).results.metrics["energy_dynamic"]
            for name in names
        ]
        mean = sum(one.value or 0.0 for one in values) / 2
        assert float(row["energy_dynamic_j"]) == pytest.approx(mean, rel=1e-12)
        low, high = (float(row[f"energy_dynamic_j_{end}"]) for end in ("low", "high"))
        # The true energy of the simulated phases, without idle power.
        truth_j = (
            0.018 * 0.035 + 0.042 * 0.045 - 0.060 * float(row["sut.virtual.idle_w"])
        )
        assert low < truth_j < high


def test_a_cell_whose_bench_text_changed_runs_anew(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(GRID.format(samples=3).replace("[0.005, 0.010]", "[0.005]"))
    at(tmp_path, "--jobs=2")
    path.write_text(path.read_text().replace("samples = 3", "samples = 4"))
    shown = at(tmp_path, "--status")
    assert "2 cells: 0 done, 0 failed, 2 missing" in shown.stdout
    assert "its bench text is another one (task.null.samples)" in shown.stdout
    assert shown.returncode == 1
    at(tmp_path, "--jobs=2")
    assert set(map(len, told(tmp_path / "cells").values())) == {2}
    again = at(tmp_path, "--status")
    assert "2 cells: 2 done, 0 failed, 0 missing" in again.stdout
    assert "2 other sessions there are of no cell" in again.stdout

    # Edited numbers are no cell's either.
    (session, *_) = sessions(tmp_path / "cells")
    tree = json.loads((session.path / RESULTS).read_text())
    tree["metrics"]["energy_total"]["value"] = 1.0
    (session.path / RESULTS).write_text(json.dumps(tree))
    edited = at(tmp_path, "--status")
    assert "2 cells: 1 done, 0 failed, 1 missing" in edited.stdout
    assert "changed after its run" in edited.stdout


def test_a_cell_that_fails_is_named_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "gone.toml").write_text(
        '[sut.uart]\nport = "/dev/nosuch"\n[monitor.virtual]\n'
        "[scenario.single_stream]\n[task.null]\n"
    )
    (tmp_path / "grid.toml").write_text(
        '[grid]\nbench = ["gone.toml", "virtual-null"]\n[settings]\nbench.trials = 1\n'
    )
    ran = at(tmp_path)
    assert ran.returncode == 1
    assert "gone-r1: failed: there is no port /dev/nosuch" in ran.stdout
    assert "2 cells: 1 done, 0 failed, 1 missing" in ran.stdout
    assert told(tmp_path / "cells") == {"virtual-null-r1": ["success"]}


def slow(folder: Path, firmware: Path) -> None:
    program = firmware / "null"
    (folder / "slow.toml").write_text(BENCH_OF_SLOW.format(program=program))
    (folder / "grid.toml").write_text(SLOW)


@pytest.mark.posix
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_was_stopped_goes_on_by_the_same_command(
    tmp_path: Path, firmware: Path, how: signal.Signals
) -> None:
    slow(tmp_path, firmware)
    root = tmp_path / "cells"
    running = started(*WORDS, "--jobs=2", cwd=tmp_path)
    eventually(lambda: len(list(root.glob("*/trial-1/completions.jsonl"))) == 2, 60)
    running.signal(how)
    ended = running.ended()
    if how is not signal.SIGKILL:
        assert ended.returncode == 130
        assert "the supply is off" in ended.stderr
        assert "which goes on" in ended.stderr
    # The cells of a killed rig end by themselves, and in order.
    eventually(lambda: ["killed"] not in told(root).values(), 60)
    assert [status for [status] in told(root).values()] == ["abort", "abort"]
    shown = at(tmp_path, "--status")
    assert "4 cells: 0 done, 0 failed, 2 cut off, 2 missing" in shown.stdout

    last = at(tmp_path, "--jobs=4")
    assert "4 cells: 4 done" in last.stdout, last.stdout + last.stderr
    found = told(root)
    assert len(found) == 4
    assert set(map(tuple, found.values())) == {("success",)}, "none is there twice"
    journals = [path.read_text() for path in root.glob(f"*/{EVENTS}")]
    assert sum("session_resumed" in text for text in journals) == 2


@pytest.mark.posix
def test_a_killed_cell_is_a_failure_and_not_the_end(
    tmp_path: Path, firmware: Path
) -> None:
    slow(tmp_path, firmware)
    root = tmp_path / "cells"
    running = started(*WORDS, cwd=tmp_path)
    eventually(lambda: bool(list(root.glob("*/trial-1/completions.jsonl"))), 60)
    (pid,) = children(running.pid)
    os.kill(pid, signal.SIGKILL)
    ended = running.ended()
    assert "has ended" in ended.stdout
    assert "4 cells: 3 done, 0 failed, 1 cut off, 0 missing" in ended.stdout
    again = at(tmp_path)
    assert "4 cells: 4 done" in again.stdout


@pytest.mark.posix
def test_a_session_that_failed_is_shown_with_its_error_and_tried_again(
    tmp_path: Path, firmware: Path
) -> None:
    slow(tmp_path, firmware)
    root = tmp_path / "cells"
    running = started(*WORDS, cwd=tmp_path)
    eventually(lambda: bool(list(root.glob("*/trial-1/completions.jsonl"))), 60)
    (cell,) = children(running.pid)
    (device,) = children(cell, str(firmware / "null"))
    os.kill(device, signal.SIGKILL)
    ended = running.ended()
    assert "4 cells: 3 done, 1 failed, 0 missing" in ended.stdout, ended.stdout
    (failed,) = (each for each in sessions(root) if each.status == "fail")
    shown = at(tmp_path, "--status")
    (line,) = re.findall(r"failed slow-.*", shown.stdout.replace("\n    ", " "))
    assert failed.path.name in line
    reason = SessionFolder(failed.path).events()[-1].reason
    assert line.endswith(reason.partition("\n")[0])
    again = at(tmp_path)
    assert "4 cells: 4 done" in again.stdout
    assert set(map(tuple, told(root).values())) == {("success",)}


def test_a_session_of_another_model_does_not_count(campaign: Path) -> None:
    cells = grid.cells(grid.read(campaign / "grid.toml"), 100)
    found = survey(cells, campaign / "cells", lambda cell: {"model_sha256": "other"})
    assert {row.state for row in found.rows} == {CellStatus.MISSING}
    assert all("its model or data are other ones" in row.note for row in found.rows)


def children(pid: int, word: str = "cell_process") -> list[int]:
    """Return the processes that a process started, by a word of their commands."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            line = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == pid and word.encode() in line:
            found.append(int(path.parent.name))
    return found


@pytest.mark.posix
def test_a_port_has_one_session_at_a_time(tmp_path: Path) -> None:
    served = started("serve", bench_at(tmp_path), "--pty", cwd=tmp_path)
    try:
        eventually(lambda: "/dev/pts/" in served.printed(), 60)
        (port,) = re.findall(r"/dev/pts/\d+", served.printed())[:1]
        (tmp_path / "board.toml").write_text(
            f'[bench]\ntrials = 1\n[sut.uart]\nport = "{port}"\nsimulated = true\n'
            "[monitor.none]\n[scenario.single_stream]\nidle_s = 0.2\n[task.null]\n"
        )
        (tmp_path / "grid.toml").write_text(
            '[grid]\nbench = "board.toml"\n[axis]\ntask.null.samples = [4, 5, 6]\n'
        )
        ran = at(tmp_path, "--jobs=3")
    finally:
        served.signal(signal.SIGINT)
        served.ended()
    assert "3 cells: 3 done" in ran.stdout, ran.stdout + ran.stderr


def bench_at(folder: Path) -> Path:
    path = folder / "served.toml"
    path.write_text(
        "[sut.virtual]\n[monitor.none]\n[scenario.single_stream]\n[task.null]\n"
    )
    return path


def test_two_campaigns_do_not_run_into_one_folder(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID.format(samples=3))
    (tmp_path / "cells").mkdir()
    first = started(*WORDS, cwd=tmp_path)
    eventually(lambda: bool(list(tmp_path.glob(f"cells/*/{BENCH}"))), 60)
    # Else it may end before the second one has begun.
    first.signal(signal.SIGSTOP)
    second = at(tmp_path)
    first.signal(signal.SIGCONT)
    first.signal(signal.SIGINT)
    first.ended()
    assert second.returncode == 3
    assert "another campaign runs into cells" in second.stderr
