# SPDX-License-Identifier: Apache-2.0
"""Which file of firmware/core calls which other one, from the symbols of their objects.

`python tests/firmware/call_graph.py [FOLDER]` prints the files level by level, each with those it
calls; it exits with 1 where files call each other in a cycle.
"""

from __future__ import annotations

import graphlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

CORE = Path(__file__).parents[2] / "firmware" / "core"
#: A build has one of these parts or its substitute, so only both builds show all calls.
PARTS = ("CLASSIC", "SELF_TEST", "OPTIMIZE", "STREAM", "WORDS")
BUILDS: tuple[tuple[str, ...], ...] = ((), tuple(f"-DNR_WITH_{part}=0" for part in PARTS))

Graph = dict[str, set[str]]  # file -> files whose functions it calls


def read_symbols(source: Path, options: Iterable[str], folder: Path) -> tuple[set[str], set[str]]:
    """Return the symbols that `source` defines for others, and those it wants of others."""
    target = folder / "object.o"
    compiler = os.environ.get("CC", "cc")
    # Without optimization every call remains a call.
    command = [compiler, "-std=c99", "-O0", f"-I{source.parent}", *options, "-c"]
    subprocess.run([*command, "-o", str(target), str(source)], check=True)
    names = ["nm", "--format=posix", "--extern-only", str(target)]
    table = subprocess.run(names, check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[:2] for line in table.splitlines()]
    defined = {name for name, letter in symbols if letter not in "Uw"}
    return defined, {name for name, letter in symbols} - defined


def read_calls(core: Path) -> Graph:
    """Return who calls whom among the C files of a folder; C library and compiler do not count."""
    owners: dict[str, str] = {}
    wanted: Graph = {}
    with tempfile.TemporaryDirectory() as scratch:
        for source in sorted(core.glob("*.c")):
            wanted[source.name] = set()
            for options in BUILDS:
                defined, undefined = read_symbols(source, options, Path(scratch))
                owners.update(dict.fromkeys(defined, source.name))
                wanted[source.name] |= undefined
    return {
        name: {owners[symbol] for symbol in symbols if symbol in owners} - {name}
        for name, symbols in wanted.items()
    }


def find_cycle(calls: Graph) -> list[str]:
    """Return files that call each other in a circle, the first one again at the end, or nothing."""
    try:
        graphlib.TopologicalSorter(calls).prepare()
    except graphlib.CycleError as error:
        callers: list[str] = error.args[1]
        return callers[::-1]  # graphlib lists the called file first
    return []


def levels(calls: Graph) -> Iterator[list[str]]:
    """Yield the files without a cycle level by level, those that call nobody first."""
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
        sys.stderr.write(f"files that call each other in a cycle: {' > '.join(cycle)}\n")
        return 1
    for level, names in enumerate(levels(calls)):
        for name in names:
            sys.stdout.write(f"{level}  {name}: {' '.join(sorted(calls[name]))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
