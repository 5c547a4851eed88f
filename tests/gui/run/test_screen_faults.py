# SPDX-License-Identifier: Apache-2.0
"""The run screen after a failure: a sentence in its place, the supply off, the session
kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gui.run.record import RunStage
from rig.bench import examples
from rig.session import estimate
from rig.simulation.world import World
from tests.builds import built
from tests.conftest import ROOT, VIRTUAL_NULL
from tests.gui.run.conftest import RunAt

At = Callable[[Path], RunAt]


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_disk_without_room_is_reported_before_the_start_and_refused(
    run_at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "free_bytes", lambda root: 40_000_000)
    at = run_at(VIRTUAL_NULL)
    assert "NO ROOM" in at.screen.plan.text
    at.start()
    at.over()
    assert at.snapshot.stage is RunStage.FAILED
    assert "has no room for this session" in at.screen.notice.text
    assert "try: free some room" in at.screen.notice.text
    assert not at.root.exists() or list(at.root.iterdir()) == []


def test_a_disk_that_fills_is_a_sentence_and_the_session_is_kept(
    run_at: At, monkeypatch: pytest.MonkeyPatch, worlds: list[World]
) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings("task.null.samples=4000")
    at.planned()
    at.start()
    at.until(lambda: at.snapshot.queries > 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(10**9, 10**9, 10**6))
    at.over()
    assert at.snapshot.stage is RunStage.FAILED
    assert "full" in at.screen.notice.text
    assert "try: free some room" in at.screen.notice.text
    assert "The supply is off; the session is kept" in at.screen.outcome.text
    assert not any(world.supply_on for world in worlds)
    assert at.snapshot.folder is not None and at.snapshot.folder.is_dir()
    assert at.screen.bar.resume.isEnabled()


def test_an_instrument_that_is_unplugged_is_a_sentence(
    run_at: At, tmp_path: Path, worlds: list[World]
) -> None:
    bench = tmp_path / "unplugged.toml"
    bench.write_text(
        '[bench]\nname = "unplugged"\n[sut.virtual]\nload_s ='
        " 0.1\n[monitor.joulescope]\ndevice ="
        ' "simulator"\n[monitor.joulescope.simulator.faults]\nremove_at_tick ='
        " 1_080_000\n[scenario.single_stream]\nidle_s = 0.2\nwarmup ="
        " 0\n[task.null]\nsamples = 20\n"
    )
    at = run_at(bench)
    at.start()
    at.over()
    assert at.snapshot.stage is RunStage.FAILED
    assert "Joulescope" in at.screen.notice.text
    assert "try:" in at.screen.notice.text
    # It is off, but an absent instrument cannot be asked, so this is not claimed.
    assert not any(world.supply_on for world in worlds)
    assert "SUPPLY MAY STILL BE ON: switch it off by hand" in at.screen.outcome.text
    assert at.snapshot.folder is not None and at.snapshot.folder.is_dir()
    assert "session is kept" in at.screen.outcome.text


@pytest.mark.posix
def test_a_device_that_falls_silent_is_a_sentence(run_at: At) -> None:
    built("posix")
    at = run_at(ROOT / "benches" / "posix-null.toml")
    at.type_settings(
        "sut.posix.mute_after_queries=3",
        "sut.posix.timeout_s=0.2",
        "scenario.single_stream.limit_s=0.5",
        "scenario.single_stream.idle_s=0.1",
    )
    at.planned()
    at.start()
    at.over()
    assert at.snapshot.stage is RunStage.FAILED
    assert "within" in at.screen.notice.text
    assert "The supply is off" in at.screen.outcome.text
    lines = at.screen.live.console.lines.toPlainText()
    assert "-> name" in lines
    assert "RUN #" in lines


@pytest.mark.parametrize(
    ("example", "image"),
    [
        ("posix-asc", "posix/asc"),
        ("mps2-asc", "mps2/asc.elf"),
        ("host-asc-rapl", "host/asc"),
    ],
)
def test_a_bench_in_another_folder_says_in_the_plan_which_firmware_it_lacks(
    run_at: At, tmp_path: Path, example: str, image: str
) -> None:
    bench = examples.new(example, tmp_path / f"{example}.toml").path
    program = tmp_path / "firmware" / "build" / image
    at = run_at(bench)
    output = at.screen.plan.notice.text
    assert f"there is no program {program}" in output
    for command in examples.steps(example, bench)[:-1]:
        assert command in output, "the plan says the commands that make it"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"")
    at.window.go("start")
    at.window.go("run")
    at.until(lambda: at.screen.plan.estimate is not None)
    assert at.screen.plan.notice.text == ""


def test_nonsense_in_the_settings_is_reported_in_the_plan_and_at_the_start(
    run_at: At,
) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings("scenario.single_stream.idle=1")
    at.until(lambda: at.screen.plan.notice.text)
    assert "did you mean idle_s" in at.screen.plan.notice.text
    assert at.screen.plan.estimate is None
    at.start()
    at.over()
    assert "did you mean idle_s" in at.screen.notice.text
    assert at.snapshot.stage is RunStage.FAILED
    at.type_settings("scenario.single_stream.idle_s=1")
    at.until(lambda: at.screen.plan.estimate is not None)
    assert not at.screen.plan.notice.text


def test_without_a_bench_file_start_says_so(
    window: object, run_at: At, qtbot: object
) -> None:
    at = run_at(VIRTUAL_NULL)
    at.window.shell.set_bench(None)
    at.until(lambda: "no bench file is chosen" in at.screen.plan.notice.text)
    at.click("run-start")
    at.until(lambda: "no bench file is chosen" in at.screen.notice.text)
    assert at.screen.bar.start.isEnabled()


def test_lost_samples_are_counted_while_it_runs_and_the_trial_says_why(
    run_at: At, tmp_path: Path
) -> None:
    bench = tmp_path / "loses.toml"
    bench.write_text(
        '[bench]\nname = "loses"\ntrials = 1\n[sut.virtual]\nload_s ='
        " 0.1\n[monitor.joulescope]\ndevice ="
        ' "simulator"\n[monitor.joulescope.simulator.faults]\ndrop_at_tick ='
        " 1_080_000\ndrop_ticks = 20_000\n[scenario.single_stream]\nidle_s ="
        " 0.2\nwarmup = 0\n[task.null]\nsamples = 3\n"
    )
    at = run_at(bench)
    at.start()
    at.over()
    assert at.snapshot.stage is RunStage.FINISHED, at.screen.notice.text
    assert int(at.screen.live.tiles.value("lost")) >= 10_000
    [trial] = at.screen.live.trials.rows
    assert trial.problems
    at.until(lambda: "INVALID: " in at.screen.outcome.text)


def test_a_run_that_is_about_to_begin_is_not_begun_twice(
    run_at: At, tmp_path: Path
) -> None:
    at = run_at(VIRTUAL_NULL)
    at.type_settings("task.null.samples=4", "bench.trials=1")
    at.planned()
    at.screen.start()
    at.screen._take_status((tmp_path, "abort"))  # of a session that is opened meanwhile
    assert not at.screen.bar.start.isEnabled()
    assert not at.screen.bar.resume.isEnabled()
    at.screen.start()
    at.screen.resume()
    at.until(lambda: at.screen.flight is not None)
    first = at.flight
    at.over()
    assert at.flight is first
    assert len(list(at.root.iterdir())) == 1


def test_a_folder_that_takes_no_sessions_is_refused_before_anything_is_opened(
    run_at: At, tmp_path: Path, worlds: list[World]
) -> None:
    at = run_at(VIRTUAL_NULL)
    taken = tmp_path / "taken"
    taken.touch()
    at.fill("run-root", str(taken / "sessions"))
    at.planned()
    planned = len(worlds)
    at.start()
    at.over()
    assert at.snapshot.stage is RunStage.FAILED
    assert f"{taken / 'sessions'} cannot be written or read" in at.screen.notice.text
    assert "--" not in at.screen.notice.text
    assert len(worlds) == planned
