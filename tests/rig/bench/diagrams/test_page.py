# SPDX-License-Identifier: Apache-2.0
"""The wiring of each board and monitor: its pins are those of the firmware, its nets
are apart, its texts have room, and its bench opens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rig.bench import config
from rig.bench.diagram import Diagram, DiagramBox, diagram
from rig.bench.diagrams import page
from rig.bench.diagrams.layout import Route, lay_out
from rig.bench.diagrams.svg import picture, text_width
from rig.bench.probe import probe
from rig.errors import ConfigError
from rig.firmware import monitors, project
from rig.firmware.monitors import MONITORS
from rig.firmware.wiring import NOT_KNOWN
from rig.model.wiring import WireName
from tests.builds import built
from tests.conftest import ROOT

FIRMWARE = ROOT / "firmware"
WIRED = {
    name: (board, board.wiring)
    for name, board in project.boards(FIRMWARE).items()
    if board.wiring is not None
}
each_board = pytest.mark.parametrize("name", WIRED)
each_monitor = pytest.mark.parametrize("monitor", MONITORS)
#: Wires of one net: the voltage of the device's logic may be that of its supply.
NETS = {
    WireName.SUPPLY: "supply",
    WireName.LEVEL: "supply",
    WireName.GROUND: "ground",
    WireName.SYNC: "SYNC",
    WireName.TX: "Tx",
    WireName.RX: "Rx",
}


def drawn(name: str, monitor: str) -> Diagram:
    board, wiring = WIRED[name]
    return page.drawn(name, board, wiring, monitor)


def test_a_board_that_is_flashed_is_wired() -> None:
    flashed = [name for name, board in project.boards(FIRMWARE).items() if board.flash]
    assert list(WIRED) == flashed


def defined(header: str, name: str) -> int:
    found = re.findall(rf"#define {name} (0x[0-9A-Fa-f]+|\d+)U", header)
    return int(found[-1], 0)


def pin_names(header: str, pin: str, port: str) -> set[str]:
    """Return the names of a pin that the firmware sets, as its makers write it."""
    number = defined(header, pin)
    if port in header:
        # GPIOA is the first of them in each STM32, 0x400 apart.
        letter = "ABCDEFGH"[(defined(header, port) & 0x1FFF) // 0x400]
        return {f"P{letter}{number}"}
    return {f"GP{number}", f"GPIO{number}", f"P{number // 32}.{number % 32:02}"}


@each_board
def test_the_pins_are_those_that_the_firmware_sets(name: str) -> None:
    header = (FIRMWARE / "boards" / name / "nr_board_numbers.h").read_text("utf-8")
    board, _ = WIRED[name]
    made = drawn(name, "ppk2")
    pins = {}
    for wire in made.wires:
        for pin in (wire.connection.start, wire.connection.end):
            if pin.part == "dut":
                pins[wire.connection.name] = pin.name
    for signal, number, port in (
        (WireName.TX, "NR_PIN_TX", "NR_UART_PORT"),
        (WireName.RX, "NR_PIN_RX", "NR_UART_PORT"),
        (WireName.SYNC, "NR_PIN_SYNC", "NR_SYNC_PORT"),
    ):
        words = set(re.findall(r"[\w.]+", pins[signal]))
        assert words & pin_names(header, number, port), (signal, pins[signal])
    assert board.title in [part.subtitle for part in made.parts]


@each_board
@each_monitor
def test_no_two_nets_share_a_terminal(name: str, monitor: str) -> None:
    nets: dict[tuple[str, str], set[str]] = {}
    for wire in drawn(name, monitor).wires:
        for pin in (wire.connection.start, wire.connection.end):
            place = re.sub(r"^(Tx|Rx|SYNC|ground|supply \+|logic \+) ", "", pin.name)
            place = place if pin.part == "dut" else pin.name
            net = NETS[wire.connection.name]
            nets.setdefault((pin.part, place), set()).add(net)
    assert {place: net for place, net in nets.items() if len(net) > 1} == {}
    ends = {place for part, place in nets if part == "dut"}
    assert len(ends) >= 5  # Tx, Rx, SYNC, supply, ground


def lines(routes: tuple[Route, ...]) -> Iterator[tuple[float, float, float, Route]]:
    """Yield the level lines of wires: height, from, to."""
    for route in routes:
        start, first, second, end = route.points
        if start[1] == end[1]:
            yield start[1], start[0], end[0], route
        else:
            yield start[1], start[0], first[0], route
            yield end[1], second[0], end[0], route


@each_board
@each_monitor
def test_wires_of_two_nets_do_not_lie_on_one_line(name: str, monitor: str) -> None:
    layout = lay_out(drawn(name, monitor), text_width, 0.0)
    for one, other in combinations(lines(layout.routes), 2):
        shared = min(one[2], other[2]) - max(one[1], other[1])
        if one[0] == other[0] and shared > 0:
            nets = {NETS[each[3].wire.connection.name] for each in (one, other)}
            assert len(nets) == 1


@each_board
@each_monitor
def test_texts_have_room_in_their_boxes(name: str, monitor: str) -> None:
    layout = lay_out(drawn(name, monitor), text_width, 0.0)
    for box in layout.boxes:
        left = [pin for pin in layout.pins if pin.x == box.x]
        right = [pin for pin in layout.pins if pin.x == box.x + box.width]
        for one in left:
            for other in right:
                if one.y == other.y and box.y < one.y < box.y + box.height:
                    both = text_width(one.name) + text_width(other.name)
                    assert both + 20 < box.width
        assert text_width(box.part.subtitle) < box.width


@each_board
@each_monitor
def test_the_picture_is_an_svg_with_each_pin(name: str, monitor: str) -> None:
    made = drawn(name, monitor)
    root = ElementTree.fromstring(picture(made))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for wire in made.wires:
        assert wire.connection.start.name in texts
        assert wire.connection.end.name in texts


def test_names_of_others_are_no_markup() -> None:
    box = DiagramBox("dut", '<script>"&', "<b>")
    root = ElementTree.fromstring(picture(Diagram((box,), (), ())))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ['<script>"&', "<b>"]


@each_board
@each_monitor
def test_the_bench_of_a_monitor_opens_on_its_simulator(
    name: str, monitor: str, tmp_path: Path
) -> None:
    """The firmware as a process stands in the board's place."""
    board, wiring = WIRED[name]
    text = monitors.bench(name, board, wiring.supply_v, monitor)
    assert config.parsed(text, tmp_path).bench.name == f"{name}-{monitor}"
    if name != "pico":
        return
    for line in (f'port = "{board.port}"\n', 'pins_of = "pico"\n', "baud = 115_200\n"):
        assert line in text
        text = text.replace(line, "")
    program = f'[sut.posix]\nprogram = "{built("posix") / "posix" / "asc"}"\n'
    path = tmp_path / "bench.toml"
    path.write_text(text.replace("[sut.uart]\n", program), encoding="utf-8")
    # What of an instrument the simulator stands for.
    device = f"monitor.{MONITORS[monitor].kind}"
    settings = [f"{device}.{MONITORS[monitor].address}=simulator"]
    if monitor == "js320":
        settings.append(f"{device}.simulator.model=js320")
    rows = list(probe(path, settings))
    assert [row.name for row in rows if row.ok is False] == []
    assert "SYNC wire" in [row.name for row in rows if row.ok]


def test_a_board_that_there_is_not_is_named() -> None:
    board, _ = WIRED["pico"]
    text = monitors.bench("pico", board, 3.3, "ppk2").replace('"pico"', '"picos"')
    with pytest.raises(ConfigError, match="there is no board picos") as caught:
        diagram(config.parsed(text, Path()))
    assert "did you mean pico?" in str(caught.value.try_next)


def test_a_pin_that_is_not_known_says_so() -> None:
    made = drawn("stm32f405", "lpm01a")
    assert any(NOT_KNOWN in line for line in made.lines())
    board, wiring = WIRED["stm32f405"]
    text = page.project_page("stm32f405", board, wiring, ("lpm01a",))
    assert f"Supply: {NOT_KNOWN}" in text


def test_a_statement_without_a_source_is_marked() -> None:
    board, wiring = WIRED["nrf52840dk"]
    text = " ".join(page.project_page("nrf52840dk", board, wiring, ()).split())
    for fact in (*wiring.apart, *wiring.feeds, *wiring.notes):
        assert f"{fact.text} ({fact.source or 'not verified'})" in text


def test_the_page_of_the_documentation_is_up_to_date() -> None:
    again = "python -m rig.bench.diagrams.page docs"
    made = page.documents()
    for path, text in made.items():
        assert (ROOT / "docs" / path).read_text(encoding="utf-8") == text, again
    pictures = (ROOT / "docs" / "images").glob("wiring-*.svg")
    assert {f"images/{path.name}" for path in pictures} == set(made) - {
        "how-to/WIRING.md"
    }
