# SPDX-License-Identifier: Apache-2.0
"""The list of sessions: the row of each state, search, tags, and that it is quick."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.api.archive import kept_rows, listing, removal, tags
from rig.api.archive.listing import Listing
from rig.errors import DataError
from rig.results.verdict import Outcome
from rig.session import session
from rig.session.session import open_bench
from rig.store.event_file import write_derived
from rig.store.events import StepDone, TrialFinished
from rig.store.session_folder import SessionFolder
from tests.checking import check
from tests.conftest import VIRTUAL_NULL
from tests.length import length


@pytest.fixture
def finished(copied: Callable[[int], Path]) -> Path:
    return copied(2)


def test_a_row_says_what_was_measured(finished: Path) -> None:
    row = listing.read(finished)
    assert (row.status, row.verdict, row.task, row.scenario) == (
        "success",
        Outcome.NOT_TESTED,
        "null",
        "single_stream",
    )
    assert row.bench == "virtual-null"
    assert row.device == "virtual device"
    assert row.monitors == "virtual monitor"
    assert (row.trials, row.trials_due, row.problems) == (2, 2, 0)
    assert row.labels == ("SIMULATED", "RANDOM BYTES")
    assert row.size_b == sum(
        path.stat().st_size for path in finished.rglob("*") if path.is_file()
    )
    assert row.outcome == "NOT TESTED" and "5" in row.reason


def test_a_stopped_session_says_how_far_it_came(tmp_path: Path) -> None:
    running: list[str] = []

    def stop(event: object) -> None:
        if isinstance(event, TrialFinished):
            running.append(listing.read(next(tmp_path.iterdir())).status)
        if isinstance(event, StepDone) and event.trial == 2:
            raise KeyboardInterrupt

    overrides = ["task.null.samples=4", "scenario.single_stream.idle_s=0.1"]
    with open_bench(VIRTUAL_NULL, overrides) as bench, pytest.raises(KeyboardInterrupt):
        bench.run(3, tmp_path, (stop,))
    assert running == [listing.RUNNING]
    (row,) = Listing(tmp_path).rows()
    assert (row.status, row.verdict, row.trials, row.trials_due) == (
        "abort",
        None,
        1,
        3,
    )
    assert row.resumable
    assert row.scenario == "single_stream"


def test_a_killed_one_keeps_what_it_has(finished: Path) -> None:
    lines = (finished / "events.jsonl").read_text().splitlines(keepends=True)
    (finished / "events.jsonl").write_text("".join(lines[:3]))
    (finished / "results.json").unlink()
    row = listing.read(finished)
    assert (row.status, row.trials, row.bench) == (listing.KILLED, 1, "virtual-null")


def test_damaged_and_strange_folders_have_a_row_with_the_reason(finished: Path) -> None:
    root = finished.parent
    text = (finished / "events.jsonl").read_text()
    damaged = {
        "a-changed": text.replace('"trials": 2', '"trials": 9'),
        "b-older": text.replace("neurorig-events-2", "neurorig-events-1"),
        "c-nonsense": "\x00\xff{[",
        "d-empty": "",
    }
    for name, content in damaged.items():
        shutil.copytree(finished, root / name)
        (root / name / "events.jsonl").write_text(content)
    (root / "e-opening").mkdir()
    (root / "e-opening" / "bench.toml").write_text("name = 'x'")
    (root / "f-no-results").mkdir()
    shutil.copytree(finished, root / "f-no-results", dirs_exist_ok=True)
    (root / "f-no-results" / "results.json").write_text('{"replication": 3}')
    (root / "no-session").mkdir()
    rows = {row.name: row for row in Listing(root).rows()}
    assert set(rows) == {*damaged, "e-opening", "f-no-results", finished.name}
    for name in (*damaged, "e-opening"):
        assert rows[name].status == (
            listing.EMPTY if name == "e-opening" else listing.UNREADABLE
        ), name
        assert rows[name].reason, name
    assert rows["a-changed"].device == "virtual device"
    assert rows["f-no-results"].status == "success"
    assert rows["f-no-results"].verdict is None and rows["f-no-results"].reason


def test_search_finds_all_words_leaves_out_and_knows_tags(finished: Path) -> None:
    other = finished.parent / "other"
    shutil.copytree(finished, other)
    tags.write(finished, "good board-7")
    rows = Listing(finished.parent).rows()
    # A copy is the same session: it has its tags.
    assert {row.tags for row in rows} == {("good", "board-7")}
    assert len(listing.search(rows, "virtual SIMULATED")) == 2
    assert [row.name for row in listing.search(rows, "virtual -other")] == [
        finished.name
    ]
    assert len(listing.search(rows, "#good")) == 2
    assert listing.search(rows, "#goo") == []
    assert len(listing.search(rows, "#")) == 2
    assert len(listing.search(rows, "verdict:not-tested status:success")) == 2
    assert listing.search(rows, "status:killed") == []
    assert len(listing.search(rows, "")) == 2
    assert listing.summary(rows) == "2 sessions: 2 NOT TESTED"


def test_tags_stay_with_a_session_and_have_no_effect_in_it(finished: Path) -> None:
    assert tags.write(finished, "#good, board-7  good") == ("good", "board-7")
    renamed = finished.rename(finished.with_name("renamed"))
    assert listing.Listing(renamed.parent).rows()[0].tags == ("good", "board-7")
    assert check(renamed).ok
    tags.write(renamed, "")
    assert json.loads((renamed.parent / tags.FILE).read_text())["sessions"] == {}


def test_a_file_of_tags_that_is_none_is_reported_and_kept(finished: Path) -> None:
    position = finished.parent / tags.FILE
    position.write_text('{"schema": "mine"}')
    result = Listing(finished.parent)
    (row,) = result.rows()
    assert row.tags == () and "holds no tags" in result.fault
    with pytest.raises(DataError, match="holds no tags"):
        tags.write(finished, "good")
    assert position.read_text() == '{"schema": "mine"}'


def test_a_row_is_read_again_only_when_its_session_changed(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = Listing(finished.parent)
    assert result.rows()[0].verdict is Outcome.NOT_TESTED
    reads: list[Path] = []
    original = listing.read
    monkeypatch.setattr(
        listing, "read", lambda path: (reads.append(path), original(path))[1]
    )
    result.rows()
    assert reads == []
    write_derived(
        SessionFolder(finished), "bench.toml", (finished / "bench.toml").read_bytes()
    )
    result.rows()
    assert reads == [finished]
    shutil.rmtree(finished)
    assert result.rows() == []


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> listing.Listed:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(listing, "read", read)


def kept_file(monkeypatch: pytest.MonkeyPatch, cache: Path, root: Path) -> Path:
    """List a folder with an empty cache, and return the file of rows that this made."""
    monkeypatch.setenv("NEURORIG_CACHE", str(cache))
    Listing(root).rows()
    (path,) = (cache / "sessions").iterdir()
    return path


def test_a_later_command_reads_no_session_that_did_not_change(
    finished: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = finished.parent
    tags.write(finished, "good")
    first = Listing(root).rows()
    with monkeypatch.context() as patch:
        forbid_reading(patch)
        assert Listing(root).rows() == first
        (row,) = [row for row in Listing(root).rows() if row.path == finished]
        assert row.tags == ("good",) and isinstance(row.verdict, Outcome)
    size_b = row.size_b
    trace = finished / "trial-1" / "trace.jls"
    trace_b = trace.stat().st_size
    trace.unlink()
    (row,) = [row for row in Listing(root).rows() if row.path == finished]
    assert row.size_b == size_b - trace_b


@pytest.mark.parametrize("damage", ["cut", "edited", "no text", "other sources"])
def test_a_cache_that_is_damaged_or_outdated_is_ignored_and_made_again(
    finished: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: str
) -> None:
    root = finished.parent
    path = kept_file(monkeypatch, tmp_path / "cache", root)
    whole = path.read_bytes()
    expected = Listing(root).rows()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "edited":
        path.write_bytes(whole.replace(b"null", b"asc!"))
    elif damage == "no text":
        path.write_bytes(b"\xff\xfe\n" + whole)
    else:
        with monkeypatch.context() as patch:
            patch.setattr(kept_rows, "sources_sha256", lambda: "0123")
            Listing(root).rows()
        assert path.read_bytes() != whole
    with monkeypatch.context() as patch:
        forbid_reading(patch)
        with pytest.raises(AssertionError, match="was read"):
            Listing(root).rows()
    assert Listing(root).rows() == expected
    assert path.read_bytes() == whole


@pytest.mark.skipif(sys.platform != "linux", reason="names of bytes")
def test_a_folder_with_a_name_that_is_no_text_is_listed(
    finished: Path, tmp_path: Path
) -> None:
    root = tmp_path / os.fsdecode(b"bench-\xff")
    shutil.copytree(finished, root / finished.name)
    for _ in range(2):
        assert [row.name for row in Listing(root).rows()] == [finished.name]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert Listing(loop).rows() == []


def test_a_session_that_cannot_be_read_or_runs_is_not_kept(
    finished: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(finished, root / "unreadable")
    (root / "unreadable" / "events.jsonl").write_text("{\n")
    path = kept_file(monkeypatch, tmp_path / "cache", root)
    assert json.loads(path.read_text().split("\n")[1])["rows"] == {}


def test_a_thousand_sessions_are_listed_in_seconds(finished: Path) -> None:
    root = finished.parent
    small = root / "small"
    shutil.copytree(finished, small, ignore=shutil.ignore_patterns("*.jls"))
    count = length(1000, 250)
    for number in range(count):
        shutil.copytree(small, root / f"s-{number}", copy_function=shutil.os.link)
    result = Listing(root)
    before_s = time.process_time()
    assert len(result.rows()) == count + 2
    first_s = time.process_time() - before_s
    before_s = time.process_time()
    result.rows()
    again_s = time.process_time() - before_s
    print(f"{first_s:.2f} s, again {again_s:.2f} s of CPU")
    assert first_s < 10 * count / 1000
    assert again_s < count / 1000


def test_a_run_that_ended_before_its_first_line_is_empty_and_can_be_removed(
    tmp_path: Path,
) -> None:
    bare = SessionFolder.create(tmp_path, "bare").path
    begun = SessionFolder.create(tmp_path, "begun").path
    (begun / "bench.toml.partial").write_text("[bench]")
    torn = SessionFolder.create(tmp_path, "torn").path
    (torn / "events.jsonl").write_text('{"event": "session_st')
    (tmp_path / "notes").mkdir()
    rows = Listing(tmp_path).rows()
    assert {row.path for row in rows} == {bare, begun, torn}
    assert {(row.status, row.outcome, row.resumable) for row in rows} == {
        (listing.EMPTY, "empty", False)
    }
    assert all("can be removed" in row.reason for row in rows)
    for path in (bare, begun, torn):
        for look in (
            check,
            session.resume,
            lambda place: SessionFolder(place).refuse_other(),
        ):
            with pytest.raises(
                DataError, match="ended before its first line"
            ) as refused:
                look(path)
            assert "can be removed" in refused.value.try_next
        removal.delete(path)
    assert Listing(tmp_path).rows() == []
    (tmp_path / "notes" / "bench.toml").write_text("[bench]")
    (tmp_path / "notes" / "trial-1").mkdir()
    assert listing.read(tmp_path / "notes").status == listing.UNREADABLE
