# SPDX-License-Identifier: Apache-2.0
"""The sessions of a comparison: which bench each backend has, and what of it was run
before."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from rig.api.backends.rows import ComparedBackend, Failure
from rig.api.sessions.session import Session
from rig.bench import config, examples, plugins
from rig.bench.config import NO_MONITOR, Config
from rig.errors import ConfigError, RigError, did_you_mean
from rig.host.stop import Stop
from rig.interfaces.task import Task
from rig.network.tflite.network import suffix_of
from rig.session import session
from rig.store.events import Subscriber
from rig.store.session_folder import BENCH, EVENTS, SessionFolder

#: The task of a model that no other task knows for its own, and those of any model of
#: a kind.
_ANY_MODEL = "network"
_ANY_MODELS = (_ANY_MODEL, "tflite")
_SAMPLES = 40
#: Settings of that task for the choices that the file leaves open.
_CONVENTIONS = frozenset({"dt_s", "rule", "reset", "spikes_max", "start"})
_SCENARIO = {"single_stream": {"idle_s": 0.3}}
#: An unknown backend draws no current that could be simulated.
_NO_MONITOR: dict[str, Any] = {NO_MONITOR: {}}


class UnknownBackend(ConfigError):
    """No backend, example bench or bench file has this name."""


@dataclass(frozen=True, slots=True)
class RequestedRuns:
    """A request for a comparison: a model, how many samples (0: all; None: as many as
    the bench file says, or 40, or all of inputs that are no task's own), and the
    contents of a bench file.

    `bench` may have a table [sut.NAME] for each backend (of several of one kind
    [sut.KIND-NAME]), monitor (else there is none) and metadata of these, scenario, task
    and seeds of all; backends that it has no table for come from the example benches.
    `overrides` are those of `rig run --set`; those of a device or monitor are for
    backends of that kind. `files` are further settings of the task, such as its inputs.
    `task` is the kind of a task that another model belongs to, and this one is compared
    with; empty: that of the model.
    """

    model: Path
    samples: int | None = None
    trials: int = 5
    bench: Path | None = None
    overrides: tuple[str, ...] = ()
    files: Mapping[str, Any] = field(default_factory=dict)
    task: str = ""

    @property
    def own_task(self) -> str:
        """The kind of the task whose model it is; raises ConfigError without one."""
        return task_of(self.model)


@dataclass(frozen=True, slots=True)
class Planned:
    """A backend's name, the text of its bench, resolved, its trials, and whether its
    device comes from an example bench.
    """

    name: str
    text: str
    trials: int
    from_example: bool = False


def plan(name: str, requested: RequestedRuns) -> Planned:
    """Return the bench of a backend; raises UnknownBackend where there is none of this
    name, and ConfigError where a bench is wrong.

    `name` is that of a table [sut.NAME] in the bench file, else a bench file of its
    own, else an example bench, else a kind of backend, as its example bench with
    simulated energy has it, else the beginning of an example bench's name, before "-"
    and the task: of another task than the model's the backend of that bench, without a
    monitor.
    """
    bench_tables = tables(requested.bench)
    from_example = name not in bench_tables.get("sut", {}) and not name.endswith(
        ".toml"
    )
    if name in bench_tables.get("sut", {}):
        # Several tables of one kind differ by the text after it:
        # [sut.cpu-nir].
        sut = {name.partition("-")[0]: bench_tables.get("sut", {})[name]}
        tree: dict[str, Any] = {"sut": sut}
        for key in ("monitor", "rail", "metadata"):
            if key in bench_tables:
                tree[key] = bench_tables[key]
        if not bench_tables.keys() & {"monitor", "rail"}:
            tree |= {"monitor": _NO_MONITOR}
    else:
        base = (
            config.load(Path(name))
            if name.endswith(".toml")
            else _of_example(name, requested)
        )
        tree = tomllib.loads(base.toml())
        if requested.task and requested.own_task != requested.task:
            # It tells of the network of the task.
            tree.pop("metadata", None)
    task_kind, task = _task(bench_tables, requested)
    scenario = bench_tables.get("scenario") or tree.get("scenario", {})
    if "scenario" not in bench_tables and scenario.keys() != _SCENARIO.keys():
        scenario = _SCENARIO
    bench = {**tree.get("bench", {}), **bench_tables.get("bench", {})}
    bench_name = f"compare-{requested.model.stem}-{Path(name).stem}"[:80]
    bench |= {"name": bench_name, "trials": requested.trials}
    tree |= {
        "task": {task_kind: task},
        "scenario": scenario,
        "bench": bench,
        "claim": {},
    }
    folder = requested.bench.resolve().parent if requested.bench else Path.cwd()
    resolved = config.parsed(tomli_w.dumps(tree), folder)
    text = overridden(resolved, requested.overrides)
    names_program = any(
        one.partition("=")[0].endswith(".program") for one in requested.overrides
    )
    return Planned(
        Path(name).stem, text, requested.trials, from_example and not names_program
    )


def overridden(resolved: Config, overrides: Sequence[str]) -> str:
    """Return the whole text with all defaults and the command line's overrides: those
    of a device or monitor apply only to backends of that kind.
    """
    text = resolved.toml()
    tree = tomllib.loads(text)
    mine = [one for one in overrides if _is_of(one.split(".")[:2], tree)]
    if not mine:
        return text
    with tempfile.TemporaryDirectory(prefix="neurorig-compare-") as folder:
        path = Path(folder) / BENCH
        path.write_text(text, encoding="utf-8")
        return config.load(path, mine).toml()


def _is_of(keys: Sequence[str], tree: Mapping[str, Any]) -> bool:
    section = keys[0].strip()
    return section not in ("sut", "monitor") or keys[-1].strip() in tree.get(
        section, {}
    )


def tables(bench: Path | None) -> dict[str, Any]:
    """Return the tables of a bench file; none without one. Raises ConfigError."""
    if bench is None:
        return {}
    return config.tree_in(
        bench, "bench file", "the path of a bench file, or leave --bench out"
    )


def _of_example(name: str, requested: RequestedRuns) -> Config:
    """Return an example bench: of this name, else one of this kind, those that bear the
    kind's name first (torch-asc is a GPU's program on a processor), then those of
    simulated energy; else the backend with its defaults.
    """
    task, _ = _task({}, requested)
    known = examples.examples()
    named = [one for one in known if one.name == name]
    of_kind = []
    for one in known:
        is_of_kind = (one.sut, one.task) == (name, task)
        if is_of_kind and not _is_variant(one.name, name, task):
            of_kind.append(one)
    of_kind.sort(key=lambda one: _preference(one, name, task))
    of_task = [one for one in known if one.name == f"{name}-{task}"]
    if candidates := [*named, *of_kind, *of_task]:
        return config.load(candidates[0].path)
    kinds = plugins.names("sut")
    if name in kinds:
        return _bare({name: {}})
    if others := [one for one in known if one.name.rpartition("-")[0] == name]:
        # Of another task only the backend is taken: the rest of the file describes that
        # task.
        other = tomllib.loads(config.load(others[0].path).toml())
        return _bare(other.get("sut", {}))
    benches = ", ".join(one.name for one in known if one.task == task)
    try_next = (
        did_you_mean(name, [*kinds, *(one.name for one in known)])
        + f"a kind ({', '.join(kinds)}), an example bench ({benches}), or FILE.toml"
    )
    raise UnknownBackend(
        f"no backend, example bench or bench file {name!r}",
        path="--suts",
        try_next=try_next,
    )


def _bare(sut: dict[str, Any]) -> Config:
    """Return a bench with a backend only; the model's task replaces its own."""
    bare = {
        "sut": sut,
        "monitor": _NO_MONITOR,
        "scenario": _SCENARIO,
        "task": {"null": {}},
    }
    return config.parsed(tomli_w.dumps(bare), Path.cwd())


def _preference(
    one: examples.Example, kind: str, task: str
) -> tuple[bool, bool, bool, str]:
    """Return the place of an example bench among those of a kind, the first to take
    smallest.
    """
    has_other_name = not one.name.startswith(kind)
    needs_instrument = "virtual" not in one.monitor
    has_suffix = not one.name.endswith(f"-{task}")
    return has_other_name, needs_instrument, has_suffix, one.name


def _is_variant(bench: str, kind: str, task: str) -> bool:
    """Check whether an example bench is for a name of its own, such as loihi-fixed-asc
    for loihi-fixed.
    """
    plain_name = f"{kind}-{task}"
    return (
        bench != plain_name
        and bench.startswith(f"{kind}-")
        and bench.endswith(f"-{task}")
    )


def _task(
    bench_tables: dict[str, Any], requested: RequestedRuns
) -> tuple[str, dict[str, Any]]:
    """Return kind and settings of the task: the bench file's, else the one whose model
    it is."""
    table = bench_tables.get("task") or {requested.task or requested.own_task: {}}
    kind, settings = next(iter(table.items()))
    if kind != _ANY_MODEL and (given := sorted(requested.files.keys() & _CONVENTIONS)):
        raise ConfigError(
            f"{requested.model.name} is the model of [task.{kind}], whose conventions"
            " are its own",
            path="MODEL.nir",
            evidence=f"given: {', '.join(given)}",
            try_next="no --dt, --as, --reset; or --bench FILE with [task.network]",
        )
    settings = {**settings, **requested.files, "model": str(requested.model.resolve())}
    if requested.samples is not None:
        settings |= {"samples": requested.samples}
    elif kind != _ANY_MODEL:
        settings.setdefault("samples", _SAMPLES)
    return kind, settings


def shared_task(models: Sequence[Path]) -> str:
    """Return the kind of the task that one of several models belongs to, so that all
    get its samples; empty for one model, and where none belongs to a task. Raises
    ConfigError where they belong to several.
    """
    if len(models) < 2:
        return ""
    kinds = {model: task_of(model) for model in models}
    task_kinds = sorted({kind for kind in kinds.values() if kind not in _ANY_MODELS})
    if len(task_kinds) > 1:
        evidence = ", ".join(f"{model.name}: {kind}" for model, kind in kinds.items())
        raise ConfigError(
            "these models belong to several tasks",
            path="MODEL",
            evidence=evidence,
            try_next="models of one task",
        )
    return task_kinds[0] if task_kinds else ""


def settings_of(
    models: Sequence[Path], files: Mapping[str, Any], model: Path
) -> dict[str, Any]:
    """Return the settings of a model's task: beside a NIR file one of int8 has no
    conventions.
    """
    if len(models) < 2 or not suffix_of(model):
        return dict(files)
    return {name: value for name, value in files.items() if name not in _CONVENTIONS}


def task_of(model: Path) -> str:
    """Return the kind of the task whose model a NIR file is."""
    for kind in plugins.names("task"):
        try:
            task = plugins.find("task", kind)
        except RigError:
            continue
        if task.takes(model):
            return kind
    if _ANY_MODEL in plugins.names("task"):
        return _ANY_MODEL
    raise ConfigError(
        f"{model} is the model of no task that is installed",
        path="MODEL.nir",
        try_next="--bench FILE with a [task.KIND] for it",
    )


def facts_of(task: Task | None) -> Mapping[str, Any]:
    """Return the facts of a task's model and data as they are now; none without a
    task."""
    return task.provenance() if task is not None else {}


def earlier(planned: Planned, root: Path, facts: Mapping[str, Any]) -> Session | None:
    """Return the newest session of the very same bench, finished or cut off, that is as
    its run left it; None without one, or where the `facts` of the task are other ones
    now.
    """
    for path in sorted(
        (path.parent for path in root.glob(f"*/{EVENTS}")), reverse=True
    ):
        candidate = Session(path)
        try:
            if SessionFolder(path).bench_text() != planned.text:
                continue
            if is_as_left(candidate, facts):
                return candidate
        except (RigError, OSError, KeyError, AttributeError):
            continue
    return None


def is_as_left(earlier_session: Session, facts: Mapping[str, Any]) -> bool:
    """Check whether a session is as its run left it, of a task with these facts; raises
    what a damaged session does.
    """
    stored = earlier_session.results.provenance.task.stored
    same = all(stored.get(key) == value for key, value in facts.items())
    return same and not earlier_session.changed


def run(
    planned: Planned,
    root: Path,
    facts: Mapping[str, Any],
    subscribers: Sequence[Subscriber] = (),
    stop: Stop | None = None,
) -> ComparedBackend:
    """Return the backend's session: the one that is there, that one resumed, or a new
    one. Where the backend cannot run, why; raises Stopped where `stop` was asked for.
    """
    try:
        before = earlier(planned, root, facts)
        if before is not None and before.status == "success":
            return ComparedBackend(planned.name, before)
        if before is not None:
            try:
                resumed = session.resume(before.path, subscribers, stop)
                return ComparedBackend(planned.name, Session(resumed.folder))
            except ConfigError:
                # by another version of the rig, or on another device: a session of its
                # own
                pass
        return ComparedBackend(
            planned.name, Session(_new(planned, root, subscribers, stop))
        )
    except RigError as error:
        return ComparedBackend(planned.name, None, Failure.of(error))


def _new(
    planned: Planned, root: Path, subscribers: Sequence[Subscriber], stop: Stop | None
) -> Path:
    with tempfile.TemporaryDirectory(prefix="neurorig-compare-") as folder:
        path = Path(folder) / BENCH
        path.write_text(planned.text, encoding="utf-8")
        with session.open_bench(path, stop=stop) as opened:
            return opened.run(planned.trials, root, subscribers).folder
