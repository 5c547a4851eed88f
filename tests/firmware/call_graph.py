# SPDX-License-Identifier: Apache-2.0
"""Which file of firmware/core calls which other one, from the symbols of their objects.

`python tests/firmware/call_graph.py [FOLDER]` prints the files level by level, each
with those it calls; it exits with 1 where files call each other in a cycle.
"""

from __future__ import annotations

import graphlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.programs import captured

CORE = Path(__file__).parents[2] / "firmware" / "core"
#: A build has one of these parts or its substitute, so only both builds show all calls.
PARTS = ("CLASSIC", "SELF_TEST", "OPTIMIZE", "STREAM", "WORDS")
BUILDS: tuple[tuple[str, ...], ...] = (
    (),
    tuple(f"-DNR_WITH_{part}=0" for part in PARTS),
)

Graph = dict[str, set[str]]  # file -> files whose functions it calls


def read_symbols(
    core: Path, options: Iterable[str], folder: Path
) -> Iterator[tuple[str, str, str]]:
    """Compile the C files of a folder; yield a file, a symbol of it and nm's letter of
    its kind."""
    sources = sorted(core.glob("*.c"))
    compiler = os.environ.get("CC", "cc")
    # Without optimization every call remains a call.
    command = [
        compiler,
        "-std=c99",
        "-O0",
        f"-I{core}",
        *options,
        "-c",
        *map(str, sources),
    ]
    subprocess.run(command, check=True, cwd=folder)
    objects = [source.with_suffix(".o").name for source in sources]
    names = ["nm", "--format=posix", "--print-file-name", "--extern-only", *objects]
    table = captured(names, check=True, cwd=folder).stdout
    for line in table.splitlines():
        file, name, letter = line.split()[:3]
        yield file.removesuffix(".o:") + ".c", name, letter


def read_calls(core: Path) -> Graph:
    """Return who calls whom among the C files of a folder; C library and compiler do
    not count."""
    owners: dict[str, str] = {}
    wanted: Graph = {source.name: set() for source in core.glob("*.c")}
    with tempfile.TemporaryDirectory() as scratch:
        for options in BUILDS:
            for file, name, letter in read_symbols(core, options, Path(scratch)):
                if letter in "Uw":  # undefined
                    wanted[file].add(name)
                else:
                    owners[name] = file
    called = {}
    for name, symbols in wanted.items():
        called[name] = {owners[symbol] for symbol in symbols if symbol in owners}
        called[name].discard(name)
    return called


def find_cycle(calls: Graph) -> list[str]:
    """Return files that call each other in a circle, the first one again at the end, or
    an empty list.
    """
    try:
        graphlib.TopologicalSorter(calls).prepare()
    except graphlib.CycleError as error:
        callers: list[str] = error.args[1]
        return callers[::-1]  # graphlib lists the called file first
    return []


def levels(calls: Graph) -> Iterator[list[str]]:
    """Yield the files without a cycle level by level, those without calls first."""
    order = graphlib.TopologicalSorter(calls)
    order.prepare()
    while order.is_active():
        ready = sorted(order.get_ready())
        yield ready
        order.done(*ready)


def main() -> int:
    """Print the levels, or a cycle."""
    calls = read_calls(Path(sys.argv[1]) if len(sys.argv) > 1 else CORE)
    cycle = find_cycle(calls)
    if cycle:
        sys.stderr.write(
            f"files that call each other in a cycle: {' > '.join(cycle)}\n"
        )
        return 1
    for level, names in enumerate(levels(calls)):
        for name in names:
            sys.stdout.write(f"{level}  {name}: {' '.join(sorted(calls[name]))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
