# SPDX-License-Identifier: Apache-2.0
"""The page of a board's wiring in Markdown, with a picture of each monitor: WIRING.md
of a project, and docs/how-to/WIRING.md, which

python -m rig.bench.diagrams.page docs

writes with its pictures.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rig.bench import config
from rig.bench.diagram import Diagram, diagram
from rig.bench.diagrams.svg import picture
from rig.firmware import monitors, project
from rig.firmware.monitors import MONITORS
from rig.firmware.project import Board
from rig.firmware.wiring import NOT_KNOWN, BoardFact, BoardWiring

PAGE = "WIRING.md"
_WIDTH = 100
_RAISED = {"timer": "a timer", "interrupt": "an interrupt"}
#: In the documentation every board is drawn with one monitor, and one with all.
_DRAWN_MONITOR, _DRAWN_BOARD = "ppk2", "pico"
_APART, _FEEDS, _NOTES = "Jumpers, bridges", "Other sources that may feed it", "Notes"
_SHORT = {_APART: "jumpers", _FEEDS: "also feeds", _NOTES: "note"}
_ALWAYS = (
    "Only one supply may feed the device: the monitor's, or the one that goes through"
    " it. The rig switches it off between sessions, and `rig probe` asks the device"
    " while it is off: an answer means that something else feeds it.",
    "The Tx of a USB-UART adapter rests high, and feeds a device without supply through"
    " its pin. 1 kOhm in series with both lines of the UART keeps that below 3 mA; a"
    " level shifter whose device side is fed from the device's own supply stops it.",
    "Adapter, monitor and device speak the same levels. A level shifter in SYNC must"
    " not invert, and its device side is fed from a supply that is not measured, or its"
    " current is in the number.",
    "Every ground that is drawn is a wire of its own, and short.",
)
_HEAD = """\
<!-- SPDX-License-Identifier: Apache-2.0 -->
# Wiring of boards and monitors

`rig firmware new DIR --board NAME` writes `WIRING.md` with a picture for each of the monitors
below, and a bench file for each; `--monitor NAME` picks one. `rig firmware boards NAME` prints the
same as text, and the window draws it (*Bench*, *Connect*) for a bench file with `pins_of = "NAME"`
in `[sut.uart]`. **None of these boards was measured with these monitors by the authors.** A
statement names the document that it was read in; one without is marked as not verified: look into
the board's manual before you cut or solder. This page is generated from the boards' `port.toml`:
`python -m rig.bench.diagrams.page docs`.

Wires: red supply, black ground, green SYNC, orange the voltage of the device's logic, blue Tx of
the device, yellow its Rx. Wires that cross without a dot are not connected.
"""  # noqa: E501


def drawn(name: str, board: Board, wiring: BoardWiring, monitor: str) -> Diagram:
    """Return the diagram of a board's bench with a monitor."""
    text = monitors.bench(name, board, wiring.supply_v, monitor)
    return diagram(config.parsed(text, Path()))


def write(folder: Path, name: str, names: Sequence[str]) -> list[Path]:
    """Write bench files, pictures and the page of a board and monitors into a folder;
    return the bench files. None of a board that no monitor is wired to. Raises
    BenchError where they cannot be written.
    """
    board = project.boards(project.sources()).get(name)
    if board is None or board.wiring is None:
        return []
    made = {PAGE: project_page(name, board, board.wiring, names)}
    benches = []
    for monitor in names:
        image = picture(drawn(name, board, board.wiring, monitor))
        made[f"wiring-{monitor}.svg"] = image
        bench = f"{monitors.bench_name(name, monitor)}.toml"
        text = monitors.bench(name, board, board.wiring.supply_v, monitor)
        made[bench] = text
        benches.append(folder / bench)
    with project.refused(folder):
        for file, text in made.items():
            (folder / file).write_text(text, encoding="utf-8")
    return benches


def project_page(
    name: str, board: Board, wiring: BoardWiring, names: Sequence[str]
) -> str:
    """Return the page of one board with monitors."""
    parts = [f"# Wiring of {board.title}\n", *_about(board, wiring)]
    for monitor in names:
        title = MONITORS[monitor].title
        bench = f"{monitors.bench_name(name, monitor)}.toml"
        parts += [f"## {title}: `{bench}`\n", *_pictured(f"wiring-{monitor}.svg")]
        parts += [_table(drawn(name, board, wiring, monitor))]
        parts += [_listed(MONITORS[monitor].limits)]
    parts += ["## Before energy is measured\n", _listed(_ALWAYS), *_facts(wiring)]
    parts += ["## The first probe\n", _listed(_probe(name))]
    return "\n".join(parts)


def documents() -> Mapping[str, str]:
    """Return the page of the documentation and its pictures, by their paths below the
    folder docs.
    """
    made: dict[str, str] = {}
    parts = [_HEAD, "## Always\n", _listed(_ALWAYS), "## Boards\n"]
    wired = {}
    for name, board in project.boards(project.sources()).items():
        if board.wiring is not None:
            wired[name] = (board, board.wiring)
    for name, (board, wiring) in wired.items():
        path = f"images/wiring-{name}.svg"
        made[path] = picture(drawn(name, board, wiring, _DRAWN_MONITOR))
        parts += [f"### {board.title}: `{name}`\n", *_about(board, wiring)]
        parts += [*_pictured(f"../{path}"), *_facts(wiring)]
    board, wiring = wired[_DRAWN_BOARD]
    parts += ["## Monitors\n", f"Each with {board.title}.\n"]
    for monitor, lines in MONITORS.items():
        path = f"images/wiring-{_DRAWN_BOARD}.svg"
        if monitor != _DRAWN_MONITOR:
            path = f"images/wiring-{_DRAWN_BOARD}-{monitor}.svg"
            made[path] = picture(drawn(_DRAWN_BOARD, board, wiring, monitor))
        parts += [f"### {lines.title}: `--monitor {monitor}`\n"]
        parts += [*_pictured(f"../{path}"), _listed(lines.limits)]
    parts += ["## The first probe\n", _listed(_probe(_DRAWN_BOARD))]
    return made | {f"how-to/{PAGE}": "\n".join(parts)}


def facts_as_text(wiring: BoardWiring) -> Iterator[tuple[str, str]]:
    """Yield the facts of a board's wiring, each with a word before it."""
    yield "supply", _said(wiring.supply)
    for subject, facts in _subjects(wiring):
        for fact in facts:
            yield _SHORT[subject], _said(fact)


def _about(board: Board, wiring: BoardWiring) -> Iterator[str]:
    raised = _RAISED.get(board.raised_by, board.raised_by)
    rows = [
        f"SYNC: {board.sync}, raised by {raised}. UART: Tx {board.tx}, Rx {board.rx},"
        f" by {board.adapter}.",
        f"Supply: {_said(wiring.supply)}; {wiring.supply_v:g} V in the bench files."
        f" Ground: {wiring.ground}.",
    ]
    yield _wrapped(f"{board.core}. {' '.join(rows)}") + "\n"


def _pictured(path: str) -> Iterator[str]:
    yield f"![The wires, as the table and the text beside it name them]({path})\n"


def _table(made: Diagram) -> str:
    titles = {part.key: part.title for part in made.parts}
    rows = ["| from | to | |", "|---|---|---|"]
    for wire in made.wires:
        start, end = wire.connection.start, wire.connection.end
        ends = [f"{titles[pin.part]}: {pin.name}" for pin in (start, end)]
        rows.append(f"| {ends[0]} | {ends[1]} | {wire.connection.note} |")
    return "\n".join(rows) + "\n"


def _subjects(wiring: BoardWiring) -> list[tuple[str, tuple[BoardFact, ...]]]:
    return [
        (_APART, wiring.apart or (BoardFact(""),)),
        (_FEEDS, wiring.feeds),
        (_NOTES, wiring.notes),
    ]


def _facts(wiring: BoardWiring) -> Iterator[str]:
    for subject, facts in _subjects(wiring):
        if facts:
            yield f"{subject}:\n"
            yield _listed([_said(fact) for fact in facts])


def _said(fact: BoardFact) -> str:
    if not fact.text:
        return NOT_KNOWN
    return f"{fact.text} ({fact.source or 'not verified'})"


def _probe(name: str) -> Iterator[str]:
    """Yield the rows of a first probe."""
    header = project.sources() / "boards" / name / "nr_board_numbers.h"
    text = header.read_text(encoding="utf-8")
    device = re.findall(r'#define NR_DEVICE "([^"]+)"', text)[-1]
    sync = re.findall(r'#define NR_SYNC_NAME "([^"]+)"', text)[-1]
    yield (
        "*supply off*: no current, and no voltage where the monitor measures it;"
        " *supply off, UART*: the device does not answer."
    )
    yield f"*answer*: `{device}`, the line rate, `framed`; *SYNC line*: {sync}."
    yield "*SYNC pin*: reads 1 at rest, 0 just after a mark, 1 at rest again."
    yield "*SYNC wire*: as many edges at the monitor as marks of the device, 8."
    yield (
        "*supply on*: the voltage that was set, and a current. The right current is not"
        " known here, but no current at all means that another source feeds the device."
    )


def _listed(sentences: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(_wrapped(f"- {each}", "  ") for each in sentences) + "\n"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _write_documents(folder: Path) -> None:
    for path, text in documents().items():
        (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write_documents(Path(sys.argv[1]))
