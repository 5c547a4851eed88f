# SPDX-License-Identifier: Apache-2.0
"""A forger of sessions who makes all hashes again, in the words of docs/RESULTS.md and without the rig's own code."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def chained(events: list[dict[str, Any]]) -> str:
    """Return events.jsonl: each line with the hash of the one before, and its own."""
    lines, before = [], ""
    for event in events:
        content = {name: value for name, value in event.items() if name not in ("before", "sha256")} | {"before": before}
        before = sha256(json.dumps(content).encode()).hexdigest()
        lines.append(json.dumps(content | {"sha256": before}) + "\n")
    return "".join(lines)


def rehash(folder: Path, edit: Callable[[list[dict[str, Any]]], Any] | None = None) -> None:
    """Make every hash and the whole chain again, so that all of them fit what lies in the folder now."""
    provenance = folder / "provenance.json"
    about = json.loads(provenance.read_text())
    about["bench_sha256"] = digest(folder / "bench.toml")
    provenance.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n")
    path = folder / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        place = folder / f"trial-{event['trial']}" if "trial" in event else folder
        if "files" in event:
            event["files"] = {name: digest(place / name) for name in event["files"] if (place / name).is_file()}
    if edit is not None:
        edit(events)
    path.write_text(chained(events))


def edit_lines(path: Path, change: Callable[[int, dict[str, Any]], Any]) -> None:
    """Change the JSON objects of a file of lines in place."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines, start=1):
        change(number, line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def edit_json(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a JSON object in place."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
