# SPDX-License-Identifier: Apache-2.0
"""Prove the wiring: on the simulators one wire at a time is broken, and that wire's row
fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rig.bench import config
from rig.bench.diagram import diagram
from rig.bench.wiring import expected, prove_wiring
from rig.errors import Stopped
from rig.host.stop import Stop
from rig.model.wiring import WireFinding, WireName
from rig.store.events import Event, RailState
from tests.conftest import ROOT

BENCHES = ROOT / "benches"
VIRTUAL = BENCHES / "virtual-null.toml"


def proof(bench: Path, *overrides: str) -> list[WireFinding]:
    rows = list(prove_wiring(bench, overrides))
    checked = [(row.wire, row.rail) for row in rows if row.ok is not None]
    assert checked == [wire for wire in expected(bench, overrides) if wire in checked]
    assert {(row.wire, row.rail) for row in rows} == set(expected(bench, overrides))
    return rows


def broken(rows: list[WireFinding]) -> WireFinding | None:
    failed = [row for row in rows if row.ok is False]
    assert len(failed) <= 1
    return failed[0] if failed else None


def test_every_wire_of_the_virtual_bench_is_whole() -> None:
    assert all(row.ok for row in proof(VIRTUAL))


@pytest.mark.parametrize(
    ("fault", "wire", "cause"),
    [
        ("fed_v=3.1", WireName.SECOND_SUPPLY, "another cable feeds the device"),
        ("supply_wire=unfed", WireName.SUPPLY, "nothing feeds the monitor"),
        ("supply_wire=open", WireName.SUPPLY, "no supply reaches the device"),
        ("sync_high_v=1.2", WireName.LEVEL, "below what this input takes for high"),
        ("sync_wire=open", WireName.SYNC, "SYNC pin to the monitor's input is open"),
        ("sync_wire=inverted", WireName.POLARITY, "a level shifter inverts"),
        ("share=1e-9", WireName.CURRENT, "past the monitor"),
    ],
)
def test_the_row_that_fails_is_the_wire_that_is_broken(
    fault: str, wire: WireName, cause: str
) -> None:
    rows = proof(VIRTUAL, f"monitor.virtual.{fault}")
    failed = broken(rows)
    assert failed is not None
    assert failed.wire is wire
    assert cause in failed.cause
    assert failed.try_next
    behind = rows[rows.index(failed) + 1 :]
    assert all(row.ok is None and str(wire) in row.detail for row in behind)


def test_a_level_that_is_high_enough_for_the_input_is_none_too_low() -> None:
    overrides = [
        "monitor.virtual.sync_high_v=1.2",
        "monitor.virtual.sync_threshold_v=0.6",
    ]
    assert all(row.ok for row in proof(VIRTUAL, *overrides))


@pytest.mark.posix
def test_every_wire_of_the_firmware_as_a_process_is_whole(posix_null: Path) -> None:
    rows = proof(posix_null)
    assert all(row.ok for row in rows)
    assert "m-init-done" in next(row for row in rows if row.wire is WireName.TX).detail


@pytest.mark.posix
@pytest.mark.parametrize(
    ("fault", "wire", "cause"),
    [
        (
            "sut.posix.faults.wire=tx",
            WireName.TX,
            "device's Tx to the adapter's Rx is open",
        ),
        (
            "sut.posix.faults.wire=rx",
            WireName.RX,
            "adapter's Tx to the device's Rx is open",
        ),
        ("sut.posix.faults.wire=swapped", WireName.TX, "Tx and Rx are swapped"),
        (
            "sut.posix.faults.wire=ground",
            WireName.GROUND,
            "the ground of device and adapter",
        ),
        (
            "monitor.virtual.supply_wire=open",
            WireName.SUPPLY,
            "supply pin, or its ground, is open",
        ),
        (
            "monitor.virtual.sync_wire=inverted",
            WireName.POLARITY,
            "a level shifter inverts",
        ),
        ("monitor.virtual.sync_wire=open", WireName.SYNC, "SYNC pin"),
    ],
)
def test_of_the_uart_the_row_that_fails_is_the_wire_that_is_broken(
    posix_null: Path, fault: str, wire: WireName, cause: str
) -> None:
    failed = broken(proof(posix_null, "sut.posix.timeout_s=0.7", fault))
    assert failed is not None
    assert (failed.wire, cause in failed.cause) == (wire, True)


@pytest.mark.posix
@pytest.mark.parametrize(
    ("bench", "untested"),
    [
        ("posix-asc-joulescope", set()),
        (
            "posix-asc-lpm01a",
            {
                WireName.SECOND_SUPPLY,
                WireName.SUPPLY,
                WireName.LEVEL,
                WireName.POLARITY,
            },
        ),
        ("posix-asc-ppk2", {WireName.SECOND_SUPPLY, WireName.SUPPLY}),
        ("posix-asc-otii", {WireName.LEVEL, WireName.POLARITY}),
        ("posix-asc-n6705", set()),
    ],
)
def test_every_wire_is_whole_on_each_simulated_instrument_that_can_see_it(
    bench: str, untested: set[WireName]
) -> None:
    rows = proof(BENCHES / f"{bench}.toml")
    assert broken(rows) is None
    assert {row.wire for row in rows if row.ok is None} == untested


@pytest.mark.posix
@pytest.mark.parametrize(
    ("bench", "fault", "wire"),
    [
        ("joulescope", "monitor.joulescope.reference=external", WireName.LEVEL),
        ("n6705", "monitor.keysight_n6705.simulator.sync_high_v=0.2", WireName.LEVEL),
    ],
)
def test_instruments_tell_a_level_that_they_cannot_see(
    bench: str, fault: str, wire: WireName
) -> None:
    failed = broken(proof(BENCHES / f"posix-asc-{bench}.toml", fault))
    assert failed is not None
    assert failed.wire is wire


@pytest.mark.posix
def test_a_device_that_hears_is_distinguished_from_one_that_does_not(
    posix_null: Path,
) -> None:
    deaf = "sut.posix.timeout_s=0.7"
    output = broken(proof(posix_null, deaf, "sut.posix.faults.wire=tx"))
    assert output is not None
    assert "the device hears and obeys" in output.detail


@pytest.fixture
def posix_null(tmp_path: Path) -> Path:
    """A bench of the firmware as a process with the null workload."""
    text = (BENCHES / "posix-null.toml").read_text(encoding="utf-8")
    path = tmp_path / "posix-null.toml"
    path.write_text(
        text.replace("../firmware", str(ROOT / "firmware")), encoding="utf-8"
    )
    return path


def test_the_supply_is_off_behind_a_proof_that_is_stopped_or_left() -> None:
    states: list[Event] = []
    stop = Stop()
    rows = prove_wiring(VIRTUAL, (), [states.append], stop)
    assert next(rows).ok
    assert next(rows).ok
    threading.Thread(target=stop.request).start()
    with pytest.raises(Stopped):
        list(rows)
    switched = [event for event in states if isinstance(event, RailState)]
    assert [event.on for event in switched] == [True, False]
    states.clear()
    left = prove_wiring(VIRTUAL, (), [states.append])
    next(left)
    next(left)
    left.close()
    assert [event.on for event in states if isinstance(event, RailState)] == [
        True,
        False,
    ]


def test_two_rails_have_rows_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    text = VIRTUAL.read_text(encoding="utf-8")
    head, _, rest = text.partition("[monitor.virtual]")
    _, scenario, tail = rest.partition("[scenario")
    rails = (
        "[rail.core.virtual]\nshare = 0.7\n[rail.io.virtual]\nshare = 0.3\nsync_wire ="
        ' "open"\n'
    )
    path.write_text(f"{head}{rails}\n{scenario}{tail}", encoding="utf-8")
    failed = broken(proof(path))
    assert failed is not None
    assert (failed.wire, failed.rail) == (WireName.SYNC, "io")


@pytest.mark.parametrize(
    ("bench", "overrides", "lines"),
    [
        (
            "posix-asc-joulescope",
            [],
            ["Device under test SYNC to Energy monitor GPI 0"],
        ),
        (
            "posix-asc-joulescope",
            ["monitor.joulescope.gpi=7", "monitor.joulescope.reference=external"],
            [
                "Device under test SYNC to Energy monitor trigger input",
                "Device under test supply + to Energy monitor Vref",
            ],
        ),
        (
            "posix-asc-lpm01a",
            [],
            ["Device under test SYNC to Energy monitor Arduino pin D7"],
        ),
        (
            "posix-asc-ppk2",
            ["monitor.nordic_ppk2.mode=ampere", "monitor.nordic_ppk2.sync=2"],
            [
                "Supply + to Energy monitor VIN",
                "Device under test supply + to Energy monitor logic port VCC",
                "Device under test SYNC to Energy monitor logic port D2",
            ],
        ),
        (
            "posix-asc-n6705",
            [],
            [
                "Energy monitor channel 1 + to Device under test supply +",
                "Device under test SYNC to Energy monitor channel 2, auxiliary input",
            ],
        ),
        (
            "posix-asc-n6705",
            ["monitor.keysight_n6705.sync=io_manager"],
            ["Device under test SYNC to IO manager 8 (ICP1)"],
        ),
        (
            "uart-asc",
            [],
            ["Device under test Tx to Host Rx", "Host Tx to Device under test Rx"],
        ),
    ],
)
def test_the_diagram_says_which_pin_goes_where(
    bench: str, overrides: list[str], lines: list[str]
) -> None:
    drawn = diagram(config.load(BENCHES / f"{bench}.toml", overrides))
    output = "\n".join(drawn.lines())
    for line in lines:
        assert line in output
    keys = {part.key for part in drawn.parts}
    assert all(
        {w.connection.start.part, w.connection.end.part} <= keys for w in drawn.wires
    )


@pytest.mark.parametrize(
    "path", sorted(BENCHES.glob("*.toml")), ids=lambda path: path.stem
)
def test_every_example_has_a_diagram(path: Path) -> None:
    drawn = diagram(config.load(path), sync_pin="PA8")
    assert drawn.parts
    assert drawn.notes
    if any("SYNC" in line for line in drawn.lines()):
        assert "SYNC PA8" in "\n".join(drawn.lines())
