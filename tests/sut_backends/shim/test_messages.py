# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import LocalProtocolError
from rig.model.completion import BATCH, DECIDED, END, IDLE, REACHED, STREAM, SYNC
from sut_backends.shim import messages
from sut_backends.shim.messages import Flag, MessageKind, StreamState
from tests.length import length
from tests.sut_backends.framed import CAPS

ROOT = Path(__file__).resolve().parents[3]
VECTORS: dict[str, Any] = json.loads(
    (ROOT / "tests" / "vectors" / "frames.json").read_text(encoding="utf-8")
)
VALUES = [
    (messages.HelloMessage(0xDEADBEEF), "efbeadde01"),
    (messages.BaudMessage(921_600), "00100e00"),
    (messages.LoadMessage(1, 0x1234, 0xCAFEBABE), "010034120000bebafeca"),
    (messages.DataMessage(0x100, b"xyz"), "0001000078797a"),
    (messages.CommitMessage(2), "0200"),
    (messages.SelfTestMessage(1000, 258), "e8030201"),
    (
        messages.ReportMessage(
            2**32 + 1,
            2,
            3,
            4,
            rx_b=5,
            rx_frames=6,
            rx_dropped=7,
            rx_lost_b=8,
            stack_b=9,
            stack_unused_b=10,
            rest_level=1,
            pulse_level=0,
            end_level=255,
            span_min_ticks=11,
            span_max_ticks=12,
            took_ticks=13,
        ),
        (
            "0100000001000000 02000000 0300 0400 05000000 06000000 07000000"
            " 0800000009000000 0a000000 0100ff 0b0000000c000000 0d000000"
        ),
    ),
    (messages.RunMessage(1, 2, 30_000, 50), "0100020000003075000032 00"),
    (messages.BatchMessage(2, 30_000, 50, (1, 258)), "0200000030750000320001000201"),
    (
        messages.OptimizeMessage(1, 2, 1_000_000, -16, guard_us=30_000, hold_us=50),
        "0100 02000000 40420f00 f0ffffff 30750000 3200",
    ),
    (
        messages.OptimizeMessage(
            1, 2, 3, -(2**31), guard_us=4, hold_us=5, thresholds=(0, -17)
        ),
        "0100 02000000 03000000 00000080 04000000 0500 00000000 efffffff",
    ),
    (messages.KnewMessage(3), "03"),
    (messages.KnownMessage(3, 1, (2**32, 7)), "0301 0000000001000000 0700000000000000"),
    (
        messages.StreamMessage(7, 300, 70_000, 48_000, 258),
        "07000000 2c010000 70110100 80bb0000 0201",
    ),
    (messages.TakeMessage(258), "02010000"),
    (
        messages.TakenMessage(
            StreamState.PLAYING,
            4,
            1,
            0,
            done=2,
            late=0,
            worst_window=0,
            worst_ticks=0,
            code=0,
            first=2,
            count=0,
        ),
        f"01 04 01{'00' * 7} {'00' * 8} 02{'00' * 19} 02000000 00",
    ),
    (messages.IdleMessage(1_000_000, 30_000, 50), "40420f00307500003200"),
    (messages.SyncMessage(8, 5_000, 30_000, 50), "0888130000307500003200"),
    (messages.ResultMessage(64), "40000000"),
    (messages.AckMessage(0x80000001), "01000080"),
    (
        messages.DoneMessage(3, ((1, 2**40), (0, 2**40 + 1)), 5, 258, b"abc"),
        "030002000500000002010000 010000000000010000 000100000000010000 616263",
    ),
    (messages.ChunkMessage(1, b"ab"), "010000006162"),
    (messages.RefusalMessage(4, 64, "too large"), "0440000000746f6f206c61726765"),
    (
        replace(
            CAPS,
            flags=Flag.BAUD | Flag.SYNC_LINE,
            device="d",
            firmware="f",
            workload="w",
            model="m",
            build="b",
            sync_pin="PA8",
        ),
        None,
    ),
]


@pytest.mark.parametrize(
    ("value", "code"), VALUES, ids=lambda value: type(value).__name__
)
def test_payloads_are_packed_as_the_protocol_says_and_read_back(
    value: messages.Payload, code: str | None
) -> None:
    assert code is None or value.pack().hex() == code.replace(" ", "")
    assert type(value).unpack(value.pack()) == value


@pytest.mark.parametrize("case", VECTORS["messages"], ids=lambda case: case["name"])
def test_messages_of_the_shared_vectors_are_written_and_read(
    case: dict[str, Any],
) -> None:
    kinds = {
        kind.kind: kind
        for kind in (
            messages.OptimizeMessage,
            messages.KnewMessage,
            messages.KnownMessage,
            messages.StreamMessage,
            messages.TakeMessage,
            messages.TakenMessage,
        )
    }
    kind = kinds[MessageKind(case["type"])]
    fields = case["fields"]
    if "thresholds" in fields:
        fields = fields | {"thresholds": tuple(fields["thresholds"])}
    if "ticks" in fields:
        fields = fields | {"ticks": tuple(fields["ticks"])}
    if "records" in fields:
        fields = fields | {"records": bytes.fromhex(fields["records"])}
    value = kind(**fields)
    assert value.pack().hex() == case["payload"]
    assert kind.unpack(value.pack()) == value


def test_records_are_distinguished_by_their_count() -> None:
    payload = next(
        bytes.fromhex(case["payload"])
        for case in VECTORS["messages"]
        if case["type"] == MessageKind.TAKEN
    )
    records = messages.TakenMessage.unpack(payload).split(3)
    assert records == [
        ((1, 2, 3), b"\xaa\xbb\xcc"),
        ((2**32, 2**32 + 1, 2**32 + 2), b"\xdd\xee\xff"),
    ]


@pytest.mark.parametrize(
    ("value", "code"), VALUES, ids=lambda value: type(value).__name__
)
def test_a_short_payload_is_refused(value: messages.Payload, code: str | None) -> None:
    with pytest.raises(ValueError, match=r"expected|ends after|announces"):
        type(value).unpack(
            value.pack()[:1][: len(value.pack()) - 1] if code else value.pack()[:-4]
        )


@pytest.mark.parametrize(
    "numbers",
    [
        (0, 2**32, 0, 0),
        (0, -1, 0, 0),
        (2**16, 1, 0, 0),
        (0, 1, 2**32, 0),
        (0, 1, 0, 65_536),
    ],
)
def test_a_number_that_does_not_fit_its_field_is_an_error_of_ours(
    numbers: tuple[int, int, int, int],
) -> None:
    with pytest.raises(LocalProtocolError, match="does not fit"):
        messages.RunMessage(*numbers).pack()


@pytest.mark.parametrize(
    "value",
    [
        messages.BatchMessage(1, 0, 0, (1, 2**16)),
        messages.OptimizeMessage(
            0, 0, 1, 0, guard_us=0, hold_us=0, thresholds=(0, -(2**31) - 1)
        ),
        messages.DataMessage(2**32, b"x"),
        messages.DoneMessage(0, ((256, 0),), 0),
        messages.RefusalMessage(1, 0, "größer"),
        replace(
            CAPS,
            nonce=0,
            slots=1,
            slot_b=1,
            output_b=1,
            tick_hz=1,
            phases=1,
            device="x" * 256,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_does_not_fit_behind_the_head_is_an_error_of_ours_too(
    value: messages.Payload,
) -> None:
    with pytest.raises(LocalProtocolError, match="does not fit"):
        value.pack()


def test_an_error_names_the_field_and_the_message() -> None:
    with pytest.raises(
        ValueError, match="thresholds of OPTIMIZE: 3 bytes, 4 each expected"
    ):
        messages.OptimizeMessage.unpack(bytes(20 + 3))
    with pytest.raises(ValueError, match="LOAD of 9 bytes, 10 expected"):
        messages.LoadMessage.unpack(bytes(9))
    with pytest.raises(ValueError, match="CHUNK of 3 bytes, at least 4 expected"):
        messages.ChunkMessage.unpack(bytes(3))


@pytest.mark.parametrize(
    "kind",
    sorted({type(value) for value, _ in VALUES}, key=lambda kind: kind.__name__),
    ids=lambda kind: kind.__name__,
)
@settings(max_examples=length(100, 30))
@given(
    payload=st.binary(max_size=64)
    | st.binary(min_size=20, max_size=20).map(
        lambda head: head[:2] + b"\x01" + head[3:]
    )
)
def test_any_payload_is_refused_by_value_error_or_means_what_packs_back(
    kind: type[messages.Payload], payload: bytes
) -> None:
    try:
        value = kind.unpack(payload)
    except ValueError:
        return
    if kind in (
        messages.CapsMessage,
        messages.RefusalMessage,
    ):  # whose text may be no ASCII, and which a later firmware may make longer
        return
    assert value.pack() == payload


def test_older_firmware_ends_with_its_strings_and_knows_no_more() -> None:
    before = replace(
        CAPS,
        flags=Flag.OPTIMIZE,
        device="d",
        firmware="f",
        workload="w",
        model="m",
        build="b",
        sync_pin="PA8",
    )
    assert messages.CapsMessage.unpack(before.pack()).more == messages.More(0)
    assert messages.CapsMessage.unpack(before.pack() + b"\x01") == replace(
        before, more=messages.More.KNEW
    )
    assert (
        messages.More.KNEW
        in messages.CapsMessage.unpack(before.pack() + b"\x03later").more
    )


def test_known_with_more_ticks_than_it_announces_is_refused() -> None:
    with pytest.raises(ValueError, match="1 in all expected"):
        messages.KnownMessage.unpack(messages.KnownMessage(1, 0, (1, 2)).pack())


def test_done_with_more_output_than_it_announces_is_refused() -> None:
    with pytest.raises(ValueError, match="output of 2"):
        messages.DoneMessage.unpack(
            messages.DoneMessage(0, (), 2, output=b"abc").pack()
        )


def test_numbers_are_those_of_the_firmware() -> None:
    header = (ROOT / "firmware" / "core" / "nr_wire.h").read_text(encoding="utf-8")
    values = {
        name: int(number, 0) for name, number in re.findall(r"NR_(\w+) = (\w+)", header)
    }
    assert {kind.name: kind.value for kind in MessageKind} == {
        name: values[name] for name in MessageKind.__members__
    }
    assert values["PROTOCOL"] == messages.PROTOCOL
    assert values["FRAME_OVERHEAD_B"] == messages.FRAME_OVERHEAD_B
    assert values["TEXT_COMMAND_MAX"] == messages.TEXT_COMMAND_MAX
    assert values["GUARD_RESTARTS_MAX"] == messages.GUARD_RESTARTS_MAX
    assert values["THRESHOLDS_MAX"] == messages.THRESHOLDS_MAX
    phases = {
        "END": END,
        "BATCH": BATCH,
        "STREAM": STREAM,
        "DECIDED": DECIDED,
        "IDLE": IDLE,
        "SYNC": SYNC,
        "REACHED": REACHED,
    }
    assert phases == {name: values[f"PHASE_{name}"] for name in phases}
    assert {state.name: state.value for state in StreamState} == {
        name: values[f"STREAM_{name}"] for name in StreamState.__members__
    }
    assert {flag.name: flag.value for flag in Flag} == {
        name: values[f"CAP_{name}"] for name in Flag.__members__
    }
    assert {value for name, value in values.items() if name.startswith("E_")} == set(
        messages.ERROR_MEANING
    )
