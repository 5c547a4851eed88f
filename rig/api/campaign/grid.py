# SPDX-License-Identifier: Apache-2.0
"""GRID.toml: benches, axes and repetitions -> cells, each the text of a bench.

[grid]          bench, repetitions, order, seed
[axis]          a setting of the bench = the list of its values; model = NIR files
[settings]      settings of every cell
[board]         name of a bench = the board that it runs on
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import math
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from annotated_types import Ge, Len, doc

from rig.bench import config, examples, plugins
from rig.bench.config import Config
from rig.bench.held import Held, HeldDevice, held
from rig.bench.structure import nearest, typed
from rig.errors import ConfigError, did_you_mean
from rig.session.planning import trial_seed
from rig.settings.declare import Count, Seed

#: The axes that are no settings.
BENCH = "bench"
MODEL = "model"
_SECTIONS = ("grid", "axis", "settings", "board")
#: Longest name of a bench (rig/bench/config.py).
_LONGEST = 80
_BOARD = "board"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSettings:
    """Settings of [grid]."""

    bench: Annotated[
        tuple[str, ...],
        Len(1),
        doc("Bench file, or an example's name; a list of several is an axis."),
    ]
    repetitions: Annotated[
        Count, Ge(1), doc("Sessions of each combination, with seeds of their own.")
    ] = 1
    order: Annotated[
        Literal["interleaved", "blocked"],
        doc(
            "interleaved: all combinations, then all again; blocked: the repetitions of"
            " a combination one after the other."
        ),
    ] = "interleaved"
    seed: Annotated[Seed, doc("Seed of the random order.")] = 1

    def is_file(self, bench: str) -> bool:
        """Check whether a bench is a file, and no example."""
        return bench not in self.bench


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a grid: a setting, and its values."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A grid as its file says it; `folder` is where its paths start, `benches` are the
    files by their names.
    """

    path: Path
    settings: GridSettings
    benches: Mapping[str, Path]
    axes: tuple[Axis, ...]
    common: tuple[tuple[str, Any], ...] = ()
    boards: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.resolve().parent

    @property
    def count(self) -> int:
        """The number of cells."""
        return self.settings.repetitions * math.prod(
            len(axis.values) for axis in self.axes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """One session of a grid: its name, its value on each axis, which repetition it is,
    the text of its bench, the board of a host that runs it, and what it holds
    meanwhile. `from_example`: an example's device is to run a model of the grid, so
    that firmware needs an image of it.
    """

    name: str
    bench: str
    values: Mapping[str, Any]
    repetition: int
    text: str
    trials: int
    board: str
    held: Held
    from_example: bool = False


def read(path: Path) -> Grid:
    """Read a grid; raises ConfigError with the first thing that is wrong."""
    tree = config.tree_in(
        path, "grid", "the path of a GRID.toml; rig docs CAMPAIGN has an example"
    )
    for key, table in tree.items():
        if key not in _SECTIONS:
            hint = nearest(key, list(_SECTIONS))
            raise ConfigError("no such section", path=key, try_next=hint)
        if not isinstance(table, dict):
            raise ConfigError(f"{table!r} is a value, not a table", path=key)
    named = dict(tree.get("grid", {}))
    if isinstance(named.get(BENCH), str):
        named[BENCH] = [named[BENCH]]
    settings: GridSettings = typed(GridSettings, named, "grid")
    benches = _benches(settings.bench, path.resolve().parent)
    axes = [Axis(name, values) for name, values in _axes(tree.get("axis", {}))]
    if len(benches) > 1:
        axes.insert(0, Axis(BENCH, tuple(benches)))
    boards: dict[str, str] = typed(dict[str, str], tree.get(_BOARD, {}), _BOARD)
    for name in boards:
        if name not in benches:
            hint = nearest(name, list(benches))
            raise ConfigError("no such bench", path=f"board.{name}", try_next=hint)
    return Grid(
        path=path,
        settings=settings,
        benches=benches,
        axes=tuple(axes),
        common=tuple(_leaves(tree.get("settings", {}))),
        boards=boards,
    )


def _benches(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """Return the bench files by their names; raises ConfigError for two of one name."""
    benches: dict[str, Path] = {}
    for name in names:
        is_file = name.endswith(".toml")
        path = folder / name if is_file else _example(name)
        if path.stem in benches:
            raise ConfigError(
                f"two benches have the name {path.stem}",
                path="grid.bench",
                evidence=f"{benches[path.stem]} and {path}",
                try_next="a copy of one of them under another name",
            )
        benches[path.stem] = path
    return benches


def _example(name: str) -> Path:
    try:
        return examples.example(name).path
    except ConfigError as error:
        error.moved("NAME", "grid.bench")
        raise


def _axes(table: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, values in _leaves(table):
        place = f"axis.{name}"
        if not isinstance(values, list):
            raise ConfigError(
                f"{values!r} is a value, not a list of values",
                path=place,
                try_next=f"[{values!r}], or [settings] for what all cells have",
            )
        if not values:
            raise ConfigError(
                "the axis has no values",
                path=place,
                try_next="a list of one value or more, or leave the axis out",
            )
        # Equal ones, as 1 and 1.0, are one value of a setting and of the table.
        if twice := [value for value in values if values.count(value) > 1]:
            raise ConfigError(
                f"the axis has the value {twice[0]!r} {values.count(twice[0])} times",
                path=place,
                try_next="each value once; grid.repetitions repeats a cell",
            )
        yield name, tuple(values)


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings of nested tables by their dotted names, which may be quoted
    whole."""
    for key, value in table.items():
        name = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _leaves(value, name)
        else:
            yield name, value


def cells(grid: Grid, most: int) -> list[GridCell]:
    """Return the cells, the first to run first; raises ConfigError for more than
    `most`, or where one is no bench.
    """
    if grid.count > most:
        sizes = [f"{len(axis.values)} of {axis.name}" for axis in grid.axes]
        sizes.append(f"{grid.settings.repetitions} of repetitions")
        raise ConfigError(
            f"the grid has {grid.count} cells, more than {most}",
            path="axis",
            evidence=" x ".join(sizes),
            try_next=f"fewer values, or rig campaign GRID --most {grid.count}",
        )
    bases = {name: config.load(path) for name, path in grid.benches.items()}
    heads = [axis.name for axis in grid.axes]
    combined = itertools.product(*(axis.values for axis in grid.axes))
    combinations = [dict(zip(heads, values, strict=True)) for values in combined]
    names = _names(grid, combinations)
    all_cells = []
    for place, repetition in _order(grid.settings, len(combinations)):
        values = combinations[place]
        bench = values.get(BENCH, next(iter(grid.benches)))
        base = bases[bench]
        cell = _cell(
            grid=grid,
            base=base,
            bench=bench,
            values=values,
            name=f"{names[place]}-r{repetition}",
            repetition=repetition,
        )
        all_cells.append(cell)
    return all_cells


def _order(settings: GridSettings, count: int) -> Iterator[tuple[int, int]]:
    """Yield combination and repetition of each cell in random order, fixed by the seed.

    On average no value of an axis then runs earlier than another: a drift of the room
    or of the instrument adds to the scatter, and not to the effect of an axis.
    """
    repetitions = range(1, settings.repetitions + 1)
    places = list(range(count))
    if settings.order == "blocked":
        random.Random(f"{settings.seed}").shuffle(places)
        yield from itertools.product(places, repetitions)
        return
    for repetition in repetitions:
        random.Random(f"{settings.seed}/{repetition}").shuffle(places)
        yield from ((place, repetition) for place in places)


def _names(grid: Grid, combinations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each combination: the bench's, and the values; of those that
    are too long or that others have as well, with a hash of the values.
    """
    names = []
    for values in combinations:
        bench = values.get(BENCH, next(iter(grid.benches)))
        parts = [_slug(bench)]
        for name, value in values.items():
            if name == MODEL:
                parts.append(_slug(Path(str(value)).stem))
            elif name != BENCH:
                parts.append(_slug(f"{name.rpartition('.')[2]}{_short(value)}"))
        names.append("-".join(parts))
    counts = Counter(names)
    room = _LONGEST - len(f"-r{grid.settings.repetitions}")
    for place, (name, values) in enumerate(zip(names, combinations, strict=True)):
        if counts[name] > 1 or len(name) > room:
            digest = hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()
            names[place] = f"{name[: room - 9]}-{digest[:8]}"
    return names


def _short(value: Any) -> str:
    return Path(value).stem if isinstance(value, str) and "/" in value else str(value)


def _slug(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", text).lstrip(".")


def _model(grid: Grid, name: str) -> Path:
    path = (grid.folder / name).resolve()
    if not path.is_file():
        raise ConfigError(
            f"there is no model file {path}",
            path=f"axis.{MODEL}",
            evidence=f"{name} in {grid.path}",
            try_next=f"a path from {grid.folder}, or an absolute one",
        )
    return path


def _cell(
    *,
    grid: Grid,
    base: Config,
    bench: str,
    values: Mapping[str, Any],
    name: str,
    repetition: int,
) -> GridCell:
    tree: dict[str, Any] = copy.deepcopy(tomllib.loads(base.toml()))
    for key, value in grid.common:
        _set(tree, key, value, place=f"settings.{key}", bench=bench)
    for key, value in values.items():
        if key == MODEL:
            key = f"task.{base.task.kind}.model"
            value = str(_model(grid, str(value)))
        if key != BENCH:
            _set(tree, key, value, place=f"axis.{key}", bench=bench)
    try:
        resolved = config.parsed(tomli_w.dumps(tree), grid.folder)
    except ConfigError as error:
        error.evidence = "; ".join(
            filter(None, (error.evidence, f"cell {name} of {grid.path}"))
        )
        raise
    seed = resolved.bench.seed
    if repetition > 1:
        seed = trial_seed(seed, -repetition)
    about = dataclasses.replace(resolved.bench, name=name, seed=seed)
    resolved = dataclasses.replace(resolved, bench=about)
    has = held(resolved)
    if (board := grid.boards.get(bench)) is not None:
        has = Held((*has.devices, HeldDevice(_BOARD, board)), has.alone)
    return GridCell(
        name=name,
        bench=bench,
        values=values,
        repetition=repetition,
        text=resolved.toml(),
        trials=resolved.bench.trials,
        board=grid.boards.get(bench, bench),
        held=has,
        from_example=MODEL in values and not grid.settings.is_file(bench),
    )


def _set(
    tree: dict[str, Any], name: str, value: Any, *, place: str, bench: str
) -> None:
    """Set a key of a bench; raises ConfigError for a part that the bench has not, which
    would be another bench.
    """
    keys = name.split(".")
    known = sorted(tree)
    if keys[0] not in known or len(keys) == 1:
        raise ConfigError(
            f"bench {bench} has no such setting",
            path=place,
            try_next=f"{did_you_mean(keys[0], known)}section.kind.key, as"
            " sut.uart.baud; rig run BENCH --set takes the same",
        )
    if name == "bench.name":
        raise ConfigError(
            "the grid names its cells",
            path=place,
            try_next="leave it out: a cell has its bench's name and its values",
        )
    section, depth = config.section_of(keys)
    node = tree
    for key in keys[:-1][: depth + 1] if section in plugins.GROUPS else ():
        if key not in node:
            parts = ", ".join(f"[{keys[0]}.{each}]" for each in node)
            raise ConfigError(
                f"bench {bench} has no such part",
                path=place,
                evidence=f"it has {parts}",
                try_next="a setting of that part, or a bench file for each part",
            )
        node = node[key]
    config.table_at(tree, keys[:-1], place)[keys[-1]] = value
