# SPDX-License-Identifier: Apache-2.0
"""The check finds every number again, and names each changed file."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from lab.faults import forgeries
from lab.faults.forger import rehash
from rig.check.check import check
from rig.errors import DataError
from rig.report.report import write_report
from tests import checking
from tests.conftest import VIRTUAL_NULL
from tests.length import length
from tests.waiting import eventually

FILES = (
    "bench.toml",
    "provenance.json",
    "results.json",
    "trial-1/completions.jsonl",
    "trial-1/samples.jsonl",
    "trial-2/trace.jls",
)


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[int, Path]]:
    """Measure a small session of one trial, and one of two."""
    with TemporaryDirectory() as root:
        yield {
            trials: forgeries.session(
                "single_stream", Path(root) / str(trials), False, trials
            )
            for trials in (1, 2)
        }


@pytest.fixture
def folder(sessions: dict[int, Path], tmp_path: Path) -> Path:
    """Return a session of one trial, to be changed."""
    return Path(shutil.copytree(sessions[1], tmp_path / sessions[1].name))


@pytest.fixture
def folder_of_two(sessions: dict[int, Path], tmp_path: Path) -> Path:
    """Return a session of two trials, to be changed."""
    return Path(shutil.copytree(sessions[2], tmp_path / sessions[2].name))


def test_an_untouched_session_is_found_again_byte_for_byte(
    sessions: dict[int, Path],
) -> None:
    checked = check(sessions[2])
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    assert any(
        finding.name == "results.json" and "byte for byte" in finding.detail
        for finding in checked.findings
    )


def test_a_session_copied_under_another_name_is_found_again_as_well(
    folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "downloaded"
    write_report(folder)
    shutil.copytree(folder, copy)
    checked = checking.check(copy)
    assert checked.ok, [finding for finding in checked.findings if not finding.ok]
    assert any(
        finding.name == "report.html" and "made again" in finding.detail
        for finding in checked.findings
    )


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_anywhere_is_named_with_its_file(
    folder_of_two: Path, name: str
) -> None:
    path = folder_of_two / name
    content = bytearray(path.read_bytes())
    position = random.Random(name).randrange(len(content))
    content[position] ^= 0x01
    path.write_bytes(content)
    checked = checking.check(folder_of_two)
    assert not checked.ok
    assert any(not finding.ok and finding.name == name for finding in checked.findings)


def test_any_byte_of_the_events_or_the_provenance_may_be_damaged_without_a_crash(
    folder: Path,
) -> None:
    draw = random.Random(5)
    # no trace changes here: it need not be read again for each check
    traces = forgeries.Memory()
    for name in ("events.jsonl", "provenance.json", "bench.toml"):
        good = (folder / name).read_bytes()
        for _ in range(length(25, 10)):
            damaged = bytearray(good)
            damaged[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
            (folder / name).write_bytes(damaged)
            try:
                checked = check(folder, traces.read)
            except DataError:
                continue
            assert name == "events.jsonl" or not checked.ok
        (folder / name).write_bytes(good)
    assert check(folder, traces.read).ok


def test_a_line_cut_off_in_the_list_of_gaps_is_no_crash(folder: Path) -> None:
    (folder / "trial-1" / "gaps.jsonl").write_text('{"start": 1, "stop": 2, "ca')
    assert [
        finding.name for finding in checking.check(folder).findings if not finding.ok
    ] == ["trial-1/gaps.jsonl"]


def test_a_changed_sample_line_is_named_with_its_number_and_field(folder: Path) -> None:
    path = folder / "trial-1" / "samples.jsonl"
    lines = path.read_text().splitlines()
    sample = json.loads(lines[4])
    sample["windows"][1]["energy_j"] *= 1.001
    lines[4] = json.dumps(sample)
    path.write_text("\n".join(lines) + "\n")
    details = [
        finding.detail for finding in checking.check(folder).findings if not finding.ok
    ]
    assert any("line 5: windows[1].energy_j is" in detail for detail in details)


def test_a_changed_result_is_named_with_its_metric(folder: Path) -> None:
    content = json.loads((folder / "results.json").read_text())
    content["metrics"]["energy_infer"]["value"] *= 0.9
    (folder / "results.json").write_text(
        json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    )
    details = [
        finding.detail for finding in checking.check(folder).findings if not finding.ok
    ]
    assert any("metrics.energy_infer.value is" in detail for detail in details)
    # rig resume refuses a finished session.
    assert not any("rig resume" in detail for detail in details)


def store_text(content: Any, name: str) -> str:
    """Return JSON, in the layout of a file of the session."""
    return json.dumps(
        content, indent=1 if name == "results.json" else None, ensure_ascii=False
    )


@pytest.mark.parametrize(("change", "equal"), [(1e-13, True), (1e-6, False)])
def test_what_another_processor_rounds_otherwise_is_equal(
    folder: Path, change: float, equal: bool
) -> None:
    def rounded(content: Any) -> Any:
        if isinstance(content, dict):
            return {key: rounded(value) for key, value in content.items()}
        if isinstance(content, list):
            return [rounded(value) for value in content]
        return content * (1 + change) if isinstance(content, float) else content

    for name in ("trial-1/samples.jsonl", "results.json"):
        text = (folder / name).read_text()
        texts = [text] if name == "results.json" else text.splitlines()
        changed = (
            "\n".join(store_text(rounded(json.loads(item)), name) for item in texts)
            + "\n"
        )
        (folder / name).write_text(changed)
    rehash(folder)
    checked = checking.check(folder)
    assert checked.ok is equal
    named = [
        finding.detail
        for finding in checked.findings
        if finding.name in ("results.json", "trial-1/samples.jsonl")
    ]
    reported = [
        detail
        for detail in named
        if ("not byte for byte" if equal else "recomputed 0.") in detail
    ]
    assert len(reported) >= 2


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "trial-1" / "trace.jls").unlink()
    assert any(
        finding.name == "trial-1/trace.jls" and finding.detail == "is missing"
        for finding in checking.check(folder).findings
    )


def test_derived_files_can_be_deleted_and_only_those_are_missed(folder: Path) -> None:
    (folder / "results.json").unlink()
    bad = [
        finding.name for finding in checking.check(folder).findings if not finding.ok
    ]
    assert bad == ["results.json"]


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no session folder"):
        check(tmp_path)


def test_a_session_killed_in_the_middle_is_readable(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "rig",
        "run",
        str(VIRTUAL_NULL),
        "--sessions",
        str(tmp_path),
    ]
    # Many samples of long queries: a trial takes seconds, so that the kill falls into
    # one.
    command += [
        "--set",
        "task.null.samples=2000",
        "--set",
        "sut.virtual.infer.duration_s=0.5",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        lines = eventually(
            lambda: [
                path
                for path in tmp_path.glob("*/trial-1/completions.jsonl")
                if path.stat().st_size >= 6_000
            ],
            process=process,
        )
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    folder = lines[0].parent.parent
    checked = check(folder)
    assert checked.status == "killed" and not checked.ok
    cut_off = next(finding for finding in checked.findings if finding.name == "trial-1")
    assert "samples measured" in cut_off.detail and "latency_total" in cut_off.detail, (
        cut_off
    )
