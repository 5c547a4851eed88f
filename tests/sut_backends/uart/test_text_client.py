# SPDX-License-Identifier: Apache-2.0
"""The text client in conversations with a scripted DUT, in fake time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rig.errors import (
    DeadlineError,
    DeviceLost,
    LocalProtocolError,
    RemoteProtocolError,
    RigError,
    SutError,
)
from sut_backends.uart.text_client import DB_STEP_B, TextClient

Answers = Callable[[str], bytes]


class Script:
    """A line whose DUT answers each command by a function; a read without data lets the
    fake time pass.
    """

    name = "script"
    baud = 115_200

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.commands: list[str] = []
        self.now_s = 0.0
        self._out = b""

    def clock(self) -> float:
        return self.now_s

    def write(self, block: bytes) -> None:
        command = block.decode().removesuffix("%")
        self.commands.append(command)
        self._out += self._answers(command)
        self.now_s += 0.001

    def read(self, timeout_s: float) -> bytes:
        block = self._out[:7]
        self._out = self._out[7:]  # lines never come whole
        self.now_s += 0.0 if block else timeout_s
        return block

    def say(self, block: bytes) -> None:
        self._out += block

    def set_baud(self, baud: int) -> None:
        raise AssertionError("the text layer changes no line rate")

    def close(self) -> None:
        """Have no effect."""


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\r\n" for text in (*texts, "m-ready")).encode()


def client_of(answers: Answers) -> tuple[TextClient, Script]:
    script = Script(answers)
    return TextClient(script, 2.0, script.clock), script


class Loader:
    """The `db` commands of a DUT that follows the protocol."""

    def __init__(self) -> None:
        self.size = 0
        self.content = b""

    def __call__(self, command: str) -> bytes:
        word = command.removeprefix("db ")
        if word.startswith("load "):
            self.size = int(word[5:])
            self.content = b""
            return lines(f"m-[Expecting {self.size} bytes]")
        if len(word) % 2:
            return lines("e-[odd number of hex digits, load dropped]")
        self.content += bytes.fromhex(word)
        return lines("m-load-done") if len(self.content) == self.size else lines()


@pytest.mark.parametrize("size", [1, DB_STEP_B, DB_STEP_B + 1, 490])
def test_a_load_fills_commands_of_80_characters_and_stops_exactly(size: int) -> None:
    dut = Loader()
    content = bytes(number & 0xFF for number in range(size))
    client, script = client_of(dut)
    client.load(content)
    assert dut.content == content
    assert max(len(command) + 1 for command in script.commands) <= 80
    assert len(script.commands) == 1 + -(-size // DB_STEP_B)
    assert DB_STEP_B == 38


def test_a_lost_hex_digit_is_named() -> None:
    dut = Loader()
    client, _ = client_of(
        lambda command: dut(command[:-1] if command == "db 0102" else command)
    )
    with pytest.raises(SutError, match="db 0102") as caught:
        client.load(b"\x01\x02")
    assert "odd number" in caught.value.evidence


def test_two_lost_hex_digits_are_named_because_no_load_done_comes() -> None:
    dut = Loader()
    client, _ = client_of(
        lambda command: dut(command[:-2] if command == "db 0102" else command)
    )
    with pytest.raises(RemoteProtocolError, match="no m-load-done"):
        client.load(b"\x01\x02")


def test_a_size_that_changed_on_the_way_is_named() -> None:
    dut = Loader()
    client, _ = client_of(lambda command: dut(command.replace("load 40", "load 4")))
    with pytest.raises(RemoteProtocolError, match="does not expect 40"):
        client.load(bytes(40))


def test_a_missing_ready_is_a_deadline_error_with_what_came() -> None:
    client, _ = client_of(lambda command: b"m-lap-us-5\r\nm-rady\r\n")
    with pytest.raises(DeadlineError, match="m-ready after `timestamp`") as caught:
        client.timestamp()
    assert "m-rady" in caught.value.evidence


def test_boot_text_means_the_dut_restarted() -> None:
    client, script = client_of(lambda command: lines("m-lap-us-5"))
    client.timestamp()
    script.say(lines("m-init-done"))
    with pytest.raises(DeviceLost, match="restarted"):
        for _ in range(9):
            client.timestamp()


def inference(
    first: str = "m-lap-us-2000",
    second: str = "m-lap-us-3000",
    results: str = "m-results-[0.250,-1.000,3.125]",
) -> bytes:
    warmup = ("m-warmup-start-0", "m-warmup-done")
    return lines(*warmup, "m-infer-start-1", first, second, "m-infer-done", results)


def infer(
    answer: bytes, again: str = "m-results-[0.250,-1.000,3.125]"
) -> tuple[int, int, tuple[int, ...]]:
    client, _ = client_of(
        lambda command: (
            lines("m-lap-us-1500")
            if command == "timestamp"
            else answer
            if "infer" in command
            else lines(again)
        )
    )
    client.timestamp()
    done = client.infer(1, 5.0)
    return done.start_us, done.stop_us, done.output_thousandths


def test_infer_gives_stamps_and_thousandths() -> None:
    assert infer(inference()) == (2000, 3000, (250, -1000, 3125))


@pytest.mark.parametrize(
    "answer",
    [
        inference(first="m-lap-us-200"),
        inference(first="m-lap-us-20000"),
        inference(first="m-lp-us-2000"),
        inference(second="m-lap-us-300000000"),
        inference(second="m-lap-us-300"),
        inference(second="m-lap-us-"),
        inference(results="m-results-[0.25,-1.000,3.125]"),
        inference(results="m-results-[0.250,-1.000,3.126]"),
        inference(results="m-results-[0.250,-1.0003.125]"),
        inference().replace(b"m-infer-done\r\n", b""),
        inference().replace(b"m-infer-start-1", b"m-infer-start-10"),
    ],
)
def test_a_spoilt_answer_to_infer_is_named(answer: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        infer(answer)


def test_every_single_lost_byte_of_infer_gives_the_same_numbers_or_a_named_error():
    whole = inference(first="m-lap-us-200001", second="m-lap-us-201234")
    client_answers = []
    for at in range(len(whole)):
        try:
            client_answers.append(infer(whole[:at] + whole[at + 1 :])[2])
        except RigError as error:
            assert error.cause
    assert set(client_answers) <= {(250, -1000, 3125)}


def test_stamps_of_32_bits_are_extended() -> None:
    stamps = iter([2**32 - 1000, 500])
    client, _ = client_of(lambda command: lines(f"m-lap-us-{next(stamps)}"))
    assert client.timestamp() == 2**32 - 1000
    assert client.timestamp() == 2**32 + 500


@pytest.mark.parametrize("command", ["", "%", "name%", "x" * 80])
def test_what_would_confuse_a_dut_is_never_sent(command: str) -> None:
    client, script = client_of(lambda command: lines())
    with pytest.raises(LocalProtocolError):
        client.command(command)
    assert script.commands == []


def test_attention_repeats_name_until_a_lost_session_is_left() -> None:
    answers = iter([b"", b"\x00\x05junk\x00", lines("m-name-dut-[x y]")])
    client, script = client_of(lambda command: next(answers))
    assert client.attention(5.0) == "x y"
    assert script.commands == ["name"] * 3


def test_attention_takes_boot_text_before_the_name() -> None:
    client, _ = client_of(
        lambda command: (
            lines("m-init-done") + lines("m-name-dut-[x]")
            if command == "name"
            else lines()
        )
    )
    assert client.attention(5.0) == "x"
    assert client.command("profile") == []


def test_a_silent_dut_is_distinguished_from_a_garbled_and_from_a_foreign_one() -> None:
    for answer, kind, text in (
        (b"", DeadlineError, "silent"),
        (b"\xfe\x80\x91\xc3" * 3, RemoteProtocolError, "another line rate"),
        (b"login:\r\n", RemoteProtocolError, "does not answer"),
    ):
        client, _ = client_of(lambda command, answer=answer: answer)  # type: ignore[misc]
        with pytest.raises(kind, match=text) as caught:
            client.attention(1.0)
        assert "bytes received on script at 115200 baud" in caught.value.evidence
        assert caught.value.try_next


def test_an_old_dut_keeps_the_text_layer_after_two_refusals() -> None:
    client, script = client_of(
        lambda command: (
            lines("e-[unknown]") if "frame" in command else lines("m-name-dut-[x]")
        )
    )
    assert client.frame() is False
    assert script.commands == ["frame 1", "name", "frame 1"]


def test_one_spoilt_frame_command_does_not_lose_the_framed_layer() -> None:
    answers = iter(
        [lines("e-[unknown]"), lines("m-name-dut-[x]"), lines("m-frame-[1]")]
    )
    client, _ = client_of(lambda command: next(answers))
    assert client.frame() is True


def test_lines_that_end_in_the_wrong_order_are_read() -> None:
    def answers(command: str) -> bytes:
        reported = {
            "name": b"m-name-dut-[wrong way round]\n\rm-ready\n\r",
            "profile": b"m-profile-[ULPMark]\n\rm-model-[kws01]\n\rm-ready\n\r",
        }
        return reported[command]

    line = Script(answers)
    client = TextClient(line, clock=line.clock)  # type: ignore[arg-type]
    assert client.attention(1.0) == "wrong way round"
    assert client.profile() == ("ULPMark", "kws01")
    assert client.profile() == ("ULPMark", "kws01")


@pytest.mark.parametrize(
    "form", ["{}%", "{}%\r\n", "{}\r\n", "Received command: {}\r\n"]
)
def test_nothing_that_happens_to_a_byte_of_an_echoing_device_gives_other_numbers(
    form: str,
) -> None:
    reported = {
        "name": lines("m-name-dut-[x]"),
        "timestamp": lines("m-lap-us-1500"),
        "infer 1 0": inference(),
        "results": lines("m-results-[0.250,-1.000,3.125]"),
    }
    whole = {
        word: form.format(word).encode() + answer for word, answer in reported.items()
    }

    def numbers(spoilt: str, answer: bytes) -> tuple[int, ...] | None:
        client, _ = client_of(
            lambda command: answer if command == spoilt else whole[command]
        )
        assert client.attention(1.0) == "x"
        assert client.echo
        client.timestamp()
        try:
            return client.infer(1, 5.0).output_thousandths
        except RigError as error:
            assert error.cause
            return None

    right = (250, -1000, 3125)
    assert numbers("", b"") == right
    for spoilt in ("infer 1 0", "results"):
        answer = whole[spoilt]
        for at in range(len(answer)):
            changed = [
                answer[:at] + bytes([answer[at] ^ 1 << bit]) + answer[at + 1 :]
                for bit in range(7)
            ]
            for other in (
                answer[:at] + answer[at + 1 :],
                answer[: at + 1] + answer[at:],
                *changed,
            ):
                assert numbers(spoilt, other) in (right, None)


def test_a_line_that_happens_to_end_in_name_is_no_echo() -> None:
    client, _ = client_of(
        lambda command: (
            lines("my name", "m-name-dut-[x]") if command == "name" else lines()
        )
    )
    assert (client.attention(1.0), client.echo) == ("x", "")


def test_a_digit_that_changed_on_its_way_to_an_echoing_device_is_found() -> None:
    dut = Loader()

    def answers(command: str) -> bytes:
        if command == "name":
            return b"name%\r\n" + lines("m-name-dut-[x]")
        heard = command.replace("db 0102", "db 0103")
        return f"{heard}%\r\n".encode() + dut(heard)

    client, _ = client_of(answers)
    client.attention(1.0)
    with pytest.raises(RemoteProtocolError, match="echoes another command") as caught:
        client.load(b"\x01\x02")
    assert "db 0103" in caught.value.evidence
