# SPDX-License-Identifier: Apache-2.0
"""A session that was cut off goes on where it stopped, and every number of it is found
again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import ConfigError, DataError, DeviceBusy
from rig.interfaces.task import Task
from rig.model.steps import Idle, Load, Plan, Query
from rig.report.report import write_report
from rig.session import session
from rig.store import completion_lines, provenance, session_folder
from rig.store import segments as segment
from rig.store.events import Event, SessionResumed, SessionStarted, StepDone
from scenarios.single_stream import SingleStream
from tests.checking import check
from tests.conftest import ROOT
from tests.length import length
from tests.waiting import eventually

BENCH = ROOT / "benches" / "virtual-asc.toml"
#: A quarter of the samples: of power there is enough to see.
SLOWER = ("monitor.virtual.sample_hz=50_000", "scenario.single_stream.idle_s=0.1")
SMALL = ("task.asc.samples=8", "bench.trials=2", *SLOWER)


class Cut(Exception):
    """An unforeseen error."""


def cutting(steps: int, error: BaseException) -> Callable[[Event], None]:
    left = [steps]

    def subscriber(event: Event) -> None:
        if isinstance(event, StepDone):
            left[0] -= 1
            if left[0] < 0:
                raise error

    return subscriber


def cut_off(root: Path, steps: int, error: BaseException | None = None) -> Path:
    error = error or KeyboardInterrupt()
    with session.open_bench(BENCH, SMALL) as bench, pytest.raises(type(error)):
        bench.run(root=root, subscribers=[cutting(steps, error)])
    (folder,) = root.iterdir()
    return folder


def asked_for(folder: Path, trial: int) -> list[int]:
    lines = session_folder.read_lines(folder / f"trial-{trial}" / "samples.jsonl")
    return sorted(line["indices"][0] for line in lines if "indices" in line)


def equal(folder: Path) -> None:
    checked = check(folder)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]


@pytest.mark.parametrize(
    ("error", "steps"),
    [(KeyboardInterrupt(), steps) for steps in (0, 1, 5, 11, 13, 20, 25)]
    + [(Cut(), 5), (Cut(), 20)]
    + [
        pytest.param(Cut(), steps, marks=pytest.mark.repeats)
        for steps in (0, 1, 11, 13, 25)
    ],
)
def test_every_sample_is_measured_once_wherever_the_session_was_cut_off(
    tmp_path: Path, error: BaseException, steps: int
) -> None:
    folder = cut_off(tmp_path, steps, error)
    result = session.resume(folder)
    assert not [trial.problems for trial in result.trials if trial.problems]
    assert [asked_for(folder, number) for number in (1, 2)] == [list(range(8))] * 2
    equal(folder)


@pytest.mark.parametrize("steps", [3, 5, 6])
def test_a_sample_that_the_device_kept_by_its_use_is_there_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    def plan(self: SingleStream, task: Task, seed: int) -> Plan:
        yield Idle(0.1)
        for index in (0, 1):
            yield Load(index)
        for index in (0, 2, 0, 3, 0):
            if index > 1:
                yield Load(index)
            yield Query((index,), 20.0)
        yield Idle(0.1)

    monkeypatch.setattr(SingleStream, "plan", plan)
    with (
        session.open_bench(
            BENCH, (*SMALL, "bench.trials=1", "sut.virtual.slots=2")
        ) as bench,
        pytest.raises(KeyboardInterrupt),
    ):
        bench.run(root=tmp_path, subscribers=[cutting(steps, KeyboardInterrupt())])
    (folder,) = tmp_path.iterdir()
    session.resume(folder)
    assert asked_for(folder, 1) == [0, 0, 0, 2, 3]
    equal(folder)


def test_what_was_measured_before_stays_byte_for_byte(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, 20)
    finished = {path: path.read_bytes() for path in (folder / "trial-1").iterdir()}
    begun = {
        name: (folder / "trial-2" / name).read_bytes()
        for name in ("completions.jsonl", "trace.jls")
    }
    session.resume(folder)
    assert {
        path: path.read_bytes() for path in (folder / "trial-1").iterdir()
    } == finished
    assert {
        name: (folder / "trial-2" / "segment-1" / name).read_bytes() for name in begun
    } == begun
    equal(folder)


def test_a_session_cut_off_again_and_again_comes_to_its_end(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, 4)
    for steps in (4, 1, 5):
        with pytest.raises(KeyboardInterrupt):
            session.resume(folder, [cutting(steps, KeyboardInterrupt())])
        assert not check(folder).ok
    result = session.resume(folder)
    assert result.trials[0].segments > 2
    assert [asked_for(folder, number) for number in (1, 2)] == [list(range(8))] * 2
    equal(folder)


def copied(folder: Path, after: int) -> Callable[[Event], None]:
    """Return a subscriber that copies the session into `folder` after so many steps,
    and ends it: a kill leaves no more.
    """
    left = [after]
    session_folder = [Path()]

    def subscriber(event: Event) -> None:
        if isinstance(event, SessionStarted | SessionResumed):
            session_folder[0] = event.folder
        if isinstance(event, StepDone):
            left[0] -= 1
            if left[0] < 0:
                shutil.copytree(session_folder[0], folder)
                raise Cut

    return subscriber


@settings(max_examples=length(3, 2), deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=3))
def test_a_session_killed_at_any_step_and_again_measures_every_sample_once(
    steps: list[int],
) -> None:
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "0"
        times = 0
        with (
            session.open_bench(
                BENCH, ("task.asc.samples=4", "bench.trials=1", *SLOWER)
            ) as bench,
            pytest.raises(Cut),
        ):
            bench.run(
                root=Path(scratch) / "first", subscribers=[copied(folder, steps[0])]
            )
        for times, after in enumerate(steps[1:], start=1):
            killed = Path(scratch) / str(times)
            try:
                session.resume(folder, [copied(killed, after)])
            except Cut:
                folder = killed
            else:
                break
        else:
            session.resume(folder)
        equal(folder)
        assert asked_for(folder, 1) == list(range(4))
        assert not json.loads((folder / "results.json").read_text())["problems"]


@pytest.mark.parametrize("left", [(), ("completions.jsonl", "trace.jls.partial")])
def test_a_segment_killed_before_it_heard_anything_takes_nothing_of_the_one_before(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    folder = cut_off(tmp_path, 6)
    with pytest.raises(KeyboardInterrupt):
        session.resume(folder, [cutting(3, KeyboardInterrupt())])
    killed = folder / "trial-1" / "segment-3"
    killed.mkdir()
    for name in left:
        (killed / name).touch()
    result = session.resume(folder)
    assert not [trial.problems for trial in result.trials if trial.problems]
    segments = [
        *counted_steps(folder / "trial-1"),
        *counted_steps(folder / "trial-2"),
    ]
    counted = list(chain.from_iterable(segments))
    assert len(counted) == len(every_query(folder)), (
        "a query that counted before was asked again"
    )
    equal(folder)


def counted_steps(trial: Path) -> list[list[int]]:
    numbers = []
    for steps in segment.counted(trial):
        queries = [done for done in steps if isinstance(done.step, Query)]
        numbers.append([done.number for done in queries])
    return numbers


def every_query(folder: Path) -> list[int]:
    folders = (path.parent for path in folder.rglob("completions.jsonl"))
    reported = list(chain.from_iterable(map(completion_lines.read, folders)))
    return [done.number for done in reported if isinstance(done.step, Query)]


@pytest.mark.parametrize("kept", ["full", "reduced"])
def test_a_killed_session_goes_on(tmp_path: Path, kept: str) -> None:
    command = [
        sys.executable,
        "-m",
        "rig",
        "run",
        str(BENCH),
        "--sessions",
        str(tmp_path),
        "--trials",
        "2",
    ]
    more = ["task.asc.samples=40", "scenario.single_stream.repeat=20", *SLOWER]
    if kept == "reduced":
        more += ["bench.between_windows=reduced", "sut.virtual.load_s=0.1"]
    options = chain.from_iterable(("--set", setting) for setting in more)
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        eventually(
            lambda: [
                path
                for path in tmp_path.glob("*/trial-1/completions.jsonl")
                if path.read_text().count("\n") > 20
            ],
            process=process,
        )
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (folder,) = tmp_path.iterdir()
    result = session.resume(folder)
    assert not [trial.problems for trial in result.trials if trial.problems]
    assert [asked_for(folder, number) for number in (1, 2)] == [list(range(40))] * 2
    lines = [path.read_text().count("\n") for path in folder.rglob("reduced.jsonl")]
    assert (sum(lines) >= 80) == (kept == "reduced")
    equal(folder)


def test_a_line_that_was_being_written_is_no_obstacle(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, 20)
    with (folder / "events.jsonl").open("a") as events:
        events.write('{"event": "trial_fin')
    session.resume(folder)
    equal(folder)


def test_a_finished_session_has_nothing_left_to_do(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, 20)
    session.resume(folder)
    with pytest.raises(ConfigError, match="is finished"):
        session.resume(folder)


def test_a_session_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    refused = []

    def meddle(event: Event) -> None:
        if isinstance(event, StepDone) and not refused:
            with pytest.raises(DeviceBusy, match="is being written"):
                session.resume(next(tmp_path.iterdir()))
            refused.append(event)

    with session.open_bench(BENCH, SMALL) as bench:
        result = bench.run(root=tmp_path, subscribers=[meddle])
    assert refused and result.ok is not None
    equal(result.folder)


def test_another_bench_is_refused_and_says_what_differs(tmp_path: Path) -> None:
    folder = cut_off(tmp_path, 20)
    provenance = folder / "provenance.json"
    about = json.loads(provenance.read_text())
    about["monitors"][""]["serial"] = "another one"
    provenance.write_text(json.dumps(about))
    with pytest.raises(ConfigError) as refused:
        session.resume(folder)
    assert (
        "monitor serial" in refused.value.evidence
        and "another one" in refused.value.evidence
    )


@pytest.fixture
def silent_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A git that does not answer, in a folder for PATH."""
    program = tmp_path / "path" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(provenance, "_GIT_S", 0.2)
    provenance.own_revision.cache_clear()
    yield program.parent
    provenance.own_revision.cache_clear()


def test_a_revision_that_could_not_be_read_is_no_change(
    silent_git: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "sessions"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(silent_git), prepend=os.pathsep)
        folder = cut_off(root, 20)
    about = json.loads((folder / "provenance.json").read_text())
    assert about["revision"] == ""
    assert about["revision_unknown"] == "git did not answer within 0.2 s"
    provenance.own_revision.cache_clear()
    monkeypatch.setattr(provenance, "_GIT_S", 20.0)
    equal(session.resume(folder).folder)
    write_report(folder)
    page = (folder / "report.html").read_text()
    assert "not known: git did not answer within 0.2 s" in page
    found = check(folder)
    assert found.ok, [each for each in found.findings if not each.ok]


def test_a_revision_that_changed_is_named_also_where_it_is_known_again(
    tmp_path: Path,
) -> None:
    folder = cut_off(tmp_path, 20)
    path = folder / "provenance.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps(about | {"revision": "0" * 40}))
    with pytest.raises(ConfigError) as refused:
        session.resume(folder)
    assert f"revision: {about['revision']!r}, was '000" in refused.value.evidence


def test_a_finished_trial_that_was_changed_since_is_not_built_upon(
    tmp_path: Path,
) -> None:
    folder = cut_off(tmp_path, 20)
    with (folder / "trial-1" / "completions.jsonl").open("a") as completions:
        completions.write("\n")
    with pytest.raises(
        DataError, match=r"completions\.jsonl is missing or was changed"
    ):
        session.resume(folder)


def test_an_input_that_is_no_session_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no session"):
        session.resume(tmp_path)
