# SPDX-License-Identifier: Apache-2.0
"""The requests that a worker answers: load, run, search, stream.

Requests and answers are a line of JSON each, and as many bytes after it as its `bytes` says; the
end of its input ends it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, BinaryIO

from rig.interfaces.cpu_program import Routine
from sut_backends.workers.inside.search import Order, solved
from sut_backends.workers.inside.stream import Inlet, Signal, played
from sut_backends.workers.inside.windows import batched, phased, uncollected


def serve(routine: Routine, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    slots: dict[int, Any] = {}
    for line in requests:
        request = json.loads(line)
        payload = requests.read(request.get("bytes", 0))
        try:
            if request["op"] == "load":
                slots[request["slot"]] = routine.load(payload)
                answer(answers, {})
            elif request["op"] == "solve":
                marks, known, output = solved(
                    routine, slots[request["slot"]], Order(**request["order"])
                )
                answer(answers, {"marks": marks, "known": known}, output)
            elif request["op"] == "stream":
                signal = Signal(**request["signal"])
                # Whoever sends waits to be told: nothing of the windows to come is in the buffer of
                # `requests`.
                inlet = Inlet(requests.fileno(), signal, routine.load, slots)
                heard = played(routine, signal, slots, inlet, partial(answer, answers, {}))
                answer(
                    answers,
                    {"marks": heard.marks, "faults": heard.faults},
                    joined(routine, heard.results),
                )
            else:
                work = batched if request["batch"] else phased
                marks, results = uncollected(
                    work, routine, [slots[slot] for slot in request["slots"]], request["repeat"]
                )
                output = b"".join(routine.output(result) for result in results)
                answer(answers, {"marks": marks}, output)
        except Exception as error:
            answer(
                answers,
                {
                    "error": f"{type(error).__name__}: {error}",
                    "refused": isinstance(error, ValueError),
                },
            )


def joined(routine: Routine, results: Sequence[Any]) -> bytes:
    """Return the outputs of a stream's windows, which are all of one length."""
    outputs = [routine.output(result) for result in results]
    if len({len(output) for output in outputs}) > 1:
        raise RuntimeError("its outputs differ in length")
    return b"".join(outputs)


def answer(answers: BinaryIO, content: dict[str, Any], block: bytes = b"") -> None:
    """Write one answer."""
    answers.write(json.dumps(content | {"bytes": len(block)}).encode() + b"\n" + block)
    answers.flush()
