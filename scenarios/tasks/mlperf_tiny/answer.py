# SPDX-License-Identifier: Apache-2.0
"""An output of a device -> the numbers it stands for."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from rig.errors import DataError, RemoteProtocolError
from rig.model.catalogue import Entry
from rig.model.scores import Score

#: thousandths: int32, the text layer's form of `m-results-[0.125,...]`; shares: int8
#: about -128 in steps of 1/256, as SOFTMAX of a .tflite file writes them. All are
#: little endian.
Format = Literal["thousandths", "float32", "int8", "uint8", "shares"]
_DTYPES = {
    "thousandths": "<i4",
    "float32": "<f4",
    "int8": "<i1",
    "uint8": "<u1",
    "shares": "<i1",
}
PER_UNIT = 1000


def item_b(form: Format) -> int:
    """Return the bytes of one number."""
    return np.dtype(_DTYPES[form]).itemsize


def scores(output: bytes, form: Format, count: int) -> tuple[float, ...]:
    """Return the `count` numbers of an output; raise RemoteProtocolError where there
    are others, or one is no number.
    """
    due_b = count * item_b(form)
    if len(output) != due_b:
        raise RemoteProtocolError(
            f"an output of {len(output)} B, {count} numbers as {form} are {due_b} B",
            evidence=output[:32].hex(),
            try_next=(
                "the data folder of the device's benchmark; or task.mlperf_tiny.output"
                " and outputs"
            ),
        )
    numbers = np.frombuffer(output, _DTYPES[form]).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise RemoteProtocolError(
            "an output holds what is no number",
            evidence=output[:32].hex(),
            try_next="look at the model",
        )
    if form == "thousandths":
        numbers = numbers / PER_UNIT
    elif form == "shares":
        numbers = (numbers + 128) / 256
    return tuple(numbers.tolist())


def scored(entry: Entry, output: bytes, form: Format, count: int) -> Score:
    """Take the highest of several numbers, of equal ones the first; a single one is a
    score without an answer by itself.
    """
    numbers = scores(output, form, count)
    answer = str(numbers.index(max(numbers))) if len(numbers) > 1 else ""
    return Score(answer == entry.label, entry.label, answer, numbers, entry.recording)


def parse(output: str) -> tuple[int, Format]:
    """Read count and form of outputs from a session's text, such as "10 x int8"; raise
    DataError."""
    count, _, form = output.partition(" x ")
    forms: tuple[Format, ...] = get_args(Format)
    is_whole = count.isascii() and count.isdigit()
    for known in forms:
        if known == form and is_whole and 1 <= int(count[:6]) <= 100_000:
            return int(count[:6]), known
    raise DataError(f"outputs of {output[:40]!r}: no count and form that this task has")
