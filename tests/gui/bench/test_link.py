# SPDX-License-Identifier: Apache-2.0
"""The bench screen's parts without Qt: cards, layout of the diagram, changes of a text."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from gui.bench import rows_view
from gui.bench.cards import Cards
from gui.bench.document import change_between, is_example, read_text
from gui.bench.link import Deed, outcome
from rig.bench import config
from rig.bench.diagram import diagram
from rig.bench.diagrams.layout import lay_out
from rig.errors import BenchError
from rig.model.finding import Finding
from rig.model.wiring import WireFinding, WireName
from rig.store.events import Opening, RailState
from tests.conftest import ROOT

BENCHES = sorted((ROOT / "benches").glob("*.toml"))


@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.stem)
def test_boxes_do_not_lie_on_each_other_and_wires_end_at_pins(path: Path) -> None:
    layout = lay_out(diagram(config.load(path)), lambda text: 7.0 * len(text), 900.0)
    for item, other in combinations(layout.boxes, 2):
        apart = (
            item.x + item.width <= other.x
            or other.x + other.width <= item.x
            or item.y + item.height <= other.y
            or other.y + other.height <= item.y
        )
        assert apart
    spots = {(pin.x, pin.y) for pin in layout.pins}
    for route in layout.routes:
        assert {route.points[0], route.points[-1]} <= spots
        assert all(
            0 <= x <= layout.width and 0 <= y <= layout.height for x, y in route.points
        )
    # Two wires between the same columns share no lane.
    lanes = [(route.points[0][0], route.points[1][0]) for route in layout.routes]
    assert len(lanes) == len(set(lanes))


def test_a_narrow_window_gets_a_picture_that_is_wider_than_it() -> None:
    drawn = diagram(config.load(ROOT / "benches" / "posix-asc-joulescope.toml"))
    assert lay_out(drawn, lambda text: 7.0 * len(text), 100.0).width > 400.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("", "a"),
        ("a", ""),
        ("aa", "aaa"),
        ("one two", "one three two"),
        ("xyx", "x"),
    ],
)
def test_a_change_turns_one_text_into_the_other(before: str, after: str) -> None:
    change = change_between(before, after)
    made = before[: change.start] + change.put + before[change.start + change.taken :]
    assert made == after
    if before == after:
        assert (change.taken, change.put) == (0, "")


def test_cards_follow_the_events_of_the_bench() -> None:
    cards = Cards.of(config.load(ROOT / "benches" / "virtual-asc.toml"))
    assert list(cards.by_key) == ["dut", "sync", "monitor:"]
    assert all(card.simulated for key, card in cards.by_key.items() if key != "sync")
    cards.take(Opening("sut", "virtual"))
    cards.take(RailState("", True))
    assert cards.by_key["monitor:"].supply == "on"
    assert cards.by_key["dut"].state == "opening ..."
    cards.take(WireFinding(WireName.LEVEL, True, "high"))
    cards.take(WireFinding(WireName.SYNC, False, "0 at the monitor"))
    cards.take(WireFinding(WireName.POLARITY, None, "not tested"))
    assert cards.by_key["sync"].state == "failed"
    cards.take(RailState("", False))
    cards.over(failed=True)
    assert cards.by_key["monitor:"].supply == "off"
    assert cards.by_key["dut"].state == "failed"
    assert "simulated" in cards.by_key["dut"].spoken


def test_what_came_of_it_is_reported() -> None:
    assert "all is well" in outcome(Deed.PROVE, None, failed=False, stopped=False)
    assert "fails" in outcome(Deed.PROVE, None, failed=True, stopped=False)
    assert outcome(Deed.PROBE, None, failed=False, stopped=True).startswith("Stopped")
    assert "could not go on" in outcome(
        Deed.CONNECT, BenchError("x"), failed=False, stopped=False
    )
    for deed in (Deed.CONNECT, Deed.POWER, Deed.PROBE, Deed.PROVE):
        assert "the supply is off" in outcome(deed, None, failed=False, stopped=True)


def test_files_that_came_with_the_rig_are_known(tmp_path: Path) -> None:
    assert is_example(ROOT / "benches" / "virtual-asc.toml")
    assert is_example(ROOT / "rig" / "files" / "demo.toml")
    assert not is_example(tmp_path / "virtual-asc.toml")


def test_a_text_that_is_no_bench_has_a_problem_and_no_picture(tmp_path: Path) -> None:
    reading = read_text("[bench]\nname = 3\n", tmp_path)
    assert reading.problem is not None
    assert reading.picture is None
    assert reading.form.sections


def test_a_finding_that_could_not_be_decided_is_not_tested() -> None:
    result = Finding("timer rate", True, "not decided", tested=False)
    assert rows_view.of_finding(result).sign == "– not tested"
    assert rows_view.of_finding(Finding("port", True, "opens")).sign == "✓ ok"
