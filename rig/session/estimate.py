# SPDX-License-Identifier: Apache-2.0
"""An estimate of a plan before anything is opened: its steps, its time, and its room on
the disk.

A time is a count of steps times a rate that is stated: by the step itself, by the
scenario, by a virtual device's settings, or as a claimed latency. Any other time is
unknown until the first trial; the estimate then is the least. No device is touched:
rates of samples come from the settings of the monitors (`sampling`), or, of an open
bench, from their infos.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.bench import plugins
from rig.bench.config import Config
from rig.bench.examples import refuse_missing
from rig.errors import StorageFull
from rig.interfaces.monitor import MonitorInfo, Sampling
from rig.interfaces.scenario import Scenario
from rig.interfaces.task import Task
from rig.kinds import registry as kinds
from rig.model.steps import Query, Step, Sync
from rig.session import planning
from rig.session.trial_count import trial_count
from rig.trace.write_room import RESERVE_B
from rig.units import bytes_text, duration, plural

#: Bytes of a sample of current or voltage, of eight samples of a digital line, and
#: the index of a trace (measured: 1.009 to 1.053).
_FLOAT_B = 4
_LEVELS_B = 1 / 8
_INDEX = 1.04
#: Bytes of the lines that a step leaves in completions.jsonl, samples.jsonl and
#: uart.log.
_STEP_B = 1000
#: results.json, report.html and the small files of a session.
_SESSION_B = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGroup:
    """Steps of one kind in a trial, in words and by number. `known_s` of their time is
    stated; `is_whole`: that is all of it. `once`: interleaved trials have them
    together.
    """

    kind: str
    text: str
    count: int
    known_s: float
    is_whole: bool
    once: bool


@dataclass(frozen=True, slots=True)
class RailRate:
    """The sampling of one rail, None where only the instrument knows it."""

    name: str
    sampling: Sampling | None

    @property
    def byte_hz(self) -> float:
        """Bytes that it writes in a second."""
        sampling = self.sampling
        if sampling is None:
            return 0.0
        line_b = 0.0
        if sampling.sync == "digital":
            line_b = sampling.edge_hz * _LEVELS_B
        elif sampling.sync == "voltage":
            line_b = sampling.sample_hz * _FLOAT_B
        return _INDEX * (2 * _FLOAT_B * sampling.sample_hz + line_b)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The rows of a trial, how many trials, the rails, and the disk.

    `virtual`: the times are those of a virtual clock. `free_b` is None where the disk
    is not known.
    """

    task: str
    scenario: str
    trials: int
    rows: tuple[StepGroup, ...]
    rails: tuple[RailRate, ...]
    virtual: bool
    free_b: int | None
    claim: Mapping[str, float]
    interleaved: bool

    @property
    def steps(self) -> int:
        """Steps of a trial, with its two SYNC bursts."""
        return sum(row.count for row in self.rows)

    @property
    def unknown(self) -> list[StepGroup]:
        """The rows whose time is not known, or not all of it."""
        return [row for row in self.rows if not row.is_whole]

    @property
    def known_s(self) -> float:
        """The known time of all trials, without opening and evaluation."""
        known_s = 0.0
        for row in self.rows:
            times = 1 if self.interleaved and row.once else self.trials
            known_s += times * row.known_s
        return known_s

    @property
    def time_text(self) -> str:
        """The time of all trials in words."""
        if not self.known_s:
            return "unknown until the first trial"
        clock = " of virtual time" if self.virtual else ""
        of_all = duration(self.known_s)
        if self.interleaved:
            trials = plural(self.trials, "trial")
            return f"{self._word} {of_all}{clock}, {trials} interleaved"
        of_trial = duration(self.known_s / self.trials)
        return f"{self._word} {of_trial}{clock} a trial, {of_all} in all"

    @property
    def unknown_text(self) -> str:
        """The steps whose time is unknown, in words; empty where there are none."""
        rows = ", ".join(row.text for row in self.unknown)
        return f"unknown until the first trial: {rows}" if rows else ""

    @property
    def byte_hz(self) -> float:
        """Bytes that all rails write in a second."""
        return sum(rail.byte_hz for rail in self.rails)

    @property
    def known_b(self) -> int:
        """Bytes of all trials in the known time."""
        steps_b = self.trials * self.steps * _STEP_B
        return round(self.byte_hz * self.known_s + steps_b + _SESSION_B)

    @property
    def room(self) -> bool:
        """Whether the disk has room for `known_b`, and for closing the session."""
        return _has_room(self.known_b, self.free_b)

    @property
    def disk_text(self) -> str:
        """The needed and the free bytes in words; where a time is unknown, with the
        time that the free ones last.
        """
        needed = f"{self._word} {bytes_text(self.known_b)}"
        if self.free_b is None:
            return f"{needed}; free space unknown"
        free = f"{needed}; {bytes_text(self.free_b)} are free"
        if not (self.unknown and self.byte_hz and self.room):
            return free
        lasts_s = (self.free_b - RESERVE_B) / self.byte_hz
        return f"{free}, for {duration(lasts_s)} of recording"

    @property
    def _word(self) -> str:
        return "at least" if self.unknown else "about"


def of_bench(
    path: Path | str,
    overrides: Sequence[str] = (),
    trials: int | None = None,
    root: Path | str = "sessions",
) -> Estimate:
    """Estimate a run of a bench file; no device is touched. Raises what open_plan does,
    and ConfigError where the program of the device is not there.
    """
    scenario, task, resolved = planning.open_plan(path, overrides)
    refuse_missing(resolved)
    count = resolved.bench.trials if trials is None else trial_count(trials)
    return of_plan(scenario, task, resolved, count, Path(root))


def of_plan(
    scenario: Scenario,
    task: Task,
    resolved: Config,
    trials: int,
    root: Path,
    *,
    monitors: Mapping[str, MonitorInfo] | None = None,
) -> Estimate:
    """Estimate a plan by the settings of its parts, and by the infos of `monitors`
    where they are open.
    """
    rails = []
    for rail, choice in resolved.monitors.items():
        if monitors is None:
            kind = plugins.find("monitor", choice.kind)
            sampling = kind.sampling(choice.settings)
        else:
            info = monitors[rail]
            sampling = Sampling(info.sample_hz, info.edge_hz, info.sync)
        rails.append(RailRate(rail, sampling))
    stated_s = plugins.find("sut", resolved.sut.kind).step_s(resolved.sut.settings)
    rates_s = dict(stated_s)
    if (claimed_s := scenario.query_s(resolved.claim)) is not None:
        rates_s.setdefault(Query.kind, claimed_s)
    seed = planning.trial_seed(resolved.bench.seed, 1)
    steps = [Sync(), *planning.steps(scenario, task, seed), Sync()]
    return Estimate(
        task=task.name,
        scenario=scenario.name,
        trials=trials,
        rows=_rows(steps, rates_s, scenario.windows_s),
        rails=tuple(rails),
        virtual=bool(stated_s),
        free_b=free_bytes(root),
        claim=dict(resolved.claim),
        interleaved=bool(scenario.interleaved),
    )


def refuse_no_room(needed_b: int, folder: Path, what: str, try_next: str) -> None:
    """Raise StorageFull where the disk of a folder has no room for `what`."""
    free_b = free_bytes(folder)
    if _has_room(needed_b, free_b):
        return
    raise StorageFull(
        f"the disk of {folder} has no room for {what}",
        evidence=(
            f"it needs about {bytes_text(needed_b)}, and {bytes_text(RESERVE_B)} to"
            f" close it; {bytes_text(free_b or 0)} are free"
        ),
        try_next=try_next,
    )


def free_bytes(root: Path) -> int | None:
    """Find the free bytes on the disk of a folder that need not exist yet; None where
    they cannot be known.
    """
    folder = root.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    # A file system of the kernel's own has no size.
    return usage.free if usage.total else None


def _has_room(needed_b: int, free_b: int | None) -> bool:
    return free_b is None or needed_b + RESERVE_B <= free_b


def _rows(
    steps: Sequence[Step], rates_s: Mapping[str, float], windows_s: float | None
) -> tuple[StepGroup, ...]:
    """Group the steps of a trial by kind, with their stated times; `windows_s` is the
    least time of all queries, where the scenario measures first how many it needs.
    """
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.kind, []).append(step)
    rows = []
    for name, of_kind in groups.items():
        kind = kinds.of(of_kind[0])
        times_s = [kind.takes_s(step, rates_s) for step in of_kind]
        known_s = sum(each_s for each_s in times_s if each_s is not None)
        is_whole = None not in times_s
        if windows_s is not None and name == Query.kind:
            known_s = windows_s
            is_whole = False
        row = StepGroup(
            kind=name,
            text=kind.total(of_kind),
            count=len(of_kind),
            known_s=known_s,
            is_whole=is_whole,
            once=kind.loads or not kind.planned,
        )
        rows.append(row)
    return tuple(rows)
