# SPDX-License-Identifier: Apache-2.0
"""A folder of sessions as a static site: leaderboards, and a page for each session.

It works from a disk, without a server and without a network. Every number is that of
results.json; traces are pictures. Texts of sessions are escaped, and the pages forbid
scripts that are not files of the site.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rig.api.archive.collected import Collected, collected, session_folders
from rig.api.sessions.session import Session
from rig.api.site import download, history, traces
from rig.api.site.boards import boards
from rig.check.check import check
from rig.errors import DataError, RigError, cause_of, storage_error
from rig.model.finding import Finding
from rig.report.site import pages
from rig.results.labels import Label
from rig.results.verdict import Outcome
from rig.store import inventory
from rig.store.session_folder import SessionFolder, write_text

#: Bytes of the traces of one session: with its page, 50 sessions take about 8 MB.
TRACES_B = 96_000
_MARK = "neurorig-site.txt"
_MARK_TEXT = "A site made by rig site, which may replace this folder.\n"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:"
    " 'unsafe-inline'; img-src 'self' data:"
)
_CLASSES = {"PASS": "good", "FAIL": "bad", "INVALID": "bad"}

Begun = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """The content of a site: its title, whether each session is checked, whether every
    sample and the whole sessions are in it, and the bytes of a session's traces.
    """

    title: str = "Results"
    checked: bool = True
    full: bool = False
    whole_sessions: bool = False
    traces_b: int = TRACES_B


@dataclass(frozen=True, slots=True)
class CheckedSession:
    """The outcome of `rig check`, as a page states it; `passed` is None where it was
    not run.
    """

    outcome: str
    short: str
    text: str
    passed: bool | None = None
    faults: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class MadeSite:
    """A site that was written: sessions with a page and without results, and bytes."""

    path: Path
    sessions: tuple[Path, ...]
    without_results: tuple[Path, ...]
    size_b: int


_NOT_RUN = CheckedSession("NOT RUN", "not checked", "The numbers were not recomputed.")


def write_site(
    places: Sequence[Path],
    to: Path,
    options: SiteOptions | None = None,
    begun: Begun = lambda path: None,
) -> MadeSite:
    """Write a site of sessions, or of those in folders, and return a summary of it.

    The folder has its name once all of it is written; a site that is there is replaced,
    another folder refused. `begun` is called with each session before its page.
    """
    options = options or SiteOptions()
    folders = session_folders(places)
    _refuse_other(to)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
    except OSError as error:
        raise storage_error(error, to, "another: rig site --to FOLDER") from error
    try:
        found = _Site(made, options, begun).write(folders)
        size_b = sum(path.stat().st_size for path in inventory.files(made).values())
        made.chmod(0o755)
        _put(made, to)
    except OSError as error:
        raise storage_error(error, to, "another: rig site --to FOLDER") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    with_page = tuple(each.listed.path for each in found if each.results is not None)
    without = tuple(each.listed.path for each in found if each.results is None)
    return MadeSite(to, with_page, without, size_b)


def _refuse_other(to: Path) -> None:
    if to.exists() and not (to / _MARK).is_file():
        is_empty = to.is_dir() and not any(to.iterdir())
        if not is_empty:
            raise DataError(
                f"{to} is there already, and no site that rig site made",
                try_next="another: rig site --to FOLDER",
            )


def _put(made: Path, to: Path) -> None:
    """Give a folder its name; that of an older site becomes free first."""
    if to.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
        to.rename(old / to.name)
        made.rename(to)
        shutil.rmtree(old, ignore_errors=True)
        return
    made.rename(to)


@dataclass(frozen=True, slots=True)
class _Site:
    """A site that is being written into a folder."""

    folder: Path
    options: SiteOptions
    begun: Begun

    def write(self, folders: Sequence[Path]) -> list[Collected]:
        """Write everything; return the sessions."""
        found: list[Collected] = []
        links: dict[Path, str] = {}
        checks: dict[Path, CheckedSession] = {}
        for path in folders:
            self.begun(path)
            each = collected(path)
            checks[path] = self._checked(each)
            links[path] = ""
            try:
                links[path] = self._page(each, checks[path])
            except RigError as error:
                reason = (Label("UNREADABLE", cause_of(error)),)
                each = Collected(each.listed, None, reason)
            found.append(each)
        assets = self.folder / "assets"
        assets.mkdir()
        for name, text in pages.assets().items():
            write_text(assets / name, text)
        over_time = history.histories(found, links)
        if over_time:
            write_text(self.folder / history.SCRIPT, history.script(over_time))
        facts = self._facts(found) | {"pages": links, "checks": checks}
        facts |= {"histories": len(over_time)}
        write_text(self.folder / "index.html", pages.index_page(facts))
        write_text(self.folder / _MARK, _MARK_TEXT)
        return found

    def _checked(self, each: Collected) -> CheckedSession:
        if not self.options.checked or each.results is None:
            return _NOT_RUN
        try:
            told = check(each.listed.path)
        except RigError as error:
            said = cause_of(error)
            return CheckedSession("FAIL", "check: FAIL", said, passed=False)
        faults = tuple(finding for finding in told.findings if not finding.ok)
        count = len(told.findings)
        text = (
            f"found every number again from the raw files ({count} checks)."
            if told.outcome is Outcome.PASS
            else f"{len(faults)} of {count} checks found a difference."
        )
        outcome = told.outcome.upper()
        return CheckedSession(outcome, f"check: {outcome}", text, told.ok, faults)

    def _page(self, each: Collected, told: CheckedSession) -> str:
        """Write the page of a session; return its place, empty where there is none."""
        if each.results is None:
            return ""
        path = each.listed.path
        name = _folder_name(path.name)
        page = self.folder / "sessions" / name
        page.mkdir(parents=True)
        options = self.options
        drawn = traces.write(
            Session(path), each.results, page, options.traces_b, full=options.full
        )
        zipped = download.write(path, page, whole=options.whole_sessions)
        facts = {
            "policy": _POLICY,
            "check": told,
            "traces": drawn,
            "download": zipped,
        }
        text = pages.session_page(SessionFolder(path), each.results, facts)
        write_text(page / "index.html", text)
        return f"sessions/{quote(name)}/index.html"

    def _facts(self, found: Sequence[Collected]) -> dict[str, Any]:
        """Collect the facts that the first page states."""
        with_results = [each for each in found if each.results is not None]
        rows = [each.listed for each in with_results]
        every = list(chain.from_iterable(each.labels for each in with_results))
        simulated = [each.results.simulated for each in with_results if each.results]
        return {
            "policy": _POLICY,
            "title": self.options.title,
            "lead": _lead(with_results, simulated),
            "all_simulated": bool(simulated) and all(simulated),
            "boards": boards(with_results),
            "others": [each for each in found if each.results is None],
            "tasks": sorted({row.task for row in rows}),
            "devices": sorted({row.device for row in rows}),
            "monitors": sorted({row.monitors or "none" for row in rows}),
            "labels": sorted({label.text for label in every}),
            "meanings": _meanings(every),
            "shown": len(with_results),
            "classes": _CLASSES,
            "version": version("neurorig"),
        }


def _meanings(labels: Sequence[Label]) -> list[Label]:
    """Return the labels whose meaning is the same in all sessions."""
    texts: dict[str, set[str]] = {}
    for label in labels:
        texts.setdefault(label.text, set()).add(label.statement)
    ordered = sorted(texts.items())
    return [Label(text, told.pop()) for text, told in ordered if len(told) == 1]


def _lead(found: Sequence[Collected], simulated: Sequence[bool]) -> str:
    """Return the first sentence of the site."""
    count = len(found)
    if not count:
        return "No session here has results."
    tasks = len({each.listed.task for each in found})
    devices = len({each.listed.device for each in found})
    measured = count - sum(simulated)
    parts = [f"{count} session{'s' * (count != 1)}"]
    parts.append(f"{tasks} task{'s' * (tasks != 1)}")
    parts.append(f"{devices} device{'s' * (devices != 1)}")
    kinds = f"{measured} measured on a device, {count - measured} simulated"
    return (
        f"{', '.join(parts)}: {kinds}. The best is first; sessions without an interval"
        " follow those with a rank."
    )


def _folder_name(name: str) -> str:
    """Return the name of a session's folder in the site: its own where that is plain,
    else one that is made of it.
    """
    if _NAME.fullmatch(name):
        return name
    return f"session-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:16]}"
