# SPDX-License-Identifier: Apache-2.0
"""One fault at every byte of a whole conversation, in either direction: the right data or a named error, never a hang.

The host is ours; the device is the firmware's C core as a library with a fake port, so time is virtual and a conversation takes a
millisecond or two.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import RigError
from sut_backends.shim.exchange import Exchange
from sut_backends.shim.framed import FramedClient
from sut_backends.shim.link import Link
from sut_backends.shim.patience import Patience
from sut_backends.shim.text import TextClient

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"
# Small frames: several DATA for a short sample, and an output that does not fit into DONE.
SIZES = ["-DNR_MAX_PAYLOAD_B=64", "-DNR_MARKS_MAX=4"]
OUTPUT_B = 40
SAMPLES = [bytes((number * 5 + 200) & 0xFF for number in range(150)), bytes((number * 11 + 37) & 0xFF for number in range(150))]
BYTE_US = 87
LIMIT_S = 60.0  # of virtual time: far more than any conversation needs to be given up


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """Build the core with the fake port as a library; give a device."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler (Debian: gcc libc6-dev)")
    library = tmp_path_factory.mktemp("device") / "device.so"
    sources = [*sorted(FIRMWARE.glob("core/*.c")), FIRMWARE / "tests" / "fake_port.c", FIRMWARE / "tests" / "fake_device.c"]
    includes = [f"-I{FIRMWARE / folder}" for folder in ("core", "tests")]
    subprocess.run(["cc", "-std=c99", "-O2", "-shared", "-fPIC", *SIZES, *includes, "-o", library, *sources], check=True)
    return Device(ctypes.CDLL(str(library)))


class Device:
    """The C core and its fake port."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, kind in (("b", ctypes.c_size_t), ("us", ctypes.c_uint64), ("listen", ctypes.c_size_t), ("slot", ctypes.c_void_p)):
            getattr(library, f"fake_device_{name}").restype = kind
        library.fake_receive.restype = ctypes.c_size_t
        self._memory = ctypes.create_string_buffer(library.fake_device_b())
        self._said = ctypes.create_string_buffer(65_536)

    def start(self) -> None:
        """Switch it on anew."""
        self._library.fake_device_start(self._memory, OUTPUT_B)

    @property
    def now_us(self) -> int:
        """Return its time."""
        return int(self._library.fake_device_us(self._memory))

    def send(self, block: bytes, delay_us: int) -> None:
        """Let bytes arrive."""
        self._library.fake_send_later(self._memory, block, ctypes.c_size_t(len(block)), ctypes.c_uint64(max(delay_us, 0)))

    def listen(self, duration_us: int) -> bytes:
        """Let it run until it says something."""
        if not self._library.fake_device_listen(self._memory, ctypes.c_uint64(duration_us)):
            return b""
        count_b = self._library.fake_receive(self._memory, self._said, ctypes.c_size_t(len(self._said)))
        return ctypes.string_at(self._said, count_b)

    def slot(self, number: int, length_b: int) -> bytes:
        """Return what lies in a slot."""
        return ctypes.string_at(self._library.fake_device_slot(self._memory, number), length_b)


@dataclass
class Fault:
    """What happens to byte `at` of one direction."""

    way: str = ""
    kind: str = ""
    at: int = -1


KINDS = {"lost": 0, "doubled": 0, "flipped": 0, "zeroed": 0, "late": 30_000, "stalled": 150_000, "cut": 0}


class FaultyLine:
    """A line of 115 200 baud to the device, in its time; `passed` counts the bytes of each direction."""

    name, baud = "virtual", 115_200

    def __init__(self, device: Device, fault: Fault) -> None:
        self._device, self._fault = device, fault
        self.passed = {"tx": 0, "rx": 0}
        self._tx_free_us = 0
        self._waiting: list[tuple[int, bytes]] = []  # on the way to the host: from when, what
        self._cut = False

    def clock(self) -> float:
        return self._device.now_us / 1e6

    def write(self, block: bytes) -> None:
        for piece, late_us in self._spoilt("tx", block):
            now_us = self._device.now_us
            self._tx_free_us = max(self._tx_free_us, now_us) + len(piece) * BYTE_US + late_us
            self._device.send(piece, self._tx_free_us - now_us)

    def read(self, timeout_s: float) -> bytes:
        end_us = self._device.now_us + math.ceil(timeout_s * 1e6)
        assert self.clock() < 12.345678 + LIMIT_S, "a hang"
        while True:
            now_us = self._device.now_us
            if self._waiting and self._waiting[0][0] <= now_us:
                return self._waiting.pop(0)[1]
            if now_us >= end_us:
                return b""
            until_us = min([end_us, *(due_us for due_us, _ in self._waiting[:1])])
            for piece, late_us in self._spoilt("rx", self._device.listen(until_us - now_us)):
                due_us = max([self._device.now_us + late_us, *(due_us for due_us, _ in self._waiting[-1:])])
                self._waiting.append((due_us, piece))

    def set_baud(self, baud: int) -> None:
        raise AssertionError("no change of the line rate here")

    def close(self) -> None:
        """Do nothing."""

    def _spoilt(self, way: str, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Give the pieces that come out, and how much later than they should."""
        first, fault = self.passed[way], self._fault
        self.passed[way] += len(block)
        if fault.way != way or not (self._cut or first <= fault.at < first + len(block)):
            if block:
                yield block, 0
            return
        if self._cut:
            return
        at = fault.at - first
        before, byte, after = block[:at], block[at : at + 1], block[at + 1 :]
        if before:
            yield before, 0
        match fault.kind:
            case "lost":
                byte = b""
            case "doubled":
                byte += byte
            case "flipped":
                byte = bytes([byte[0] ^ 1 << fault.at % 8])
            case "zeroed":
                byte = b"\0"
            case "cut":
                self._cut, byte, after = True, b"", b""
        if byte + after:
            yield byte + after, KINDS[fault.kind]


def converse(device: Device, line: FaultyLine, sample: bytes, nonce: int) -> bytes:
    """Find the device, load, run, fetch the output, and leave."""
    text = TextClient(line, 2.0, line.clock)
    text.attention(2.0)
    assert text.frame()
    client = FramedClient(Exchange(line, Link(Patience(line.baud)), line.clock))
    client.hello(nonce)
    client.load(1, sample)
    assert device.slot(1, len(sample)) == sample
    done = client.run(1, 2, 50, 1.0)
    assert [phase for phase, _ in done.marks] == [1, 2, 0]
    assert done.iterations == 2
    try:
        client.leave()
    except RigError:
        text.attention(0.0)  # as UartSut.close does: the answer to the farewell comes once
    return done.output


def right(sample: bytes) -> bytes:
    return bytes((byte + 1) & 0xFF for byte in sample[:OUTPUT_B])


def attempt(device: Device, fault: Fault) -> tuple[str, FaultyLine]:
    """Have one conversation with one fault; return how it ended. Afterwards a new host finds the device and gets its data."""
    device.start()
    line = FaultyLine(device, fault)
    try:
        assert converse(device, line, SAMPLES[0], 0x1234_5678) == right(SAMPLES[0])
        return "right", line
    except RigError as error:
        assert error.cause
        assert converse(device, FaultyLine(device, Fault()), SAMPLES[1], 0x9ABC_DEF0) == right(SAMPLES[1])
        return type(error).__name__, line


def test_a_clean_line_carries_the_conversation(device: Device) -> None:
    ended, line = attempt(device, Fault())
    assert ended == "right"
    assert line.passed["tx"] > 300 and line.passed["rx"] > 300


@pytest.mark.parametrize("way", ["tx", "rx"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_any_byte_ends_in_the_right_data_or_a_named_error(device: Device, way: str, kind: str) -> None:
    length_b = attempt(device, Fault())[1].passed[way]
    ends = Counter(attempt(device, Fault(way, kind, at))[0] for at in range(length_b))
    if kind == "cut":
        assert set(ends) <= {"DeadlineError", "RemoteProtocolError"}
    else:
        assert ends == {"right": length_b}


class StrayLine(FaultyLine):
    """A line on which somebody else speaks too: to the device before a write, to the host before a read."""

    def __init__(self, device: Device, to_device: dict[int, bytes], to_host: dict[int, bytes]) -> None:
        super().__init__(device, Fault())
        self._strays = {"tx": to_device, "rx": to_host}

    def write(self, block: bytes) -> None:
        super().write(self._strays["tx"].pop(0, b"") + block)
        self._strays["tx"] = {number - 1: stray for number, stray in self._strays["tx"].items()}

    def read(self, timeout_s: float) -> bytes:
        stray = self._strays["rx"].pop(0, b"")
        self._strays["rx"] = {number - 1: stray for number, stray in self._strays["rx"].items()}
        return stray or super().read(timeout_s)


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(max_size=300))
def test_binary_noise_in_the_text_layer_costs_no_data(device: Device, noise: bytes) -> None:
    device.start()
    device.send(noise, 0)
    assert converse(device, FaultyLine(device, Fault()), SAMPLES[0], 1) == right(SAMPLES[0])


TEXT = st.text("abcdefghijklmnop 0123456789,.:-[]%\r\n", max_size=100).map(str.encode)


@settings(max_examples=200, deadline=None)
@given(
    to_device=st.dictionaries(st.integers(2, 12), TEXT, max_size=3), to_host=st.dictionaries(st.integers(4, 16), TEXT, max_size=3)
)
def test_text_in_the_framed_layer_costs_no_data(device: Device, to_device: dict[int, bytes], to_host: dict[int, bytes]) -> None:
    device.start()
    assert converse(device, StrayLine(device, to_device, to_host), SAMPLES[0], 1) == right(SAMPLES[0])


@pytest.mark.parametrize("number", range(2, 10))
def test_a_stranger_who_calls_the_device_out_of_its_session_is_found_out(device: Device, number: int) -> None:
    device.start()
    with pytest.raises(RigError) as caught:
        converse(device, StrayLine(device, {number: b"name%"}, {}), SAMPLES[0], 1)
    assert caught.value.cause
    assert converse(device, FaultyLine(device, Fault()), SAMPLES[1], 2) == right(SAMPLES[1])
