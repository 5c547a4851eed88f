# SPDX-License-Identifier: Apache-2.0
"""The auditor's bench with the workload of a claim: device, instruments and paths of
the auditor; scenario, task, seed and every other setting of both as claimed.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.bench import config
from rig.bench.config import Config, PluginChoice
from rig.errors import ConfigError

#: Settings of [bench] that determine the workload.
_OF_WORKLOAD = ("seed", "between_windows")
_SECTIONS = ("scenario", "task")


def with_workload(
    path: Path, overrides: Sequence[str], claimed: Config, trials: int
) -> Config:
    """Read the auditor's bench file, and give it the workload of a claim.

    [scenario] and [task] may be left out of it. Raise ConfigError where it states
    another kind or another setting than the claim; paths in both are the auditor's own.
    """
    stated = config.stated(path, overrides)
    due = tomllib.loads(claimed.toml())
    tree = {name: table for name, table in stated.items() if name != "claim"}
    for section in _SECTIONS:
        tree[section] = _merged(due[section], _own(section, stated, due[section]))
    workload = {key: getattr(claimed.bench, key) for key in _OF_WORKLOAD}
    own = stated.get("bench", {})
    if isinstance(own, dict):
        tree |= {"bench": workload | own | {"trials": trials}}
    found = config.structured(tree, path.resolve().parent)
    if differences := other_workload(found, claimed):
        raise ConfigError(
            f"{path} states another workload than the claim",
            path=str(path),
            evidence="; ".join(differences),
            try_next="leave these settings out: those of the claim are used",
        )
    _refuse_foreign_paths("scenario", found.scenario, stated)
    _refuse_foreign_paths("task", found.task, stated)
    return found


def other_workload(own: Config, claimed: Config) -> tuple[str, ...]:
    """List how the workload of a bench differs from that of a claim."""
    found = [*_bench_differences(own, claimed)]
    for section in _SECTIONS:
        mine = getattr(own, section)
        due = getattr(claimed, section)
        if mine.kind != due.kind:
            found.append(f"{section} is {mine.kind}, the claim has {due.kind}")
            continue
        found += _differences(section, mine, due)
    return tuple(found)


def _own(section: str, stated: Mapping[str, Any], due: Mapping[str, Any]) -> Any:
    """Return the auditor's table of a section; raise ConfigError for another kind."""
    (kind,) = due
    own = stated.get(section, {kind: {}})
    kinds = list(own) if isinstance(own, dict) else [repr(own)]
    if kinds != [kind]:
        raise ConfigError(
            f"the claim is of the {section} {kind}",
            path=section,
            evidence=f"the auditor's bench has {', '.join(kinds) or 'no table in it'}",
            try_next=f"[{section}.{kind}], or no [{section}]: the claim's is used",
        )
    return own


def _merged(due: Any, own: Any) -> Any:
    """Return a table of the claim with the auditor's settings in it."""
    if not isinstance(due, Mapping) or not isinstance(own, Mapping):
        return own
    missing = object()
    found = dict(due)
    for key, value in own.items():
        below = found.get(key, missing)
        found[key] = value if below is missing else _merged(below, value)
    return found


def _bench_differences(found: Config, claimed: Config) -> Iterator[str]:
    for key in _OF_WORKLOAD:
        own = getattr(found.bench, key)
        due = getattr(claimed.bench, key)
        if own != due:
            yield f"bench.{key} = {own!r}, the claim has {due!r}"


def _differences(section: str, own: PluginChoice, due: PluginChoice) -> Iterator[str]:
    """Yield the settings that differ, other than paths."""
    values = config.without_paths(own.settings)
    claimed = config.without_paths(due.settings)
    for name, value in values.items():
        if value != claimed[name]:
            place = f"{section}.{own.kind}.{name}"
            yield f"{place} = {value!r:.60}, the claim has {claimed[name]!r:.60}"


def _refuse_foreign_paths(
    section: str, found: PluginChoice, stated: Mapping[str, Any]
) -> None:
    """Raise ConfigError for a path that only the claim states: it is of another
    computer.
    """
    own = stated.get(section, {}).get(found.kind, {})
    for part in dataclasses.fields(found.settings):
        value = getattr(found.settings, part.name)
        if part.name not in own and config.states_path(found.settings, part.name):
            raise ConfigError(
                "the claim has a path of another computer",
                path=f"{section}.{found.kind}.{part.name}",
                evidence=f"{value!r:.120}",
                try_next=(
                    f"[{section}.{found.kind}] with {part.name} = your own copy, in the"
                    " bench file or by --set; its hashes are compared"
                ),
            )
