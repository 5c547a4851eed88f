# SPDX-License-Identifier: Apache-2.0
"""The requests that a worker answers: load, run, search, stream.

The end of its input ends it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, BinaryIO

from rig.interfaces.cpu_program import Routine
from sut_backends.workers.inside.protocol import (
    Done,
    LoadRequest,
    Refusal,
    RunRequest,
    SolveRequest,
    StreamRequest,
    request_of,
)
from sut_backends.workers.inside.search import solved
from sut_backends.workers.inside.stream import Inlet, played
from sut_backends.workers.inside.windows import batched, phased, uncollected


def serve(routine: Routine, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    slots: dict[int, Any] = {}
    for line in requests:
        content = json.loads(line)
        payload = requests.read(content.get("bytes", 0))
        try:
            request = request_of(content)
            if isinstance(request, LoadRequest):
                slots[request.slot] = routine.load(payload)
                done, output = Done(), b""
            else:
                done, output = _carried_out(request, routine, slots, requests, answers)
            answer(answers, asdict(done), output)
        except Exception as error:
            answer(answers, asdict(refusal(error)))


def _carried_out(
    request: SolveRequest | StreamRequest | RunRequest,
    routine: Routine,
    slots: dict[int, Any],
    requests: BinaryIO,
    answers: BinaryIO,
) -> tuple[Done, bytes]:
    """Carry a request out; return its result and its output."""
    match request:
        case SolveRequest():
            marks, known, output = solved(routine, slots[request.slot], request.order)
            return Done(marks, known), output
        case StreamRequest():
            signal = request.signal
            # The sender waits for this answer, so that the buffer of `requests` holds
            # no coming window.
            inlet = Inlet(requests.fileno(), signal, routine.load, slots)
            started = partial(answer, answers, asdict(Done()))
            heard = played(routine, signal, slots, inlet, started)
            return Done(heard.marks, faults=heard.faults), joined(
                routine, heard.results
            )
        case RunRequest():
            if routine.begin is not None:
                raise ValueError("this program answers for windows of streams alone")
            work = batched if request.batch else phased
            values = [slots[slot] for slot in request.slots]
            marks, results = uncollected(work, routine, values, request.repeat)
            return Done(marks), b"".join(routine.output(result) for result in results)


def refusal(error: Exception, python: str = "") -> Refusal:
    """Return the reason for a failure."""
    return Refusal(
        f"{type(error).__name__}: {error}",
        isinstance(error, ValueError),
        python,
        getattr(error, "name", None),
    )


def joined(routine: Routine, results: Sequence[Any]) -> bytes:
    """Join the outputs of a stream's windows, which are all of one length."""
    outputs = [routine.output(result) for result in results]
    if len({len(output) for output in outputs}) > 1:
        raise RuntimeError("its outputs differ in length")
    return b"".join(outputs)


def answer(answers: BinaryIO, content: dict[str, Any], block: bytes = b"") -> None:
    """Write one answer."""
    answers.write(json.dumps(content | {"bytes": len(block)}).encode() + b"\n" + block)
    answers.flush()
