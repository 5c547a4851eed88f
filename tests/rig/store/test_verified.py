# SPDX-License-Identifier: Apache-2.0
"""Which file of a session equals its line in events.jsonl."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from lab.faults.forger import chained
from rig.store import verified
from rig.store.session_folder import SessionFolder

HASH = "0" * 64


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def folder_of(root: Path, *more: dict[str, Any], bench: str = "b") -> SessionFolder:
    """Return a folder with a bench file, and lines that name it and further lines
    `more`.
    """
    (root / "bench.toml").write_text(bench)
    started = {
        "schema": "neurorig-events-2",
        "event": "session_started",
        "trials": 1,
        "queries": 1,
        "files": {"bench.toml": digest("b")},
    }
    (root / "events.jsonl").write_text(chained([started, *more]))
    return SessionFolder(root)


def derived(**files: str) -> dict[str, Any]:
    return {"event": "derived", "files": files}


def said(folder: SessionFolder) -> list[str]:
    return [str(change).partition(":")[0] for change in verified.changes(folder)]


def test_a_file_that_equals_its_line_is_no_change(tmp_path: Path) -> None:
    assert said(folder_of(tmp_path)) == []


def test_a_changed_an_added_and_a_missing_file_are_named(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path, {"event": "trial_started", "trial": 1, "seed": 1},
        {
            "event": "trial_finished",
            "trial": 1,
            "problems": [],
            "files": {"samples.jsonl": HASH, "trace.jls": HASH},
        },
        bench="c",
    )  # fmt: skip
    (tmp_path / "results.json").write_text("{}")
    assert said(folder) == [
        "bench.toml was changed",
        "trial-1/samples.jsonl is missing",
        "results.json was added",
    ]


def test_a_line_after_the_end_counts_only_for_what_was_made_after_it(
    tmp_path: Path,
) -> None:
    folder = folder_of(tmp_path, derived(**{"bench.toml": digest("c")}), bench="c")
    assert said(folder) == ["bench.toml was changed"]
    folder = folder_of(
        tmp_path,
        derived(**{"report.html": HASH}),
        derived(**{"report.html": digest("r")}),
    )
    (tmp_path / "report.html").write_text("r")
    assert verified.changes(folder, verified.OF_LIST) == ()


def test_a_broken_chain_vouches_for_no_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    path = tmp_path / "events.jsonl"
    path.write_text(path.read_text().replace('"trials": 1', '"trials": 2'))
    assert said(folder) == ["events.jsonl is not as it was written"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "bench.toml").unlink()
    (tmp_path / "bench.toml").mkdir()
    assert said(folder) == ["bench.toml is no regular file"]
