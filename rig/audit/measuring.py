# SPDX-License-Identifier: Apache-2.0
"""The auditor's own session of a claim: begun once, resumed until it is finished.

An audit has one session of a claim, of at most as many trials as the rule allows, so
that none is chosen among several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rig.audit.claimed import ClaimedSession
from rig.bench.config import Config
from rig.errors import ConfigError, DataError
from rig.host.stop import Stop
from rig.interfaces.monitor import MonitorInfo
from rig.interfaces.sut import SutInfo
from rig.results import origins
from rig.session import session
from rig.session.session import Bench
from rig.store.events import Subscriber
from rig.store.provenance_file import Provenance
from rig.store.session_folder import (
    BENCH,
    EVENTS,
    SessionFolder,
    refuse_unwritable,
    write_text,
)

_STATED = ("name", "subset")
_HASH = "sha256"


def session_in(place: Path) -> Path | None:
    """Find the session of a claim in an audit; raise DataError where there are several.

    A folder whose run ended before its first line is empty, and is passed over.
    """
    ordered = sorted(place.glob(f"*/{EVENTS}"))
    begun = [
        each.parent for each in ordered if not SessionFolder(each.parent).is_unbegun()
    ]
    if len(begun) > 1:
        raise DataError(
            f"{place} has {len(begun)} sessions of one claim",
            evidence=", ".join(each.name for each in begun),
            try_next="an audit measures once: another folder, with --to",
        )
    return begun[0] if begun else None


def measure(
    place: Path,
    bench: Config,
    claimed: ClaimedSession,
    subscribers: Sequence[Subscriber],
    stop: Stop,
) -> Path:
    """Measure a claim again into a session below `place`, or finish the one that is
    there; return its folder.

    Raise ConfigError where that one is of another bench, or the device is not the
    claim's; DataError where `place` is a session itself.
    """
    if (place / EVENTS).exists():
        raise DataError(
            f"{place} is a session, and no folder of an audit",
            try_next="another folder: --to AUDIT",
        )
    text = bench.toml()
    begun = session_in(place)
    if begun is not None:
        _refuse_other_bench(begun, text)
        if SessionFolder(begun).journal().status != "success":
            session.resume(begun, subscribers, stop)
        return begun
    refuse_unwritable(place, "another folder: --to AUDIT")
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / BENCH, text)
    with session.open_bench(place / BENCH, (), subscribers, stop) as opened:
        refuse_other(opened, claimed.stored.provenance)
        return opened.run(None, place, subscribers).folder


def refuse_other(opened: Bench, claimed: Provenance) -> None:
    """Raise ConfigError, before anything is measured, where device, image, model or
    data of an open bench are not those of a claim.
    """
    monitors = {rail: monitor.info for rail, monitor in opened.monitors.items()}
    simulated = any(monitor.simulated for monitor in monitors.values())
    task = {"name": opened.task.name, **opened.task.provenance()}
    info = opened.sut.info
    is_simulated = info.simulated or simulated
    differences = [
        *_unlike(claimed, info, task, is_simulated),
        *_unmeasured(monitors),
    ]
    if differences:
        raise ConfigError(
            "the auditor's bench is not of what was claimed",
            evidence="; ".join(differences),
            try_next=(
                "the submitter's own image, model and data, and an instrument: the"
                " audit measures"
            ),
        )


def unlike(claimed: Provenance, measured: Provenance) -> tuple[str, ...]:
    """List how a session is of another device, image, model or data than a claim, or
    of power that was not measured in it.
    """
    task = measured.task.stored
    return (
        *_unlike(claimed, measured.sut, task, measured.simulated),
        *_unmeasured(measured.monitors),
    )


def _unlike(
    claimed: Provenance, sut: SutInfo, task: Mapping[str, Any], simulated: bool
) -> Iterator[str]:
    if simulated is not claimed.simulated:
        words = {True: "simulated", False: "measured"}
        yield f"it is {words[simulated]}, the claim is {words[claimed.simulated]}"
    for key in ("model", "image"):
        own = getattr(sut, key)
        due = getattr(claimed.sut, key)
        if own != due:
            yield f"{key} of the device is {own!r:.160}, the claim has {due!r:.160}"
    due_task = claimed.task.stored
    keys = [key for key in due_task if key in _STATED or key.endswith(_HASH)]
    for key in keys:
        own = task.get(key)
        due = due_task[key]
        if own != due:
            yield f"{key} of the task is {own!r:.80}, the claim has {due!r:.80}"


def _unmeasured(monitors: Mapping[str, MonitorInfo]) -> Iterator[str]:
    if played := origins.played_back(monitors):
        yield f"its power is played back from {played}, not measured"


def _refuse_other_bench(begun: Path, text: str) -> None:
    """Raise ConfigError where a session was begun with another bench."""
    before = SessionFolder(begun).bench_text()
    if before == text:
        return
    lines = (before.splitlines(keepends=True), text.splitlines(keepends=True))
    pairs = zip_longest(*lines, fillvalue="")
    old, new = next(pair for pair in pairs if pair[0] != pair[1])
    raise ConfigError(
        f"the audit in {begun.parent} was begun with another bench",
        evidence=f"{old!r:.100}, now {new!r:.100}",
        try_next="the same bench file and --trials; or another folder, with --to",
    )
