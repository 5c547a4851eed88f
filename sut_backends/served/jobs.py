# SPDX-License-Identifier: Apache-2.0
"""Requests that open a silent window: the step of the backend for each, and DONE made
of its completion.
"""

from __future__ import annotations

from rig.errors import LocalProtocolError, RigError, SutError
from rig.model.completion import Completion
from rig.model.steps import Idle, Query, Solve, Step, Sync
from sut_backends.served.capabilities import MAX_PAYLOAD_B
from sut_backends.shim.messages import (
    BatchMessage,
    DoneMessage,
    ErrorCode,
    IdleMessage,
    OptimizeMessage,
    RefusalMessage,
    RunMessage,
    SyncMessage,
)

#: Limit of a backend's step. The host ends a window that takes too long earlier.
LIMIT_S = 3600.0
_US_PER_S = 1e6
_TEXT_MAX = 40
_U16_MAX = 2**16 - 1
_U32_MAX = 2**32 - 1

WindowMessage = RunMessage | BatchMessage | IdleMessage | SyncMessage | OptimizeMessage


def step_of(request: WindowMessage) -> Step:
    """Return the step that a request asks for; a slot's number is its sample's
    index."""
    match request:
        case RunMessage():
            return Query((request.slot,), LIMIT_S, request.repeat)
        case BatchMessage():
            return Query(request.slots, LIMIT_S, request.repeat, batch=True)
        case IdleMessage():
            return Idle(request.duration_us / _US_PER_S)
        case SyncMessage():
            return Sync()
        case OptimizeMessage():
            target = None if request.target == request.no_target else request.target
            return Solve(
                request.slot,
                request.timeout_us / _US_PER_S,
                seed=request.seed,
                target=target,
                thresholds=request.thresholds,
                limit_s=LIMIT_S,
            )


def done_of(
    request: WindowMessage, completion: Completion, heard_b: int
) -> DoneMessage:
    """Return DONE, with as much of the output as fits; `heard_b` bytes came in the
    window.

    Raise SutError where the backend does not count its iterations, or gave another
    number of pulses than requested: neither can be made up here.
    """
    marks = tuple((mark.phase, mark.tick) for mark in completion.marks)
    counted = isinstance(request, RunMessage | BatchMessage | OptimizeMessage)
    if counted and completion.iterations is None:
        raise SutError("the backend counts no iterations", code=ErrorCode.UNSUPPORTED)
    if isinstance(request, SyncMessage) and len(marks) != request.count:
        raise SutError(f"its bursts have {len(marks)} pulses", code=ErrorCode.ARGUMENT)
    head_b = DoneMessage(0, marks, 0).pack()
    room_b = MAX_PAYLOAD_B - len(head_b)
    if room_b < 0:
        raise SutError(f"{len(marks)} marks in one window", code=ErrorCode.UNSUPPORTED)
    iterations = completion.iterations if counted else 0
    disturbed_b = min(heard_b + completion.rx_in_window_b, _U16_MAX)
    return DoneMessage(
        disturbed_b,
        marks,
        len(completion.output),
        iterations=iterations or 0,
        output=completion.output[:room_b],
    )


def refusal(code: int, detail: int, words: str) -> RefusalMessage:
    """Return ERROR with its text shortened to fit."""
    text = words.encode("ascii", "replace").decode("ascii")[:_TEXT_MAX]
    return RefusalMessage(code, min(max(detail, 0), _U32_MAX), text)


def refused_by(error: RigError) -> RefusalMessage | None:
    """Return ERROR for an error of the backend, or None where the backend is lost and
    must be opened again.
    """
    if isinstance(error, LocalProtocolError):
        return refusal(ErrorCode.ARGUMENT, 0, error.cause)
    if isinstance(error, SutError):
        words = error.evidence or error.cause
        if error.code == ErrorCode.TOO_LARGE:
            return refusal(ErrorCode.TOO_LARGE, 0, words)
        return refusal(ErrorCode.WORKLOAD, error.code, words)
    return None
