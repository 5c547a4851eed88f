# SPDX-License-Identifier: Apache-2.0
"""A folder from an untrusted source neither crashes nor stops its reader, and none of
it reaches the terminal raw.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyjls
import pytest

from lab.faults import forgeries
from lab.faults.forger import edit_json, edit_lines, rehash, remake
from rig.check.check import check
from rig.cli.printed.checks import print_answer, print_findings
from rig.cli.printed.terminal import Terminal, print_error
from rig.errors import RigError
from rig.session.session import open_bench
from tests import checking
from tests.commands import rig
from tests.conftest import VIRTUAL_NULL

pytestmark = pytest.mark.computes

MEMORY = forgeries.Memory()
DEEP = 100_000


@pytest.fixture(scope="module")
def session() -> Iterator[Path]:
    with TemporaryDirectory() as root:
        yield forgeries.session("single_stream", Path(root), report=False)


def written(name: str, content: str | bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).write_bytes(
            content.encode() if isinstance(content, str) else content
        )

    return apply


def prefixed(name: str, line: str) -> Callable[[Path], None]:
    return lambda folder: written(name, line + "\n" + (folder / name).read_text())(
        folder
    )


def in_events(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    return lambda folder: rehash(
        folder, lambda events: [change(event) for event in events]
    )


def in_json(
    name: str, change: Callable[[dict[str, Any]], Any]
) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        edit_json(folder / name, change)
        rehash(folder)

    return apply


def in_steps(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        edit_lines(
            folder / "trial-1" / "completions.jsonl", lambda number, line: change(line)
        )
        rehash(folder)

    return apply


def again(*steps: Callable[[Path], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        for step in steps:
            step(folder)
        rehash(folder)

    return apply


def sparse(name: str, size_b: int) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        with (folder / name).open("r+b") as stream:
            stream.truncate(size_b)

    return apply


def linked(name: str, to: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(to)

    return apply


def pipe(folder: Path) -> None:
    (folder / "bench.toml").unlink()
    os.mkfifo(folder / "bench.toml")


def garbage_trace(folder: Path) -> None:
    """Spoil the middle of a trace, where its reader follows offsets, and make all
    hashes again."""
    path = folder / "trial-1" / "trace.jls"
    content = bytearray(path.read_bytes())
    content[4096 : len(content) - 4096 : 7] = b"\xff" * len(
        content[4096 : len(content) - 4096 : 7]
    )
    path.write_bytes(content)
    rehash(folder)


def query(line: dict[str, Any], **other: Any) -> None:
    if line["kind"] == "query":
        line.update(other)


HOSTILE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a list as the first line": (prefixed("events.jsonl", "[1]"), "events.jsonl"),
    "a number as the first line": (prefixed("events.jsonl", "1"), "events.jsonl"),
    "an empty journal": (written("events.jsonl", ""), "events.jsonl"),
    "a journal of zeros": (written("events.jsonl", bytes(1000)), "events.jsonl"),
    "no UTF-8": (written("events.jsonl", b'{"schema": "\xff\xfe"}\n'), "events.jsonl"),
    "deep JSON as a line": (
        prefixed("events.jsonl", "[" * DEEP + "]" * DEEP),
        "events.jsonl",
    ),
    "deep JSON as provenance": (
        again(written("provenance.json", '{"a":' * DEEP + "1" + "}" * DEEP)),
        "provenance.json",
    ),
    "deep TOML": (
        again(written("bench.toml", "a = " + "[" * DEEP + "]" * DEEP)),
        "bench.toml",
    ),
    "deep completions": (
        again(prefixed("trial-1/completions.jsonl", "[" * DEEP)),
        "completions.jsonl",
    ),
    "a number for a list of files": (
        in_events(lambda event: event.update(files=5)),
        "events.jsonl",
    ),
    "numbers for hashes": (
        in_events(lambda event: event.update(files={"bench.toml": 5})),
        "events.jsonl",
    ),
    "a list for an event's name": (
        in_events(lambda event: event.update(event=[1])),
        "events.jsonl",
    ),
    "a text for a trial": (
        in_events(lambda event: event.update(trial="1")),
        "events.jsonl",
    ),
    "a trial beyond all": (
        in_events(lambda event: event.update(trial=10**30)),
        "events.jsonl",
    ),
    "names that lead out": (
        in_events(lambda event: event.update(files={"../../etc/passwd": "0" * 64})),
        "events.jsonl",
    ),
    "names from the root": (
        in_events(lambda event: event.update(files={"/etc/passwd": "0" * 64})),
        "events.jsonl",
    ),
    "a NUL in a name": (
        in_events(lambda event: event.update(files={"a\x00b": "0" * 64})),
        "events.jsonl",
    ),
    "NaN": (again(written("results.json", '{"metrics": NaN}')), "results.json"),
    "infinite steps": (
        again(prefixed("trial-1/completions.jsonl", '{"step": 1e999}')),
        "completions.jsonl",
    ),
    "a key that is there twice": (
        again(prefixed("trial-1/completions.jsonl", '{"step": 0, "step": 1}')),
        "completions.jsonl",
    ),
    "provenance that is a list": (
        again(written("provenance.json", "[]")),
        "provenance.json",
    ),
    "numbers for monitors": (
        in_json("provenance.json", lambda about: about.update(monitors=3)),
        "provenance.json",
    ),
    "a text for a rate": (
        in_json("provenance.json", lambda about: about["sut"].update(tick_hz="fast")),
        "provenance.json",
    ),
    "a rate of 0": (
        in_json("provenance.json", lambda about: about["sut"].update(tick_hz=0)),
        "trial-1",
    ),
    "an accuracy of another form": (
        in_json(
            "provenance.json", lambda about: about["monitors"][""].update(accuracy=[1])
        ),
        "provenance.json",
    ),
    "a task that is a number": (
        in_json("provenance.json", lambda about: about.update(task=7)),
        "provenance.json",
    ),
    "ticks beyond all": (
        in_steps(lambda line: line.update(marks=[[1, 10**400]])),
        "trial-1",
    ),
    "marks that are texts": (
        in_steps(lambda line: line.update(marks=["a", "b"])),
        "completions.jsonl",
    ),
    "an output that is no text": (
        in_steps(lambda line: line.update(output=5)),
        "completions.jsonl",
    ),
    "samples that are not there": (
        in_steps(lambda line: query(line, indices=[10**9])),
        "completions.jsonl",
    ),
    "a sample before the first": (
        in_steps(lambda line: query(line, indices=[-1])),
        "completions.jsonl",
    ),
    "endless repetition": (
        in_steps(lambda line: query(line, repeat=10**18)),
        "completions.jsonl",
    ),
    "gaps beyond all": (
        again(
            written(
                "trial-1/gaps.jsonl",
                '{"start": 0, "stop": ' + "9" * 400 + ', "cause": "x"}\n',
            )
        ),
        "trial-1",
    ),
    "gaps that are texts": (
        again(
            written("trial-1/gaps.jsonl", '{"start": "0", "stop": [], "cause": 1}\n')
        ),
        "trial-1",
    ),
    "a catalogue of NULs": (
        again(written("catalogue.csv", "index,label,recording,city\n\x00")),
        "catalogue.csv",
    ),
    "a catalogue with a field of 1 MB": (
        again(written("catalogue.csv", "index," + "a" * (1 << 20))),
        "catalogue.csv",
    ),
    "a million trials": (
        in_events(
            lambda event: event.update(trials=10**6) if "trials" in event else None
        ),
        "events.jsonl",
    ),
    "a trial too many": (lambda folder: (folder / "trial-²").mkdir(), "trial-²"),
    "a trial of zeros": (lambda folder: (folder / "trial-0").mkdir(), "trial-0"),
    "a pipe": (pipe, "bench.toml"),
    "a device by a link": (linked("bench.toml", "/dev/zero"), "bench.toml"),
    "a link to itself": (linked("results.json", "results.json"), "results.json"),
    "a link to a folder": (linked("trial-3", "/"), "trial-3"),
    "a huge file": (sparse("trial-1/completions.jsonl", 1 << 40), "completions.jsonl"),
    "a huge bench file": (sparse("bench.toml", 1 << 30), "bench.toml"),
    "a name with a bell": (written("bell\x07\x1b]0;owned\x07", b""), "bell"),
    "a name of no UTF-8": (
        lambda folder: Path(os.fsdecode(bytes(folder) + b"/\xff")).touch(),
        "\\udcff",
    ),
    "a trace that is garbage": (garbage_trace, "trial-1"),
    "a trace that is empty": (again(written("trial-1/trace.jls", b"")), "trial-1"),
    "an interpreter's own module": (
        written("numpy.py", b"raise SystemExit('taken over')"),
        "numpy.py",
    ),
}


def shown(folder: Path) -> str:
    """Return the output of a check."""
    terminal = Terminal(file=io.StringIO(), force_terminal=False, width=200)
    try:
        checked = check(folder, MEMORY.read)
        assert not checked.ok
        print_answer(terminal, checked, (), wide=True)
        print_findings(terminal, folder, checked, wide=True)
    except RigError as error:
        print_error(terminal, error)
    text = terminal.file.getvalue()
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_folder_is_refused_by_a_message_that_names_the_file(
    session: Path, tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(session, folder)
    make, blamed = HOSTILE[what]
    make(folder)
    text = shown(folder)
    assert blamed in text
    assert all(item.isprintable() or item in "\n " for item in text)


def test_a_key_that_does_not_exist_is_blamed_on_the_bench_file(
    session: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(session, folder)
    bench = folder / "bench.toml"
    bench.write_text(bench.read_text() + "\n[nosuch]\n")
    rehash(folder)
    (found,) = [
        each.name
        for each in check(folder, MEMORY.read).findings
        if "the trials cannot be recomputed" in each.detail
    ]
    assert found == "bench.toml"


COMMANDS = (("check",), ("report",), ("coverage",), ("resume",), ("qubo", "rescore"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "what", ["a pipe", "a device by a link", "deep JSON as a line"]
)
def test_every_command_that_reads_a_session_ends_with_a_message(
    session: Path, tmp_path: Path, command: tuple[str, ...], what: str
) -> None:
    folder = tmp_path / "session"
    shutil.copytree(session, folder)
    HOSTILE[what][0](folder)
    done = rig(*command, folder)
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr and "fault of the rig" not in done.stderr
    assert HOSTILE[what][1] in done.stdout + done.stderr


def test_a_list_of_sessions_goes_on_after_a_hostile_one(
    session: Path, tmp_path: Path
) -> None:
    for number, what in enumerate(
        ("a pipe", "deep JSON as a line", "a name with a bell")
    ):
        shutil.copytree(session, tmp_path / f"session-{number}")
        HOSTILE[what][0](tmp_path / f"session-{number}")
    shutil.copytree(session, tmp_path / "session-good")
    done = rig("list", "--sessions", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("unreadable, ") == 3 and "  NOT TESTED, " in done.stdout


def test_a_reader_that_crashes_is_reported_and_the_others_are_read(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyjls is C: on a forged file it may end its process. The process that reads
    traces is not ours.
    """
    package = tmp_path / "pyjls"
    package.mkdir()
    real = Path(pyjls.__file__).parent.parent
    source = f"""
import importlib.util, os, sys
sys.path.insert(0, {str(real)!r})
del sys.modules["pyjls"]
sys.path.remove({str(tmp_path)!r})
import pyjls
_real = pyjls.Reader
def Reader(path):
    if "trial-1" in path:
        os.abort()
    return _real(path)
pyjls.Reader = Reader
"""
    (package / "__init__.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checked = check(session)
    bad = {
        finding.name: finding.detail for finding in checked.findings if not finding.ok
    }
    assert "its reader ended with exit code -6" in bad["trial-1/trace.jls"]
    assert "trial-2/trace.jls" not in bad
    assert [trial.number for trial in checked.trials] == [2]


def test_without_noise_equal_trials_are_no_copies(tmp_path: Path) -> None:
    quiet = [
        "task.null.samples=4",
        "scenario.single_stream.idle_s=0.1",
        "monitor.virtual.noise_a=0.0",
    ]
    with open_bench(VIRTUAL_NULL, quiet) as bench:
        folder = bench.run(2, tmp_path).folder
    assert checking.check(folder).ok


def test_played_recordings_of_one_file_are_accepted_and_called_one_measurement(
    session: Path, tmp_path: Path
) -> None:
    path = session / "trial-1" / "trace.jls"
    settings = [
        "task.null.samples=6",
        "scenario.single_stream.idle_s=0.1",
        f'monitor.playback.path="{path}"',
    ]
    with open_bench(VIRTUAL_NULL, settings) as bench:
        folder = bench.run(2, tmp_path).folder
    checked = checking.check(folder)
    result = [
        finding for finding in checked.findings if finding.name == "trial-2/trace.jls"
    ]
    assert any(
        finding.ok and "one measurement, not two" in finding.detail
        for finding in result
    )
    assert all(finding.ok for finding in result)


def test_what_is_made_again_as_it_was_stays_accepted(
    session: Path, tmp_path: Path
) -> None:
    """The forger's own tools are no reason for a refusal."""
    folder = tmp_path / "session"
    shutil.copytree(session, folder)
    remake(folder)
    assert not [each for each in check(folder, MEMORY.read).findings if not each.ok]
    assert (
        json.loads((folder / "events.jsonl").read_text().splitlines()[0])["before"]
        == ""
    )


def test_a_plan_that_needs_what_the_session_lacks_is_reported_as_not_made_again(
    tmp_path: Path,
) -> None:
    settings = [
        "scenario.tiny.window_s=10.0",
        "task.asc.samples=8",
        "monitor.virtual.sample_hz=5000",
    ]
    settings += ["sut.virtual.sync_hold_us=1000"]
    with open_bench(VIRTUAL_NULL.with_name("virtual-tiny.toml"), settings) as bench:
        folder = bench.run(1, tmp_path).folder
    checked = checking.check(folder)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    assert any(
        "the plan is not made again: the audio of sample" in finding.detail
        for finding in checked.findings
    )
