# SPDX-License-Identifier: Apache-2.0
"""Print the memory of the core on a Cortex-M: flash by part, RAM by part, stack by the
worst chain of calls; `make size`.

Flash is code and constants of the objects, and of images linked with libgcc, with all
parts, without one, or without all optional ones (core/nr_shim.h); port, workload and C
library are excluded. The stack comes from gcc's account of each function and its calls;
it excludes functions called through pointers (port and workload), the C library, libgcc
and interrupts. Recursion and frames of unknown size are errors.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORE = Path(__file__).parent / "core"
SOURCES = sorted(CORE.glob("*.c"))
CPUS = ("cortex-m0plus", "cortex-m4")
#: Debian's compiler has no C library, and thus no <string.h>.
HEADERS = CORE.parent / "ports" / "cortex_m" / "include"
FLAGS = (
    "-std=c99",
    "-mthumb",
    "-Os",
    "-ffreestanding",
    "-ffunction-sections",
    "-fdata-sections",
    f"-I{CORE}",
    f"-I{HEADERS}",
)
PARTS = {
    "frames and framed layer": (
        "frame",
        "framed_layer",
        "requests",
        "input",
        "answers",
        "checks",
        "capabilities",
        "guard",
        "window",
        "marks",
        "layers",
        "shim",
        "time",
        "division",
    ),
    "text layer without its commands": ("text_layer", "text_line"),
    "all text commands": ("text", "text_classic"),
    "`name` and `frame` alone": ("text_minimal",),
    "self-test": ("self_test",),
    "searches (OPTIMIZE)": ("optimize",),
    "streams (STREAM, TAKE)": ("stream",),
}
SMALL = ("WORDS", "CLASSIC", "SELF_TEST")
BUILDS = (("WORDS",), SMALL, (*SMALL, "STREAM"), (*SMALL, "STREAM", "OPTIMIZE"))
BUFFERS = {
    "received bytes (NR_BACKLOG_B)": "backlog",
    "received frame (NR_MAX_PAYLOAD_B)": "frame_rx_buffer",
    "frame to be sent": "frame_tx_buffer",
    "kept answer (NR_MAX_PAYLOAD_B)": "answer",
    "marks (NR_MARKS_MAX)": "mark_tick mark_phase",
    "text command and answer": "text_rx.line text_tx.buffer",
}
START = """
#include "nr_shim.h"
extern struct nr_shim shim;
extern const struct nr_port port;
extern const struct nr_workload workload;
extern const struct nr_memory memory;
void start(void);
void start(void) {
    nr_shim_init(&shim, &port, &workload, &memory);
    for (;;) { nr_shim_poll(&shim); }
}
"""


class Compiler:
    """One compiler for one core, with a folder for its output."""

    def __init__(self, gcc: str, cpu: str, folder: Path) -> None:
        self._gcc = gcc
        self._folder = folder
        self._command = [gcc, f"-mcpu={cpu}", *FLAGS]

    def compile(self, source: Path) -> Path:
        """Return the object; the account of its stack, NAME.ci, is beside it."""
        target = self._folder / f"{source.stem}.o"
        run(
            *self._command,
            "-fstack-usage",
            "-fcallgraph-info=su",
            "-c",
            "-o",
            target,
            source,
        )
        return target

    def link(self, core: list[Path], left_out: tuple[str, ...] = ()) -> Path:
        """Link sources or objects with libgcc and a main; symbols of port, workload and
        C library stay unresolved.
        """
        main = self._folder / "start.c"
        target = self._folder / "linked.elf"
        main.write_text(START)
        options = [
            "-nostdlib",
            "-Wl,--gc-sections,-e,start,--unresolved-symbols=ignore-all",
        ]
        run(
            *self._command,
            *(f"-DNR_WITH_{name}=0" for name in left_out),
            *options,
            "-o",
            target,
            main,
            *core,
            "-lgcc",
        )
        return target

    def sizeof(self, expressions: dict[str, str]) -> dict[str, int]:
        """Return sizes in bytes of C expressions about `struct nr_shim *s`, in the
        layout of this core.
        """
        source = self._folder / "sizes.c"
        target = self._folder / "sizes.o"
        lines = [
            f"char size_{number}[{expression}];"
            for number, expression in enumerate(expressions.values())
        ]
        source.write_text(
            '#include "nr_shim.h"\n#define s ((struct nr_shim *)0)\n'
            + "\n".join(lines)
            + "\n"
        )
        run(*self._command, "-c", "-o", target, source)
        symbols = run(self._tool("nm"), "-S", target)
        rows = re.findall(r"\w+ (\w+) \w size_(\d+)", symbols)
        sizes = {int(number): int(size, 16) for size, number in rows}
        return {name: sizes[number] for number, name in enumerate(expressions)}

    def flash_b(self, file: Path) -> int:
        """Return bytes of code, constants and initial values."""
        text, data = run(self._tool("size"), file).splitlines()[1].split()[:2]
        return int(text) + int(data)

    def _tool(self, name: str) -> str:
        return self._gcc.removesuffix("gcc") + name


def run(*command: str | Path) -> str:
    return subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True
    ).stdout


def read_calls(accounts: list[Path]) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Return the stack of each function in bytes, and the functions that it calls."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for account in accounts:
        text = account.read_text()
        for title, used_b, kind in re.findall(
            r'node: \{ title: "([^"]+)" label: "[^"]*\\n(\d+) bytes \(([^)]*)\)', text
        ):
            if kind != "static":
                sys.exit(f"the stack of {title} is not known: {kind}")
            frames[title] = int(used_b)
        for caller, called in re.findall(
            r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text
        ):
            calls.setdefault(caller, set()).add(called)
    return frames, calls


def worst_chain(
    root: str,
    frames: dict[str, int],
    calls: dict[str, set[str]],
    above: tuple[str, ...] = (),
) -> tuple[int, list[str]]:
    """Return the bytes and the functions of the chain of calls from `root` that takes
    the most stack.
    """
    if root in above:
        sys.exit(f"recursion: {' > '.join((*above, root))}")
    deepest: tuple[int, list[str]] = (0, [])
    for called in calls.get(root, ()):
        if called in frames:
            deepest = max(deepest, worst_chain(called, frames, calls, (*above, root)))
    return frames[root] + deepest[0], [root.rpartition(":")[2], *deepest[1]]


def measure(gcc: str, cpu: str) -> tuple[dict[str, int], list[str]]:
    """Return rows of the table in bytes, and the worst chain of calls."""
    with tempfile.TemporaryDirectory() as scratch:
        compiler = Compiler(gcc, cpu, Path(scratch))
        objects = {
            source.stem.removeprefix("nr_"): compiler.compile(source)
            for source in SOURCES
        }
        listed: set[str] = set()
        for names in PARTS.values():
            listed.update(names)
        missing = set(objects) ^ listed
        if missing:
            sys.exit(f"which part do these belong to: {', '.join(sorted(missing))}")
        rows: dict[str, int] = {}
        for part, names in PARTS.items():
            flash_b = [compiler.flash_b(objects[name]) for name in names]
            rows[f"flash: {part}"] = sum(flash_b)
        linked = compiler.link(list(objects.values()))
        rows["flash: linked, all parts"] = compiler.flash_b(linked)
        for left_out in BUILDS:
            linked = compiler.link(SOURCES, left_out)
            row = f"flash: linked, without {', '.join(left_out)}"
            rows[row] = compiler.flash_b(linked)
        expressions = {"all": "sizeof *s"}
        for name, fields in BUFFERS.items():
            terms = [f"sizeof s->{field}" for field in fields.split()]
            expressions[name] = " + ".join(terms)
        sizes = compiler.sizeof(expressions)
        rows["RAM: state"] = sizes["all"] - sum(sizes[name] for name in BUFFERS)
        rows |= {f"RAM: buffer, {name}": sizes[name] for name in BUFFERS}
        rows["RAM: struct nr_shim"] = sizes["all"]
        frames, calls = read_calls(sorted(Path(scratch).glob("nr_*.ci")))
        stack_b, chain = max(
            worst_chain(root, frames, calls)
            for root in ("nr_shim_init", "nr_shim_poll")
        )
        rows["stack: worst chain"] = stack_b
    return rows, chain


def boards(gcc: str, folder: Path) -> None:
    """Print what images of each board take, as Markdown; `folder` has them as
    BOARD/WORKLOAD.elf.
    """
    names = sorted(path.parent.name for path in folder.glob("*/null.elf"))
    lines = ["| board | null: flash | RAM | asc: flash | RAM |", "|---|" + "---:|" * 4]
    for name in names:
        cells: list[str] = []
        for workload in ("null", "asc"):
            row = run(
                f"{gcc.removesuffix('gcc')}size", folder / name / f"{workload}.elf"
            )
            text, data, bss = map(int, row.splitlines()[1].split()[:3])
            cells += [str(text + data), str(data + bss)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    sys.stdout.write("\n".join(lines) + "\n")


def main() -> None:
    """Print the table as Markdown, for all cores or the named ones; or, after a folder
    of images of boards, theirs.
    """
    gcc = sys.argv[1]
    if len(sys.argv) > 2 and Path(sys.argv[2]).is_dir():
        boards(gcc, Path(sys.argv[2]))
        return
    cpus = sys.argv[2:] or CPUS
    with ThreadPoolExecutor() as pool:
        measured = list(pool.map(lambda cpu: measure(gcc, cpu), cpus))
    compiler = run(gcc, "--version").splitlines()[0]
    lines = [f"{compiler}, `{' '.join(FLAGS[1:3])}`; bytes", ""]
    lines += [f"| | {' | '.join(cpus)} |", f"|---|{'---:|' * len(cpus)}"]
    for row in measured[0][0]:
        cells = [str(sizes[row]) for sizes, _ in measured]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    lines.append("")
    for cpu, (_, chain) in zip(cpus, measured, strict=True):
        lines.append(f"Worst chain on {cpu}: {' > '.join(chain)}")
    sys.stdout.write("\n".join(lines) + "\n")


main()
