# SPDX-License-Identifier: Apache-2.0
"""What can be called, and how: a stand-in compared with the library that it stands for.

A stand-in that accepts a call which the library refuses proves no property of the
program that makes the call. `described` looks at objects by introspection alone, and
`looser` lists calls that a stand-in accepts and the library does not. The library may
be in another interpreter: `described_by` has that one run this file. It needs the
standard library only.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_POSITIONAL = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")
_NAMED = ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")
_MARK = "described: "
_LIMIT_S = 180.0


def described(thing: Any) -> dict[str, Any]:
    """Return the parameters of an object that can be called (name, kind, whether there
    is a default), None where it cannot be or does not tell, and the names of its public
    attributes.
    """
    parameters = None
    with contextlib.suppress(TypeError, ValueError):
        parameters = [
            [item.name, item.kind.name, item.default is not inspect.Parameter.empty]
            for item in _stated(thing)
        ]
    return {
        "parameters": parameters,
        "attributes": [name for name in dir(thing) if not name.startswith("_")],
    }


def _stated(thing: Any) -> list[inspect.Parameter]:
    if inspect.isclass(thing) and type(thing).__call__ is not type.__call__:
        # Arguments of a metaclass are passed on to the class.
        return list(inspect.signature(thing.__init__).parameters.values())[1:]
    return list(inspect.signature(thing).parameters.values())


def found(expressions: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return what objects are described as: each a module, and an expression in its
    names."""
    reported = {}
    for name, (module, expression) in expressions.items():
        try:
            space = vars(importlib.import_module(module))
            reported[name] = described(eval(expression, dict(space)))
        except Exception as error:
            reported[name] = {"missing": f"{type(error).__name__}: {error}"}
    return reported


def described_by(
    interpreter: str | Path, expressions: Mapping[str, Sequence[str]], home: Path
) -> dict[str, Any]:
    """Return the same, of the libraries of another interpreter, which gets a home
    folder."""
    done = subprocess.run(
        [interpreter, "-W", "ignore", __file__, json.dumps(expressions)],
        cwd=home,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": "", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    assert lines, done.stderr[-2000:]
    reported: dict[str, Any] = json.loads(lines[-1].removeprefix(_MARK))
    return reported


def looser(
    stand_in: Any, library: Mapping[str, Any], named: Sequence[str] = ()
) -> list[str]:
    """Return a sentence for each call that a stand-in accepts and the library refuses.
    `named`: names that the library takes as keywords beside those of its signature.
    """
    if "missing" in library:
        return [f"it is not there: {library['missing']}"]
    if library["parameters"] is None:
        return ["the library does not tell its parameters"]
    own = described(stand_in)["parameters"]
    if own is None:
        return ["the stand-in does not tell its parameters"]
    return list(_looser(_split(own), _split(library["parameters"]), named))


def lacking(
    stand_in: Any, library: Mapping[str, Any], used: Sequence[str]
) -> list[str]:
    """Return which of the attributes that a program uses the stand-in or the library
    lacks."""
    sides = {"the stand-in": described(stand_in), "the library": library}
    missing = []
    for side, stated in sides.items():
        names = stated.get("attributes", ())
        missing += [f"{side} has no {name}" for name in used if name not in names]
    return missing


def c_functions(source: str, prefix: str) -> dict[str, list[str]]:
    """Return the types of the parameters of each function that C source defines under a
    name with this prefix; a pointer's end in an asterisk."""
    head = re.compile(rf"^[a-z][\w *]*?\b({prefix}\w+)\(([^)]*)\)\s*\{{", re.M | re.I)
    functions = {}
    for name, parameters in head.findall(source):
        stated = [part.strip() for part in parameters.split(",")]
        functions[name] = [_c_type(part) for part in stated if part != "void"]
    return functions


def _c_type(parameter: str) -> str:
    """Return the type of `const char *name` without the name: `char*`."""
    words = parameter.replace("const ", "").rpartition("*")
    if words[1]:
        return f"{words[0].strip()}*"
    return parameter.rpartition(" ")[0]


def _split(parameters: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return {
        "positions": [name for name, kind, _ in parameters if kind in _POSITIONAL],
        "only_positions": [name for name, kind, _ in parameters if kind == "POSITIONAL_ONLY"],
        "names": [name for name, kind, _ in parameters if kind in _NAMED],
        "required": [
            name for name, kind, default in parameters if kind in (*_POSITIONAL, *_NAMED)
            and not default
        ],
        "any positions": any(kind == "VAR_POSITIONAL" for _, kind, _ in parameters),
        "any names": any(kind == "VAR_KEYWORD" for _, kind, _ in parameters),
    }  # fmt: skip


def _looser(own: dict[str, Any], library: dict[str, Any], named: Sequence[str]) -> Any:
    for kind in ("any positions", "any names"):
        if own[kind] and not library[kind]:
            yield f"it takes {kind}"
    for number, name in enumerate(own["positions"]):
        there = library["positions"][number : number + 1]
        if not there and not (library["any positions"] and not named):
            yield f"it takes {name} as argument {number + 1} without a name"
        elif there and there[0] != name and name not in own["only_positions"]:
            yield f"its argument {number + 1} is {name}, the library's is {there[0]}"
    for name in own["names"]:
        if (
            name not in library["names"]
            and name not in named
            and (named or not library["any names"])
        ):
            yield f"it takes {name} by name"
    for name in library["required"]:
        if name not in own["required"] and not _has_place(name, own, library):
            yield f"it does without {name}"


def _has_place(name: str, own: dict[str, Any], library: dict[str, Any]) -> bool:
    """Return whether an argument that the library requires is one without a name in the
    stand-in, which requires it too.
    """
    position = (
        library["positions"].index(name) if name in library["positions"] else len(own)
    )
    return bool(
        set(own["only_positions"][position : position + 1]) & set(own["required"])
    )


def main() -> None:
    """Print the descriptions of the expressions of the command line."""
    noise = io.StringIO()
    with contextlib.redirect_stdout(noise):
        reported = found(json.loads(sys.argv[1]))
    print(_MARK + json.dumps(reported))


if __name__ == "__main__":
    main()
