# SPDX-License-Identifier: Apache-2.0
"""The first contact with instruments, recorded while a bench is probed, and played
back: the same commands get the same answers, and a change in the file changes the
result.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from drivers.joulescope.sim.played import PlayedDriver
from rig.bench.contact_file import Block, ContactWriter, read
from rig.bench.contact_player import ContactPlayer, PlayedInstrument
from rig.bench.contact_script import Script
from rig.bench.probe import probe
from rig.cli.probe import probe as rig_probe
from rig.errors import BenchError, ConfigError, DataError, RigError, StorageFull
from rig.interfaces.contact import Conversation
from rig.model.finding import Finding
from tests.sut_backends.uart.test_wiring import Board

#: Both kinds at once; a pulse that the N6705 sees, and none at a multiple of the
#: LPM01A's samples.
BENCH = """
[bench]
name = "contact"
[sut.virtual]
sync_hold_us = 800
sync_period_us = 21_300
[rail.core.keysight_n6705]
resource = "simulator"
[rail.io.st_lpm01a]
port = "simulator"
[scenario.single_stream]
[task.null]
"""
JOULESCOPES = """
[bench]
name = "contact"
[sut.virtual]
[rail.new.joulescope]
device = "simulator"
[rail.old.joulescope]
device = "simulator"
simulator = { model = "js110", serials = ["2"] }
[scenario.single_stream]
[task.null]
"""
HEAD = '{"t": 0, "contact": 1}\n'
OPENED = (
    '"kind": "a", "transport": "", "address": "", "polls": {}, "anew": "",'
    ' "versions": {}'
)
DAMAGED = (
    "mine\n",
    "",
    '{"t": 0, "contact": 2}\n',
    HEAD + "[1]\n",
    HEAD + '{"part": "a", "opened": {"kind": 3}}\n',
    f'{HEAD}{{"part": "a", "opened": {{{OPENED}, "varies": ["("]}}}}\n',
    (
        f'{HEAD}{{"part": "a", "opened": {{{OPENED}, "varies": []}}}}\n{{"part": "a",'
        ' "dir": 3}\n'
    ),
    HEAD + '{"finding": {"name": [], "ok": true, "detail": "", "try_next": ""}}\n',
)
N6705, LPM01A = "rail.core.keysight_n6705", "rail.io.st_lpm01a"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("contact") / "bench.toml"
    path.write_text(BENCH)
    return path


@pytest.fixture(scope="module")
def recorded(bench: Path) -> tuple[Path, list[Finding]]:
    path = bench.with_name("first.contact")
    return path, list(probe(bench, contact=ContactWriter(path)))


@pytest.fixture
def changed(
    recorded: tuple[Path, list[Finding]], tmp_path: Path
) -> Callable[[str, str], Path]:
    def change(old: str, new: str) -> Path:
        text = recorded[0].read_text()
        assert old in text
        path = tmp_path / "changed.contact"
        path.write_text(text.replace(old, new))
        return path

    return change


def test_a_recording_that_is_played_back_finds_the_same(
    bench: Path, recorded: tuple[Path, list[Finding]]
) -> None:
    path, rows = recorded
    assert [row.name for row in rows if row.ok] == [row.name for row in rows]
    assert sum("8 edges at the monitor" in row.detail for row in rows) == 2
    assert list(probe(bench, contact=ContactPlayer(path))) == rows
    parts, findings = read(path)
    assert (list(parts), findings) == ([N6705, LPM01A], rows)
    assert {part: output.conversation.kind for part, output in parts.items()} == {
        N6705: "keysight_n6705",
        LPM01A: "st_lpm01a",
    }


def test_of_a_real_device_there_is_what_the_instruments_saw(
    recorded: tuple[Path, list[Finding]], tmp_path: Path
) -> None:
    bench = tmp_path / "real.toml"
    bench.write_text(
        BENCH.replace("sut.virtual]", 'sut.uart]\nport = "/dev/not-here"').replace(
            "sync_hold_us = 800\nsync_period_us = 21_300\n", ""
        )
    )
    path, rows = recorded
    result = {row.name: row.detail for row in probe(bench, contact=ContactPlayer(path))}
    assert result["device"] == "not asked: its line is recorded, and not played"
    assert result["SYNC wire of core"].startswith("8 edges")
    assert result["SYNC wire of io"].startswith("8 edges")
    assert {name: detail for name, detail in result.items() if "supply" in name} == {
        row.name: row.detail for row in rows if "supply" in row.name
    }


def test_another_answer_is_another_finding(
    bench: Path, changed: Callable[[str, str], Path]
) -> None:
    rows = probe(
        bench,
        contact=ContactPlayer(changed("Technologies,N6705C,", "Technologies,N6705B,")),
    )
    assert (
        "Keysight N6705B"
        in next(row for row in rows if row.name == "monitor of core").detail
    )
    rows.close()


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (
            "N6781A,N6781A",
            "N6781A,N6731B",
            "N6731B at channel 2 cannot see the SYNC line",
        ),
        ("ack volt get 3300-03", "ack volt get 3000-03", "the supply is not the 3.3 V"),
        ("ack version: 1.0.6", "ack version: 1.0.1", "firmware 1.0.1 .* is too old"),
    ],
)
def test_an_answer_that_the_driver_refuses_is_its_error_and_not_the_players(
    bench: Path, changed: Callable[[str, str], Path], old: str, new: str, cause: str
) -> None:
    with pytest.raises(RigError, match=cause):
        list(probe(bench, contact=ContactPlayer(changed(old, new))))


def test_a_command_that_was_not_recorded_is_named_with_what_was_expected(
    bench: Path, recorded: tuple[Path, list[Finding]]
) -> None:
    other = [f"{N6705}.current_limit_a=0.1", f"{N6705}.timeout_s=0.2"]
    with pytest.raises(DataError) as caught:
        list(probe(bench, other, contact=ContactPlayer(recorded[0])))
    assert (
        f"{N6705}: the recording has no answer to 'CURR:LIM 0.1,(@1)"
        in caught.value.cause
    )
    assert "next there is 'CURR:LIM 0.2,(@1)" in caught.value.evidence


def test_an_instrument_that_was_not_recorded_is_named(
    bench: Path, recorded: tuple[Path, list[Finding]], tmp_path: Path
) -> None:
    head = cut(recorded[0], tmp_path / "head.contact", 3)
    with pytest.raises(ConfigError, match="has no instrument of") as caught:
        list(probe(bench, contact=ContactPlayer(head)))
    assert (N6705 in caught.value.cause, caught.value.evidence) == (True, "it has none")


def cut(path: Path, to: Path, lines: int) -> Path:
    """Write the beginning of a recording, with half a line at its end, as a killed
    program does."""
    text = path.read_text().split("\n")
    to.write_text("\n".join([*text[:lines], text[lines][:20]]))
    return to


def test_a_probe_that_fails_half_way_has_written_down_what_was_reported(
    bench: Path, tmp_path: Path
) -> None:
    path = tmp_path / "failed.contact"
    fault = f"{LPM01A}.simulator.faults.error_to=freq"
    with pytest.raises(BenchError, match="refuses 'freq 5k'"):
        list(probe(bench, [fault], contact=ContactWriter(path)))
    output = read(path)[0][LPM01A].blocks
    assert b"freq 5k" in b"".join(
        block.content for block in output if block.direction == "tx"
    )
    assert b"simulated refusal" in b"".join(
        block.content for block in output if block.direction == "rx"
    )
    last = json.loads(path.read_text().splitlines()[-1])
    assert "refuses 'freq 5k'" in last["end"]["cause"] and last["end"]["try_next"]
    # Played back, it fails in the same way; the simulator with that fault is not asked.
    with pytest.raises(BenchError, match="refuses 'freq 5k'"):
        list(probe(bench, contact=ContactPlayer(path)))


def test_what_passes_the_uart_of_a_device_is_written_down_too(tmp_path: Path) -> None:
    board = Board(tx=True, rx=True)
    board.power_on()
    bench, path = tmp_path / "uart.toml", tmp_path / "uart.contact"
    bench.write_text(
        f'[bench]\nname = "uart"\n[sut.uart]\nport = "{board.port}"\ntimeout_s = 0.3\n'
        "layer = 'text'\n[monitor.none]\n[scenario.single_stream]\n[task.null]\n"
    )
    rows = probe(bench, contact=ContactWriter(path))
    try:
        # The board knows its name and no more.
        with suppress(RigError):
            list(rows)
    finally:
        board.close()
    output = [
        line for line in map(json.loads, path.read_text().splitlines()) if "dir" in line
    ]
    assert {line["part"] for line in output} == {"sut.uart"}
    assert "name%" in "".join(line["text"] for line in output if line["dir"] == "tx")
    assert "m-name" in "".join(line["text"] for line in output if line["dir"] == "rx")
    assert read(path)[0] == {}


def test_no_recording_is_replaced_and_no_other_file_played(tmp_path: Path) -> None:
    path = tmp_path / "one.contact"
    path.write_text("mine\n")
    with pytest.raises(ConfigError, match="exists"):
        ContactWriter(path)
    assert path.read_text() == "mine\n"
    for text in DAMAGED:
        path.write_text(text)
        with pytest.raises(DataError, match="is no contact file"):
            ContactPlayer(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_disk_that_is_full_ends_the_probe_as_that_and_not_as_a_lost_instrument(
    tmp_path: Path,
) -> None:
    path = tmp_path / "full.contact"
    with (
        pytest.raises(StorageFull, match=r"the disk of .* is full"),
        ContactWriter(path) as writer,
    ):
        writer._file.close()
        writer._file = Path("/dev/full").open("w")  # noqa: SIM115 - closed by the writer
        heard = writer.tap("monitor.x", Conversation("x", "lines", ""))
        heard("tx", b"a\n")
    assert [json.loads(line)["contact"] for line in path.read_text().splitlines()] == [
        1
    ]


def test_the_command_line_tells_what_is_different(
    bench: Path, changed: Callable[[str, str], Path]
) -> None:
    path = changed("Technologies,N6705C,", "Technologies,N6705B,")
    path.write_text(path.read_text().replace("Keysight N6705C", "Keysight N6705A"))
    text = CliRunner().invoke(rig_probe, [str(bench), "--replay", str(path)]).output
    assert "monitor of core:  SIMULATED  Keysight N6705B" in text
    assert "recorded: PASS, Keysight N6705A" in text
    assert text.count("recorded:") == 1


# Joulescopes, whose maker's library shows calls and no bytes


def test_calls_of_a_library_are_recorded_and_played_back_too(tmp_path: Path) -> None:
    bench = tmp_path / "bench.toml"
    bench.write_text(JOULESCOPES)
    path = tmp_path / "calls.contact"
    rows = list(probe(bench, contact=ContactWriter(path)))
    assert sum("8 edges at the monitor" in row.detail for row in rows) == 2
    assert list(probe(bench, contact=ContactPlayer(path))) == rows
    path.write_text(path.read_text().replace("u/js220/000415", "u/js400/000415"))
    with pytest.raises(ConfigError, match="JS400"):
        list(probe(bench, contact=ContactPlayer(path)))


def test_a_call_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    played = PlayedInstrument(
        script(
            ("tx", '{"call": "query", "args": ["a"]}\n'),
            ("rx", '{"callback": "a/b", "of": "a", "value": 1}\n{"return": 7}\n'),
            ("tx", '{"call": "query", "args": ["b"]}\n'),
            ("rx", '{"raises": ["TimeoutError", "no b"]}\n'),
        )
    )
    driver = PlayedDriver(played.address)
    heard: list[tuple[str, object]] = []
    driver._receivers["a"] = [lambda topic, value: heard.append((topic, value))]
    try:
        assert (driver.query("a"), heard) == (7, [("a/b", 1)])
        with pytest.raises(TimeoutError, match="no b"):
            driver.query("b")
        with pytest.raises(RuntimeError, match="no answer to publish"):
            driver.publish("c", 1)
    finally:
        driver.finalize()
        played.close()
    assert played.unknown == (
        '{"call": "publish", "args": ["c", 1]}',
        "no command any more",
    )


# The script of one conversation


def script(*said: tuple[str, str], **how: object) -> Script:
    blocks = [
        Block(at / 1000, direction, content.encode(), at)
        for at, (direction, content) in enumerate(said, 1)
    ]
    return Script(Conversation("kind", "lines", "", **how), blocks)  # type: ignore[arg-type]


def told(script: Script, command: str) -> str:
    return b"".join(block for _, block in script.answer(command.encode())).decode()


def test_commands_are_answered_in_their_order_and_may_be_passed_over() -> None:
    played = script(
        ("rx", "hello\n"),
        *[("tx", "a?\nb\n"), ("rx", "1\n"), ("tx", "a"), ("tx", "?\n"), ("rx", "2\n")],
    )
    assert [block for _, block in played.greeting()] == [b"hello\n"]
    # a block of two commands: the answer belongs to the last one
    assert told(played, "b") == "1\n"
    assert told(played, "a?") == "2\n"
    assert told(played, "a?") == ""  # the first one, passed over before
    with pytest.raises(LookupError, match="no command any more"):
        played.answer(b"a?")


def test_polls_may_come_more_or_less_often_and_lose_no_data() -> None:
    output = (
        *[("tx", "begin\n"), ("tx", "more?\n"), ("rx", "#13abc\n"), ("tx", "more?\n")],
        *[("rx", "#12de\n"), ("tx", "more?\n"), ("rx", "#10\n"), ("tx", "end\n")],
        *[("tx", "more?\n"), ("rx", "#11f\n"), ("tx", "begin\n"), ("tx", "more?\n")],
        *[("rx", "#11g\n"), ("tx", "end\n")],
    )
    how = {"polls": {"more?": "#10"}, "anew": "begin"}
    often = script(*output, **how)
    told(often, "begin")
    assert [told(often, "more?") for _ in range(5)] == [
        "#13abc\n",
        "#12de\n",
        *["#10\n"] * 3,
    ]
    seldom = script(*output, **how)
    told(seldom, "begin")
    assert told(seldom, "more?") == "#13abc\n"
    told(seldom, "end")
    assert told(seldom, "more?") == "#13def\n"
    told(seldom, "begin")
    assert told(seldom, "more?") == "#11g\n"
    forgetful = script(*output, **how)
    for command in ("begin", "end", "begin"):
        told(forgetful, command)
    assert told(forgetful, "more?") == "#11g\n"


def test_what_differs_from_run_to_run_is_reported_again() -> None:
    played = script(("tx", "echo 12\n"), ("rx", "> echo 12\n"), varies=(r"echo (\S+)",))
    assert told(played, "echo 99") == "> echo 99\n"


def test_an_instrument_hangs_up_at_what_it_does_not_know() -> None:
    played = PlayedInstrument(script(("tx", "a?\n"), ("rx", "1\n"), ("tx", "b?\n")))
    host, _, port = played.address.partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=5.0) as line:
            line.sendall(b"a?\r\nc?\r\n")
            with line.makefile("rb") as heard:
                assert heard.read() == b"1\n"
    finally:
        played.close()
    assert played.unknown == ("c?", "'b?' (line 3)")
