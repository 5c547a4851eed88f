# SPDX-License-Identifier: Apache-2.0
"""Print core/nr_wire.h: the numbers of sut_backends/shim/messages for the firmware.

`python firmware/wire_header.py > firmware/core/nr_wire.h`, after each change of the
messages; tests/firmware/test_wire_header.py compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import IntEnum

from rig.model import completion
from sut_backends.shim import messages
from sut_backends.shim.messages import answers

HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers on the wire: docs/reference/PROTOCOL.md, sections 2 to 4.
   Made by wire_header.py from sut_backends/shim/messages: change them there. */
#ifndef NR_WIRE_H
#define NR_WIRE_H
"""
TAIL = """\

#endif
"""
AFTER_CAPS = """
/* In a byte after the strings of CAPS, which older firmware does not send and older hosts do not
   read. */"""  # noqa: E501
COLUMNS = 100
SLOW_MONITORS = "SYNC pulse of fixed length, which slow monitors see too"

Row = tuple[str, int, str]  # name, value, comment


def limits() -> Iterable[Row]:
    yield "PROTOCOL", messages.PROTOCOL, ""
    yield "US_PER_S", 1_000_000, ""
    yield "FRAME_OVERHEAD_B", messages.FRAME_OVERHEAD_B, "type, seq, crc32"
    yield "CAPS_MAX_B", messages.CAPS_MAX_PAYLOAD_B, ""
    yield (
        "PARTIAL_TIMEOUT_MS",
        round(1000 * messages.PARTIAL_TIMEOUT_S),
        "a partial frame is dropped after this silence",
    )
    yield (
        "BAUD_TIMEOUT_MS",
        round(1000 * messages.BAUD_TIMEOUT_S),
        "without a good frame the old rate returns",
    )
    yield "TEXT_COMMAND_MAX", messages.TEXT_COMMAND_MAX, ""
    yield "TEXT_HOLD_US", 50, SLOW_MONITORS
    yield "GUARD_RESTARTS_MAX", messages.GUARD_RESTARTS_MAX, ""
    yield (
        "THRESHOLDS_MAX",
        messages.THRESHOLDS_MAX,
        "of OPTIMIZE, where as many marks and two more are kept",
    )


def sizes() -> Iterable[Row]:
    """Yield the length of each payload, or of its head where a tail may follow."""
    payloads = [
        getattr(messages, name) for name in messages.__all__ if name.endswith("Message")
    ]
    for payload in sorted(payloads, key=lambda payload: payload.kind):
        suffix = "FIXED_B" if payload.has_tail else "B"
        yield f"{payload.kind.name}_{suffix}", payload.head.size, ""
    yield "DONE_MARK_B", answers.MARK.size, ""
    yield "TICK_B", 8, ""


def phases() -> Iterable[Row]:
    yield "END", completion.END, ""
    yield "PREPROCESS", 1, ""
    yield "INFER", 2, ""
    for name in ("BATCH", "STREAM", "DECIDED", "IDLE", "SYNC"):
        yield name, getattr(completion, name), ""
    yield (
        "REACHED",
        completion.REACHED,
        "of a search, and threshold 0; the others follow",
    )


def members(numbers: type[IntEnum], **comments: str) -> Iterable[Row]:
    """Yield the members of an enumeration, with comments on some."""
    for member in numbers:
        yield member.name, int(member), comments.get(member.name, "")


def enumeration(
    name: str, prefix: str, rows: Iterable[Row], *, hexadecimal: bool = False
) -> str:
    """Return one enum; comments that fit follow their number, in one column."""
    numbered = []
    for member, value, comment in rows:
        number = f"0x{value:02X}" if hexadecimal else str(value)
        numbered.append((f"NR_{prefix}{member} = {number},", comment))
    last, comment = numbered[-1]
    numbered[-1] = (last.removesuffix(","), comment)
    width = max((len(number) for number, comment in numbered if comment), default=0)
    lines = [f"\nenum {name} {{" if name else "\nenum {"]
    for number, comment in numbered:
        line = f"    {number:<{width}} /* {comment} */" if comment else f"    {number}"
        fits = len(line) <= COLUMNS
        lines += [line] if fits else [f"    /* {comment} */", f"    {number}"]
    return "\n".join([*lines, "};\n"])


def header() -> str:
    kinds = members(messages.MessageKind)
    return "".join(
        (
            HEAD,
            enumeration("", "", limits()),
            enumeration("nr_message", "", kinds, hexadecimal=True),
            "\n/* Lengths of payloads; FIXED_B where a tail may follow. */",
            enumeration("nr_payload", "", sizes()),
            enumeration("nr_phase", "PHASE_", phases(), hexadecimal=True),
            enumeration("nr_error", "E_", members(messages.ErrorCode)),
            enumeration("nr_stream_state", "STREAM_", members(messages.StreamState)),
            enumeration(
                "nr_caps_flag",
                "CAP_",
                members(
                    messages.Flag,
                    NO_SELF_TEST=(
                        "inverted: older firmware has a self-test and sets no bit"
                    ),
                ),
            ),
            AFTER_CAPS,
            enumeration("nr_caps_more", "MORE_", members(messages.More)),
            TAIL,
        )
    )


if __name__ == "__main__":
    sys.stdout.write(header())
