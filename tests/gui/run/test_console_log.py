# SPDX-License-Identifier: Apache-2.0
"""The console's lines: cut from bytes, filtered, and never more than are kept."""

from __future__ import annotations

import itertools

from gui.run.console_log import KEPT, ConsoleLog, Filter
from rig.interfaces.console import WireLine


def said(direction: str, text: str, name: str = "text", *, ok: bool = True) -> WireLine:
    return WireLine(0.0, direction, name, text, ok)


def test_a_message_has_its_name_and_what_cannot_be_read_a_sign() -> None:
    log = ConsoleLog(lambda: 1.5)
    log.add(said("tx", "#3 count 1", "RUN"))
    log.add(said("rx", "no frame: 2 B: ff ff", "noise", ok=False))
    assert [line.shown().strip() for line in log.since(0, Filter())] == [
        "0.000 -> RUN #3 count 1",
        "0.000 <- ! noise no frame: 2 B: ff ff",
    ]


def test_the_memory_is_bounded_and_the_count_goes_on() -> None:
    clock = itertools.count()
    log = ConsoleLog(lambda: float(next(clock)))
    for number in range(3 * KEPT):
        log.add(said("tx", f"line {number}"))
    everything = log.since(0, Filter())
    assert log.count == 3 * KEPT
    assert len(everything) == KEPT
    assert everything[-1].text == f"line {3 * KEPT - 1}"
    assert [line.text for line in log.since(log.count - 2, Filter())] == [
        f"line {3 * KEPT - 2}",
        f"line {3 * KEPT - 1}",
    ]
    log.add(said("tx", "x" * 10_000))
    assert len(log.since(log.count - 1, Filter())[0].text) < 300


def test_a_filter_looks_at_direction_and_text_in_any_case() -> None:
    log = ConsoleLog(lambda: 0.0)
    log.add(said("tx", "name%"))
    log.add(said("rx", "m-NAME-[dut]"))
    assert [line.direction for line in log.since(0, Filter(text="Name"))] == [
        "tx",
        "rx",
    ]
    assert [line.direction for line in log.since(0, Filter("rx"))] == ["rx"]
    assert log.since(0, Filter("rx", "%")) == []
    assert log.since(0, Filter("tx"))[0].shown().strip() == "0.000 -> name%"
