# SPDX-License-Identifier: Apache-2.0
"""Execution of the requests of the framed layer, each in order and once:
docs/reference/PROTOCOL.md section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from rig.errors import RigError
from rig.interfaces.sut import SystemUnderTest
from rig.model.steps import Load
from sut_backends.served.capabilities import MAX_PAYLOAD_B, capabilities
from sut_backends.served.jobs import WindowMessage, refusal, refused_by
from sut_backends.served.playing import Playing, nothing_played
from sut_backends.served.slots import Slots
from sut_backends.shim.messages import (
    BatchMessage,
    BaudMessage,
    CapsMessage,
    ChunkMessage,
    CommitMessage,
    DataMessage,
    ErrorCode,
    Flag,
    IdleMessage,
    KnewMessage,
    KnownMessage,
    LoadMessage,
    MessageKind,
    OptimizeMessage,
    Payload,
    RefusalMessage,
    ResultMessage,
    RunMessage,
    StreamMessage,
    SyncMessage,
    TakeMessage,
)

_WHILE_PLAYING = {
    MessageKind.PING,
    MessageKind.LOAD,
    MessageKind.DATA,
    MessageKind.COMMIT,
    MessageKind.TAKE,
}
_SHAPES: dict[int, type[Payload]] = {
    shape.kind: shape
    for shape in (
        BaudMessage,
        LoadMessage,
        CommitMessage,
        RunMessage,
        IdleMessage,
        SyncMessage,
        ResultMessage,
        BatchMessage,
        StreamMessage,
        TakeMessage,
        OptimizeMessage,
        KnewMessage,
    )
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that needs no window."""

    kind: MessageKind
    payload: bytes = b""
    to_text: bool = False


class BackendGone(Exception):
    """The backend raised an error, and its device is lost."""

    def __init__(self, error: RigError) -> None:
        super().__init__(str(error))
        self.error = error


DONE = Reply(MessageKind.STATUS)


class Requests:
    """Execute requests with a backend, and answer them."""

    def __init__(self, sut: SystemUnderTest) -> None:
        self.sut = sut
        self.caps = capabilities(sut.info)
        self.slots = Slots(self.caps.slots, self.caps.slot_b)
        self.output = b""
        self.known: tuple[int, ...] = ()
        self._playing: Playing | None = None

    def caps_for(self, nonce: int) -> CapsMessage:
        """Return CAPS for a session."""
        return replace(self.caps, nonce=nonce)

    def clear(self) -> None:
        """Forget the samples and outputs of a session."""
        self.slots.clear()
        self.output = b""
        self.known = ()
        self._playing = None

    def end(self) -> None:
        """Wait for the thread of a stream whose backend was closed."""
        if self._playing:
            self._playing.join()

    def execute(self, kind: int, payload: bytes) -> Reply | WindowMessage:
        """Answer a request; return one that opens a window as a message."""
        if self._plays and kind not in _WHILE_PLAYING:
            return no(ErrorCode.ARGUMENT, 0, "a stream is played")
        if kind == MessageKind.PING:
            return Reply(MessageKind.PONG, payload)
        if kind == MessageKind.TEXT and not payload:
            return Reply(MessageKind.STATUS, to_text=True)
        if kind == MessageKind.DATA:
            return self._unstorable(payload)
        shape = _SHAPES.get(kind)
        if shape is None:
            if kind == MessageKind.TEXT:
                return no(ErrorCode.LENGTH, 0, "wrong length")
            return no(ErrorCode.TYPE, kind, "unknown request")
        try:
            message = shape.unpack(payload)
        except ValueError:
            return no(ErrorCode.LENGTH, shape.head.size, "wrong payload length")
        return self._answer(message)

    @property
    def _plays(self) -> bool:
        return self._playing is not None and self._playing.plays

    def _answer(self, message: Payload) -> Reply | WindowMessage:
        match message:
            case BaudMessage():
                return no(ErrorCode.UNSUPPORTED, 0, "this line has a fixed rate")
            case LoadMessage():
                return self._load(message)
            case CommitMessage():
                return self._commit(message)
            case ResultMessage():
                return self._result(message)
            case KnewMessage():
                return self._knew(message)
            case StreamMessage():
                return self._stream(message)
            case TakeMessage():
                return self._take(message)
            case (
                RunMessage()
                | BatchMessage()
                | IdleMessage()
                | SyncMessage()
                | OptimizeMessage() as window
            ):
                return self._refused(window) or window
            case _:
                raise AssertionError(message)

    # ---- inputs and outputs ----

    def _load(self, request: LoadMessage) -> Reply:
        if request.slot >= self.caps.slots:
            return no(ErrorCode.SLOT, self.caps.slots, "no such slot")
        if self._plays:
            return no(ErrorCode.ARGUMENT, 0, "all windows of this stream are there")
        if request.length_b > self.caps.slot_b:
            return no(ErrorCode.TOO_LARGE, self.caps.slot_b, "larger than a slot")
        self.slots.open(request)
        return DONE

    def _unstorable(self, payload: bytes) -> Reply:
        least_b = DataMessage.head.size + 1
        if len(payload) < least_b:
            return no(
                ErrorCode.LENGTH, least_b, "DATA holds an offset and 1 byte or more"
            )
        if not self.slots.is_open:
            return no(ErrorCode.ARGUMENT, 0, "no slot is open")
        return no(ErrorCode.ARGUMENT, self.slots.open_b, "outside the opened slot")

    def _commit(self, request: CommitMessage) -> Reply:
        if request.slot >= self.caps.slots:
            return no(ErrorCode.SLOT, self.caps.slots, "no such slot")
        if not self.slots.is_open_slot(request):
            return no(ErrorCode.NOT_LOADED, request.slot, "this slot is not open")
        content, received_b, crc32, declared_crc32 = self.slots.close()
        if received_b != len(content):
            return no(ErrorCode.CRC, received_b, "not the declared number of bytes")
        if crc32 != declared_crc32:
            return no(ErrorCode.CRC, crc32, "CRC of the content differs")
        try:
            self.sut.do(Load(request.slot), [content])
        except RigError as error:
            return self.refused(error)
        self.slots.loaded[request.slot] = content
        return DONE

    def _result(self, request: ResultMessage) -> Reply:
        if request.offset_b > len(self.output):
            return no(
                ErrorCode.ARGUMENT, len(self.output), "behind the end of the output"
            )
        end_b = request.offset_b + MAX_PAYLOAD_B - ChunkMessage.head.size
        chunk = ChunkMessage(request.offset_b, self.output[request.offset_b : end_b])
        return Reply(MessageKind.CHUNK, chunk.pack())

    def _knew(self, request: KnewMessage) -> Reply:
        if request.first > len(self.known):
            return no(
                ErrorCode.ARGUMENT, len(self.known), "behind the last threshold reached"
            )
        known = KnownMessage(
            len(self.known), request.first, self.known[request.first :]
        )
        return Reply(MessageKind.KNOWN, known.pack())

    # ---- streams ----

    def _stream(self, request: StreamMessage) -> Reply:
        if Flag.STREAM not in self.caps.flags:
            return no(ErrorCode.UNSUPPORTED, 0, "this backend plays no streams")
        samples = (request.windows - 1) * request.hop + request.window
        sensible = (
            request.windows and request.sample_hz and 0 < request.hop <= request.window
        )
        if not sensible or samples >= 2**32:
            return no(ErrorCode.ARGUMENT, 0, "no such stream")
        if request.windows > self.caps.slots:
            return no(
                ErrorCode.ARGUMENT, self.caps.slots, "served streams fit into the slots"
            )
        windows = [self.slots.loaded.get(slot) for slot in range(request.windows)]
        if None in windows:
            return no(
                ErrorCode.NOT_LOADED, windows.index(None), "this slot is not loaded"
            )
        self.output = b""
        self.slots.clear()
        contents = [window for window in windows if window is not None]
        self._playing = Playing(self.sut, request, contents)
        return DONE

    def _take(self, request: TakeMessage) -> Reply:
        if Flag.STREAM not in self.caps.flags:
            return no(ErrorCode.UNSUPPORTED, 0, "this backend plays no streams")
        if self._playing and self._playing.error and not self._playing.plays:
            return self.refused(self._playing.error)
        taken = self._playing.taken(request.next) if self._playing else nothing_played()
        if taken is None:
            return no(ErrorCode.ARGUMENT, 0, "no such window yet")
        return Reply(MessageKind.TAKEN, taken.pack())

    # ---- windows ----

    def _refused(self, request: WindowMessage) -> Reply | None:
        """Return ERROR for an invalid request for a window, None for a valid one."""
        if request.hold_us and self.caps.hold_min_us not in (0, request.hold_us):
            words = "the backend's pulses have one length"
            return no(ErrorCode.ARGUMENT, self.caps.hold_min_us, words)
        match request:
            case RunMessage():
                return self._missing((request.slot,)) or self._uncounted(request.repeat)
            case BatchMessage():
                if Flag.BATCH not in self.caps.flags:
                    return no(ErrorCode.UNSUPPORTED, 0, "this backend takes no batches")
                return self._missing(request.slots) or self._uncounted(
                    request.repeat * len(request.slots)
                )
            case SyncMessage():
                if not 2 <= request.count <= self.caps.marks_max:
                    return no(
                        ErrorCode.ARGUMENT,
                        self.caps.marks_max,
                        "count is 2 to marks_max",
                    )
            case OptimizeMessage():
                return self._unsearchable(request)
        return None

    def _unsearchable(self, request: OptimizeMessage) -> Reply | None:
        if Flag.OPTIMIZE not in self.caps.flags:
            return no(ErrorCode.UNSUPPORTED, 0, "this backend does not search")
        most = OptimizeMessage.most(self.caps)
        if len(request.thresholds) > most:
            return no(ErrorCode.ARGUMENT, most, "too many thresholds")
        for number, (above, below) in enumerate(pairwise(request.thresholds), 1):
            if below >= above:
                return no(ErrorCode.ARGUMENT, number, "thresholds must fall")
        if not request.timeout_us:
            return no(ErrorCode.ARGUMENT, 1, "the time-out is 1 us or more")
        return self._missing((request.slot,))

    def _missing(self, slots: tuple[int, ...]) -> Reply | None:
        if len(slots) > self.caps.slots:
            return no(ErrorCode.ARGUMENT, self.caps.slots, "no such slot")
        for slot in slots:
            if slot >= self.caps.slots:
                return no(ErrorCode.SLOT, self.caps.slots, "no such slot")
            if slot not in self.slots.loaded:
                return no(ErrorCode.NOT_LOADED, slot, "this slot is not loaded")
        return None

    def _uncounted(self, runs: int) -> Reply | None:
        if not 0 < runs < 2**32:
            return no(ErrorCode.ARGUMENT, 1, "repeat is 1 or more")
        return None

    def refused(self, error: RigError) -> Reply:
        """Return ERROR for an error of the backend; raise BackendGone where it is
        lost.
        """
        message: RefusalMessage | None = refused_by(error)
        if message is None:
            raise BackendGone(error) from error
        return Reply(MessageKind.ERROR, message.pack())


def no(code: ErrorCode, detail: int, words: str) -> Reply:
    """Return an ERROR."""
    return Reply(MessageKind.ERROR, refusal(code, detail, words).pack())
