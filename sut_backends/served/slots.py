# SPDX-License-Identifier: Apache-2.0
"""The slots of a served device, and the upload that fills one of them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from sut_backends.shim.messages import CommitMessage, DataMessage, LoadMessage


@dataclass(slots=True)
class _Upload:
    slot: int
    crc32: int
    content: bytearray
    received_b: int = 0


@dataclass(slots=True)
class Slots:
    """Committed contents by slot; at most one upload is open."""

    count: int
    slot_b: int
    loaded: dict[int, bytes] = field(default_factory=dict)
    _upload: _Upload | None = None

    def clear(self) -> None:
        """Forget everything, as a device does that restarts."""
        self.loaded.clear()
        self._upload = None

    def open(self, request: LoadMessage) -> None:
        """Open a slot; its former content is dropped."""
        self.loaded.pop(request.slot, None)
        self._upload = _Upload(request.slot, request.crc32, bytearray(request.length_b))

    def drop(self) -> None:
        """Close the open slot and leave it empty."""
        self._upload = None

    @property
    def is_open(self) -> bool:
        """Whether a slot is open."""
        return self._upload is not None

    @property
    def open_b(self) -> int:
        """The length that the open slot will have."""
        return len(self._upload.content) if self._upload else 0

    def fits(self, data: DataMessage) -> bool:
        """Check whether DATA lies in the open slot."""
        return bool(data.content) and data.offset_b + len(data.content) <= self.open_b

    def store(self, data: DataMessage) -> None:
        """Put DATA, which fits, at its place."""
        assert self._upload is not None
        self._upload.content[data.offset_b : data.offset_b + len(data.content)] = (
            data.content
        )
        self._upload.received_b += len(data.content)

    def is_open_slot(self, request: CommitMessage) -> bool:
        """Check whether COMMIT names the slot that is open."""
        return self._upload is not None and self._upload.slot == request.slot

    def close(self) -> tuple[bytes, int, int, int]:
        """Close the open slot; return its content, the bytes received, the CRC of the
        content and the declared CRC.

        The slot is loaded only once the backend has taken it, too: the caller then sets
        `loaded`.
        """
        upload = self._upload
        assert upload is not None
        self._upload = None
        content = bytes(upload.content)
        return content, upload.received_b, zlib.crc32(content), upload.crc32
