# SPDX-License-Identifier: Apache-2.0
"""The console's lines: cut from bytes, filtered, and never more than are kept."""

from __future__ import annotations

import itertools

from gui.run.console_log import KEPT, ConsoleLog, Filter
from gui.run.wire import WireLines


def lines_of(*blocks: tuple[str, bytes]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    wire = WireLines(lambda direction, text: found.append((direction, text)))
    for direction, block in blocks:
        wire(direction, block)
    wire.flush()
    return found


def test_text_is_cut_at_its_ends_however_it_comes() -> None:
    said = b"m-ready\r\nm-name-[dut]\r\n"
    whole = lines_of(("rx", said))
    single = lines_of(*[("rx", bytes([byte])) for byte in said])
    assert whole == single == [("rx", "m-ready"), ("rx", "m-name-[dut]")]
    assert lines_of(("tx", b"name%profile%")) == [("tx", "name%"), ("tx", "profile%")]


def test_both_directions_are_cut_apart() -> None:
    assert lines_of(("tx", b"na"), ("rx", b"m-re"), ("tx", b"me%"), ("rx", b"ady\r\n")) == [
        ("tx", "name%"),
        ("rx", "m-ready"),
    ]


def test_a_frame_is_shown_by_its_bytes() -> None:
    assert lines_of(("tx", b"\x03\x81\x02\x00"), ("rx", b"\x02\x90"), ("rx", b"\x01\x00")) == [
        ("tx", "frame 3 B: 03 81 02"),
        ("rx", "frame 3 B: 02 90 01"),
    ]
    [(_, long)] = lines_of(("tx", bytes(range(1, 200)) + b"\0"))
    assert long.startswith("frame 199 B: 01 02") and long.endswith("...")


def test_what_has_no_end_is_no_reason_to_wait_for_ever() -> None:
    found = lines_of(("rx", b"\xff" * 10_000))
    assert found[0][1].startswith("bytes ")


def test_the_memory_is_bounded_and_the_count_goes_on() -> None:
    clock = itertools.count()
    log = ConsoleLog(lambda: float(next(clock)))
    for number in range(3 * KEPT):
        log.add("tx", f"line {number}")
    everything = log.since(0, Filter())
    assert log.count == 3 * KEPT
    assert len(everything) == KEPT
    assert everything[-1].text == f"line {3 * KEPT - 1}"
    assert [line.text for line in log.since(log.count - 2, Filter())] == [
        f"line {3 * KEPT - 2}",
        f"line {3 * KEPT - 1}",
    ]
    log.add("tx", "x" * 10_000)
    assert len(log.since(log.count - 1, Filter())[0].text) < 300


def test_a_filter_looks_at_direction_and_text_in_any_case() -> None:
    log = ConsoleLog(lambda: 0.0)
    log.add("tx", "name%")
    log.add("rx", "m-NAME-[dut]")
    assert [line.direction for line in log.since(0, Filter(text="Name"))] == ["tx", "rx"]
    assert [line.direction for line in log.since(0, Filter("rx"))] == ["rx"]
    assert log.since(0, Filter("rx", "%")) == []
    assert log.since(0, Filter("tx"))[0].shown().strip() == "0.000 -> name%"
