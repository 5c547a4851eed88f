# SPDX-License-Identifier: Apache-2.0
"""The answer to `infer` in the text layer, taken apart. It has no check sum: every line
must be the expected one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rig.errors import RemoteProtocolError

LAP = re.compile(r"m-lap-us-(\d+)")
NAME_BEGINS = "m-name-dut-["
#: How commands are refused: in the protocol, and by the public firmware for streaming
#: wake words.
REFUSALS = ("e-[", "Unrecognized command ", "Error: ")
_NUMBER = r"-?\d+\.\d{3}"
#: The public code for visual wake words ends its list with a comma.
RESULTS = re.compile(rf"m-results-\[({_NUMBER}(?:,{_NUMBER})*),?\]")
#: Signed bytes in brackets; the public firmware writes a sign before each.
_BYTES = r"\[(\s*[+-]?\d{1,3}(?:, *[+-]?\d{1,3})*)\]"
_FEATURES = re.compile(rf"m-features-{_BYTES}")
_ACTIVATIONS = re.compile(rf"m-activations-{_BYTES}")
_DONE = "m-infer-done"
_WORDS = (
    "m-warmup-start-",
    "m-warmup-done",
    "m-infer-start-",
    "m-lap-us-",
    _DONE,
    "m-results-",
)


@dataclass(frozen=True, slots=True)
class Inference:
    """Result of `infer`: two stamps in microseconds, and the outputs in thousandths.

    The stamps are the DUT's; of a DUT that reports no time the host's, when it heard of
    the window's begin and end.
    """

    start_us: int
    stop_us: int
    output_thousandths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """The parts of an answer: the DUT's stamps (none where it reports no time), the
    text of the results, None where it is unreadable, and which lines mark the window's
    begin and end.
    """

    laps_us: tuple[int, ...]
    results: str | None
    start_line: int
    stop_line: int


def take_apart(lines: Sequence[str], repeat: int, tells_time: bool) -> TextAnswer:
    """Return the parts of the answer to `infer`; raise RemoteProtocolError where a line
    is missing, spoilt or a stranger.
    """
    strangers = [line for line in lines if not line.startswith(_WORDS)]
    if strangers:
        cause = "the DUT says what is no part of an answer to `infer`"
        try_next = (
            "read it: a sample of another size than the model's is reported like this; "
            "or a byte was lost on the line"
        )
        raise RemoteProtocolError(cause, evidence=repr(strangers), try_next=try_next)
    timestamps = [match for line in lines if (match := LAP.fullmatch(line))]
    begin = ["m-warmup-start-0", "m-warmup-done", f"m-infer-start-{repeat}"]
    due = [*begin, *(match[0] for match in timestamps), _DONE]
    if list(lines[:-1]) != due or len(timestamps) != 2 * tells_time:
        try_next = (
            "a byte was lost on the line"
            if timestamps or not tells_time
            else "does the DUT print its time stamps no more?"
        )
        raise RemoteProtocolError(
            "the answer to `infer` is incomplete",
            evidence=repr(list(lines)),
            try_next=try_next,
        )
    results = RESULTS.fullmatch(lines[-1])
    laps_us = tuple(int(match[1]) for match in timestamps)
    return TextAnswer(
        laps_us,
        results[1] if results else None,
        len(begin) - 1,
        len(due) - 1,
    )


def thousandths(results: str) -> tuple[int, ...]:
    """Return the numbers of a results line, in thousandths; raise RemoteProtocolError
    for one that 32 bits do not hold.
    """
    numbers = tuple(int(number.replace(".", "")) for number in results.split(","))
    beyond = next(
        (number for number in numbers if not -(2**31) <= number < 2**31), None
    )
    if beyond is not None:
        limit = "results are shares or scores, up to 2147483.647"
        raise RemoteProtocolError(
            "the DUT answers with a number beyond 32 bits of thousandths",
            evidence=str(beyond),
            try_next=limit,
        )
    return numbers


def activations(lines: Sequence[str]) -> tuple[int, ...] | None:
    """Return the output in the answer to `extract_uart_stream`, before which features
    stand where the workload shows them; None where that is not whole.
    """
    *before, last = lines or [""]
    output = _ACTIVATIONS.fullmatch(last)
    if output is None or len(before) > 1 or not all(map(_FEATURES.fullmatch, before)):
        return None
    numbers = tuple(int(word) for word in output[1].split(","))
    return numbers if all(-128 <= number < 128 for number in numbers) else None
