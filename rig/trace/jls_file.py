# SPDX-License-Identifier: Apache-2.0
"""Read JLS files that were closed properly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyjls

from rig.errors import DataError
from rig.stop import look

#: User data of the file: what the recorder knew from the start, and how many samples of each signal
#: it was given.
ABOUT = 1
LENGTHS = 2
#: No signal: how many samples of current and voltage were recorded, where some were left out.
RECORDED_SAMPLES = -1


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open a closed JLS file; its reader's errors become DataErrors. Never for an unclosed one:
    `recover` that first.
    """
    if not path.exists():  # the reader would say so on standard error, too
        raise DataError(
            f"{path} is not there",
            try_next="rig check shows what is left of a session that was cut off",
        )
    try:
        reader = pyjls.Reader(str(path))
    except (RuntimeError, OSError) as error:
        raise DataError(f"{path} is not a readable trace", evidence=str(error)) from error
    try:
        yield reader
    except RuntimeError as error:
        raise DataError(f"{path} cannot be read to its end", evidence=str(error)) from error
    finally:
        reader.close()


def about_of(reader: Any) -> dict[str, Any]:
    """Return what the recorder wrote of a trace into its file; empty for a file of another
    origin.
    """
    return user_data(reader, ABOUT)


def lengths_of(reader: Any) -> dict[int, int]:
    """Return how many samples each signal has, without what was added so that the index reaches the
    last one; RECORDED_SAMPLES where the file says it.
    """
    known = user_data(reader, LENGTHS)
    lengths = {int(signal.signal_id): int(signal.length) for signal in reader.signals.values()}
    written = {signal: known.get(str(signal)) for signal in lengths}
    recorded = known.get(str(RECORDED_SAMPLES))
    return {
        signal: min(length, count)
        if isinstance(count := written[signal], int) and count >= 0
        else length
        for signal, length in lengths.items()
    } | ({RECORDED_SAMPLES: recorded} if isinstance(recorded, int) else {})


def user_data(reader: Any, number: int) -> dict[str, Any]:
    """Return user data of the file; empty where there is none, or another program's."""
    contents: dict[str, Any] = {}

    def take(meta: int, data: Any) -> bool:
        with suppress(ValueError, TypeError):
            content = data if isinstance(data, dict) else json.loads(data)
            contents.update(content if meta == number and isinstance(content, dict) else {})
        return bool(contents)

    reader.user_data(take)
    return contents


def blocks_of(reader: Any, signal: int, length: int, block: int) -> Iterator[Any]:
    """Yield the samples of a signal, a block at a time."""
    for at in range(0, length, block):
        look()
        yield reader.fsr(signal, at, min(block, length - at))
