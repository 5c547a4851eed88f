# SPDX-License-Identifier: Apache-2.0
"""A stream that a served backend plays in a thread of its own, while the host asks for
answers.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from dataclasses import replace

from rig.errors import RigError
from rig.interfaces.sut import SystemUnderTest
from rig.model.completion import DECIDED, END, STREAM, Completion
from rig.model.steps import Scene, Stream
from sut_backends.served.capabilities import MAX_PAYLOAD_B, ROOM
from sut_backends.served.jobs import LIMIT_S
from sut_backends.shim.messages import StreamMessage, StreamState, TakenMessage

_JOIN_S = 5.0
_FAILED = 1


class Playing:
    """A backend that plays windows which are all loaded; its answers are available when
    the stream is over.

    `error` is the error that the backend raised.
    """

    def __init__(
        self, sut: SystemUnderTest, request: StreamMessage, windows: Sequence[bytes]
    ) -> None:
        samples = (request.windows - 1) * request.hop + request.window
        scene = Scene("", (0,), samples)
        length_s = samples / request.sample_hz
        self._step = Stream(
            (scene,),
            request.hop,
            request.window,
            request.sample_hz,
            preloaded=True,
            limit_s=length_s + LIMIT_S,
        )
        self._windows = windows
        self._sut = sut
        self._first = 0
        self._completion: Completion | None = None
        self.error: RigError | None = None
        self._thread = threading.Thread(target=self._play, name="stream", daemon=True)
        self._thread.start()

    @property
    def plays(self) -> bool:
        """Whether the stream is still played."""
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait a while for the end of a backend that was closed."""
        self._thread.join(_JOIN_S)

    def taken(self, first: int) -> TakenMessage | None:
        """Return the answers from window `first` on, as many as fit; None where fewer
        windows were answered.
        """
        if self.plays or self._completion is None:
            return _empty(StreamState.PLAYING) if first == 0 else None
        records = _records(self._completion)
        if first > len(records):
            return None
        self._first = max(self._first, first)
        count = self._fitting(records)
        state = StreamState.FINISHED
        if self._completion.faults or len(records) < len(self._windows):
            state = StreamState.FAILED
        marks = self._completion.marks
        starts = [mark.tick for mark in marks if mark.phase == STREAM]
        ends = [mark.tick for mark in marks if mark.phase == END]
        return replace(
            _empty(state),
            start_tick=starts[0] if starts else 0,
            end_tick=ends[-1] if ends else 0,
            done=len(records),
            code=_FAILED if state == StreamState.FAILED else 0,
            first=self._first,
            count=count,
            records=b"".join(records[self._first : self._first + count]),
        )

    def _fitting(self, records: Sequence[bytes]) -> int:
        room_b = MAX_PAYLOAD_B - TakenMessage.head.size
        left = len(records) - self._first
        return min(left, ROOM, room_b // max(len(records[0]), 1)) if left else 0

    def _play(self) -> None:
        try:
            self._completion = self._sut.do(self._step, self._windows)
        except RigError as error:
            self.error = error


def nothing_played() -> TakenMessage:
    """Return the answer to TAKE where there is no stream."""
    return _empty(StreamState.NONE)


def _empty(state: StreamState) -> TakenMessage:
    return TakenMessage(
        state=state,
        room=ROOM,
        start_tick=0,
        end_tick=0,
        done=0,
        late=0,
        worst_window=0,
        worst_ticks=0,
        code=0,
        first=0,
        count=0,
    )


def _records(completion: Completion) -> list[bytes]:
    """Return a record for each window that was decided: the ticks of its marks, and its
    output.
    """
    ends = [at for at, mark in enumerate(completion.marks) if mark.phase == DECIDED]
    length_b = len(completion.output) // len(ends) if ends else 0
    records = []
    begin = 1
    for window, end in enumerate(ends):
        ticks = [mark.tick for mark in completion.marks[begin : end + 1]]
        output = completion.output[window * length_b : (window + 1) * length_b]
        records.append(struct.pack(f"<{len(ticks)}Q", *ticks) + output)
        begin = end + 1
    return records
