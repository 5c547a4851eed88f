# SPDX-License-Identifier: Apache-2.0
"""One fault at every byte of a whole conversation, in either direction: the right data
or a named error, never a hang.

The host is ours; the device is the firmware's C core as a library with a fake port, so
time is virtual and a conversation takes a millisecond or two.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import RigError
from sut_backends.uart.text_client import TextClient
from tests.length import length
from tests.sut_backends.framed import framed, run_slot
from tests.sut_backends.lines.spoilt_line import KINDS, Fault, FaultyLine, spread
from tests.sut_backends.uart.core_device import OUTPUT_B, Device, build

SAMPLES = [
    bytes((number * 5 + 200) & 0xFF for number in range(150)),
    bytes((number * 11 + 37) & 0xFF for number in range(150)),
]


@pytest.fixture(scope="module")
def device() -> Device:
    """Build a device."""
    return build()


def converse(device: Device, line: FaultyLine, sample: bytes, nonce: int) -> bytes:
    """Find the device, load, run, fetch the output, and leave."""
    text = TextClient(line, 2.0, line.clock)
    text.attention(2.0)
    assert text.frame()
    client = framed(line, line.clock)
    client.hello(nonce)
    client.slots.put(1, sample)
    assert device.slot(1, len(sample)) == sample
    done = run_slot(client, 1, repeat=2)
    assert [phase for phase, _ in done.marks] == [1, 2, 0]
    assert done.iterations == 2
    try:
        client.leave()
    except RigError:
        # as UartSut.close does: the answer to the farewell comes once
        text.attention(0.0)
    return done.output


def right(sample: bytes) -> bytes:
    return bytes((byte + 1) & 0xFF for byte in sample[:OUTPUT_B])


def attempt(device: Device, fault: Fault) -> tuple[str, FaultyLine]:
    """Have one conversation with one fault; return how it ended. Afterwards a new host
    finds the device and gets its data.
    """
    device.start()
    line = FaultyLine(device, fault)
    try:
        assert converse(device, line, SAMPLES[0], 0x1234_5678) == right(SAMPLES[0])
        return "right", line
    except RigError as error:
        assert error.cause
        assert converse(
            device, FaultyLine(device, Fault()), SAMPLES[1], 0x9ABC_DEF0
        ) == right(SAMPLES[1])
        return type(error).__name__, line


def test_a_clean_line_carries_the_conversation(device: Device) -> None:
    ended, line = attempt(device, Fault())
    assert ended == "right"
    assert line.passed["tx"] > 300 and line.passed["rx"] > 300


@pytest.mark.parametrize("way", ["tx", "rx"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_at_any_byte_ends_in_the_right_data_or_a_named_error(
    device: Device, way: str, kind: str
) -> None:
    length_b = attempt(device, Fault())[1].passed[way]
    spoilt = spread(kind, range(length_b), length(1, 3))
    ends = Counter(attempt(device, Fault(way, kind, at))[0] for at in spoilt)
    if kind == "cut":
        assert set(ends) <= {"DeadlineError", "RemoteProtocolError"}
    else:
        assert ends == {"right": len(spoilt)}


class StrayLine(FaultyLine):
    """A line with another sender: to the device before a write, to the host before a
    read.
    """

    def __init__(
        self, device: Device, to_device: dict[int, bytes], to_host: dict[int, bytes]
    ) -> None:
        super().__init__(device, Fault())
        self._strays = {"tx": to_device, "rx": to_host}

    def write(self, block: bytes) -> None:
        super().write(self._strays["tx"].pop(0, b"") + block)
        self._strays["tx"] = {
            number - 1: stray for number, stray in self._strays["tx"].items()
        }

    def read(self, timeout_s: float) -> bytes:
        stray = self._strays["rx"].pop(0, b"")
        self._strays["rx"] = {
            number - 1: stray for number, stray in self._strays["rx"].items()
        }
        return stray or super().read(timeout_s)


@settings(max_examples=length(200, 50), deadline=None)
@given(noise=st.binary(max_size=300))
def test_binary_noise_in_the_text_layer_costs_no_data(
    device: Device, noise: bytes
) -> None:
    device.start()
    device.send(noise, 0)
    assert converse(device, FaultyLine(device, Fault()), SAMPLES[0], 1) == right(
        SAMPLES[0]
    )


TEXT = st.text("abcdefghijklmnop 0123456789,.:-[]%\r\n", max_size=100).map(str.encode)


@settings(max_examples=length(200, 50), deadline=None)
@given(
    to_device=st.dictionaries(st.integers(2, 12), TEXT, max_size=3),
    to_host=st.dictionaries(st.integers(4, 16), TEXT, max_size=3),
)
def test_text_in_the_framed_layer_costs_no_data(
    device: Device, to_device: dict[int, bytes], to_host: dict[int, bytes]
) -> None:
    device.start()
    assert converse(
        device, StrayLine(device, to_device, to_host), SAMPLES[0], 1
    ) == right(SAMPLES[0])


@pytest.mark.parametrize("number", range(2, 10))
def test_a_stranger_who_calls_the_device_out_of_its_session_is_found_out(
    device: Device, number: int
) -> None:
    device.start()
    with pytest.raises(RigError) as caught:
        converse(device, StrayLine(device, {number: b"name%"}, {}), SAMPLES[0], 1)
    assert caught.value.cause
    assert converse(device, FaultyLine(device, Fault()), SAMPLES[1], 2) == right(
        SAMPLES[1]
    )
