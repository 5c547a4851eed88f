# SPDX-License-Identifier: Apache-2.0
"""The start of a worker: it opens a routine, describes it, and answers requests.

Modules of `rig` and of the backends are found without being installed: only their
folders are known here, and modules imported from them need the standard library alone.

The requests that a worker answers: load, run, search, stream.

The end of its input ends it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import platform
import sys
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
    WorkerAbout,
    WorkerStart,
    request_of,
)
from sut_backends.workers.inside.search import solved
from sut_backends.workers.inside.stream import Inlet, played
from sut_backends.workers.inside.windows import (
    batched,
    overhead_ns,
    phased,
    uncollected,
)


def main(order: str) -> None:
    """Do what `order` says, a Start as JSON."""
    start = WorkerStart(**json.loads(order))
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
        os.environ[f"{name}_NUM_THREADS"] = str(start.threads)
    # Output of the program or an SDK goes to standard error: this pipe is for answers
    # alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if start.core >= 0 and sys.platform == "linux":
        os.sched_setaffinity(0, {start.core})
    try:
        module, _, function = start.entry.partition(":")
        routine: Routine = getattr(importlib.import_module(module), function)(
            **start.arguments
        )
    except Exception as error:
        answer(answers, asdict(refusal(error, _python())))
        return
    gc.freeze()
    answer(answers, asdict(_about(routine)))
    # Some programs leave threads or processes running; closing them is their own task.
    with contextlib.closing(routine):
        serve(routine, sys.stdin.buffer, answers)


def _about(routine: Routine) -> WorkerAbout:
    numpy = sys.modules.get("numpy")
    state = {} if routine.begin is None else {"stateful": True}
    return WorkerAbout(
        python=_python(),
        numpy=getattr(numpy, "__version__", "not used"),
        cores=sorted(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else [],
        overhead_ns=overhead_ns(len(routine.phases)),
        phases=len(routine.phases),
        searches=routine.search is not None,
        details={**routine.about, **state},
    )


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


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
