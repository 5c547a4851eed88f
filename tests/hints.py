# SPDX-License-Identifier: Apache-2.0
"""Every text of the source that an error, a finding or a row of a scan has as its hint,
rendered: X stands for values that only a run knows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, product
from pathlib import Path

from tests.conftest import ROOT
from tests.sources import parsed

PRODUCT = ("rig", "drivers", "sut_backends", "scenarios", "gui")
#: Names of the parameters and fields that hold such a text.
FIELDS = {"try_next", "hint"}
UNKNOWN = "X"
#: Of a text with several alternatives within, so many.
_MOST = 64
#: Methods that leave a text as it is, or nearly so.
_SAME = {"strip", "rstrip", "removesuffix", "format", "replace", "get"}
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Hint:
    """A text, and the file and the line where it stands."""

    path: str
    line: int
    text: str


@dataclass(slots=True)
class Module:
    """Assignments, definitions and imports of a file, by name."""

    path: Path
    tree: ast.Module
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)


@cache
def module(path: Path) -> Module:
    """Return the definitions of a file."""
    result = Module(path, parsed(path))
    for node in ast.walk(result.tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _assign(result, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _assign(result, target, value)
            case ast.AugAssign(target=target, value=value):
                _assign(result, target, value)
            case ast.FunctionDef(name=name):
                result.functions[name] = node
            case ast.ImportFrom(module=str() as home, names=names):
                for item in names:
                    result.imported[item.asname or item.name] = home, item.name
    return result


def _assign(found: Module, target: ast.expr, value: ast.expr) -> None:
    match target, value:
        case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(
            values
        ):
            for each, item in zip(targets, values, strict=True):
                _assign(found, each, item)
        case (ast.Tuple(elts=targets), ast.IfExp(body=body, orelse=other)):
            _assign(found, ast.Tuple(targets), body)
            _assign(found, ast.Tuple(targets), other)
        case (ast.Name(id=name), _) | (ast.Attribute(attr=name), _):
            found.values.setdefault(name, []).append(value)


def _files() -> Iterator[Path]:
    for folder in PRODUCT:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def _places() -> dict[str, int]:
    """Return the place of such a parameter among those that are given without their
    names, by the name of the function or class.
    """
    result = {}
    for path in _files():
        for node in ast.walk(module(path).tree):
            match node:
                case ast.FunctionDef(name=name, args=ast.arguments(args=arguments)):
                    names = [
                        item.arg
                        for item in arguments
                        if item.arg not in ("self", "cls")
                    ]
                case ast.ClassDef(name=name, body=body):
                    names = [
                        item.target.id
                        for item in body
                        if isinstance(item, ast.AnnAssign)
                        and isinstance(item.target, ast.Name)
                    ]
                case _:
                    continue
            for at, item in enumerate(names):
                if item in FIELDS:
                    result[name] = at
    return result


def hints() -> list[Hint]:
    """Return all such texts."""
    result = []
    for path in _files():
        where = module(path)
        for node in ast.walk(where.tree):
            if not isinstance(node, ast.Call):
                continue
            given = [each.value for each in node.keywords if each.arg in FIELDS]
            at = _places().get(_name(node.func))
            if at is not None and at < len(node.args):
                given.append(node.args[at])
            for item in given:
                for text in dict.fromkeys(_rendered(item, where, 0)):
                    result.append(Hint(str(path.relative_to(ROOT)), item.lineno, text))
    return result


def _name(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _rendered(value: ast.expr, where: Module, depth: int) -> list[str]:
    """Return the texts that an expression may be."""
    if depth > _DEPTH:
        return [UNKNOWN]
    match value:
        case ast.Constant(value=str() as text):
            return [text]
        case ast.Constant(value=None):
            return [""]
        case ast.JoinedStr(values=parts):
            return _joined(parts, where, depth)
        case ast.FormattedValue(value=inner):
            return _rendered(inner, where, depth + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined([left, right], where, depth)
        case ast.IfExp(body=body, orelse=other):
            return _rendered(body, where, depth) + _rendered(other, where, depth)
        case ast.BoolOp(values=values):
            texts = (_rendered(value, where, depth) for value in values)
            return list(chain.from_iterable(texts))
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
            owner in where.imported
        ):
            home = _home(".".join(where.imported[owner]))
            return [UNKNOWN] if home is None else _named(name, home, depth + 1)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _named(name, where, depth)
        case ast.Subscript(value=inner):
            return _rendered(inner, where, depth)
        case ast.Dict(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            texts = (_rendered(value, where, depth) for value in values if value)
            return list(chain.from_iterable(texts))
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _SAME:
            return _rendered(inner, where, depth)
        case ast.Call(func=ast.Name(id=name)):
            return _returned(name, where, depth)
    return [UNKNOWN]


def _joined(parts: Sequence[ast.expr], where: Module, depth: int) -> list[str]:
    each = [_rendered(part, where, depth) or [UNKNOWN] for part in parts]
    combined = product(*each)
    return ["".join(texts) for _, texts in zip(range(_MOST), combined, strict=False)]


def _named(name: str, where: Module, depth: int) -> list[str]:
    """Return the value assigned to a name, here or in the file that it is imported
    from.
    """
    if name in where.values:
        values = where.values[name]
        texts = (_rendered(value, where, depth + 1) for value in values)
        return list(chain.from_iterable(texts))
    if name in where.imported and (home := _home(where.imported[name][0])):
        return _named(where.imported[name][1], home, depth + 1)
    return [UNKNOWN]


def _returned(name: str, where: Module, depth: int) -> list[str]:
    """Return the value that one of our functions returns."""
    if name not in where.functions:
        home = _home(where.imported[name][0]) if name in where.imported else None
        return [UNKNOWN] if home is None else _returned(name, home, depth + 1)
    nodes = ast.walk(where.functions[name])
    values = [
        node.value for node in nodes if isinstance(node, ast.Return) and node.value
    ]
    texts = (_rendered(value, where, depth + 1) for value in values)
    return list(chain.from_iterable(texts))


def _home(name: str) -> Module | None:
    path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
    return module(path) if path.is_file() else None
