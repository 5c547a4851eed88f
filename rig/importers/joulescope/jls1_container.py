# SPDX-License-Identifier: Apache-2.0
"""The container of JLS version 1: blocks of a tag, a length, a value and a CRC, in a
file that says its own length.

Source: the description at the head of joulescope/datafile.py, and what that program
writes. Little endian throughout.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from rig.errors import DataError

MAGIC = b"\xd3tagfmt \r\n \n  \x1a\x1c"
#: File length (0 while it is written), three bytes without a meaning, version, CRC of
#: all before.
_HEADER = struct.Struct("<16sQ3xBI")
#: Tag of three letters, flags, length of the value. After the value: zeros up to a
#: multiple of 8 bytes less 4, and the CRC.
_START = struct.Struct("<3sBI")
_CRC = struct.Struct("<I")
_COMPRESSED = 0x80
_ENCRYPTED = 0x40
#: No block of a recording is as large: what claims to be would fill the memory.
_LARGEST_B = 64 << 20


@dataclass(frozen=True, slots=True)
class ContainerBlock:
    """One block, and where it begins in the file."""

    tag: str
    value: bytes
    at: int


class TaggedFile:
    """Reads the blocks of an open file one after the other; `name` is what errors call
    it.

    `is_closed` says whether its writer closed it and all of it is there. Raises
    DataError for damage, or another format.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._size_b = stream.seek(0, 2)
        stream.seek(0)
        head = stream.read(_HEADER.size)
        if len(head) < _HEADER.size:
            raise self._damaged("it ends within its header", 0)
        magic, length_b, version, crc = _HEADER.unpack(head)
        if magic != MAGIC or crc != zlib.crc32(head[: -_CRC.size]):
            raise self._damaged("its header does not have the CRC that it says", 0)
        if version != 1:
            raise DataError(
                f"{name} is of version {version} of this format",
                evidence="only version 1 is known",
            )
        self.is_closed = length_b == self._size_b
        if 0 < length_b < self._size_b:
            raise self._damaged(
                f"it says to be {length_b} bytes long and is {self._size_b}", 0
            )

    def __iter__(self) -> Iterator[ContainerBlock]:
        """Yield blocks up to the end; of a file that was not closed properly, all that
        are complete.
        """
        at = self._stream.tell()
        while True:
            head = self._stream.read(_START.size)
            left_b = self._size_b - at
            if len(head) == _START.size:
                tag, flags, length_b = _START.unpack(head)
            else:
                tag, flags, length_b = (b"", 0, 0)
            whole_b = _padded(_START.size + length_b + _CRC.size)
            if len(head) < _START.size or whole_b > left_b:
                if self.is_closed:
                    raise self._damaged("it ends without an end block", at)
                return
            if length_b > _LARGEST_B:
                raise self._damaged(f"a block claims {length_b} bytes", at)
            content = self._stream.read(whole_b - _START.size)
            (stated,) = _CRC.unpack(content[-_CRC.size :])
            if zlib.crc32(content[: -_CRC.size], zlib.crc32(head)) != stated:
                raise self._damaged("a block does not have the CRC that it says", at)
            if tag == b"END":
                return
            yield ContainerBlock(
                tag.decode("latin-1"), self._plain(content[:length_b], flags, at), at
            )
            at += whole_b

    def _plain(self, value: bytes, flags: int, at: int) -> bytes:
        if flags & _ENCRYPTED:
            raise DataError(
                f"{self._name} is encrypted", evidence=f"the block at byte {at}"
            )
        if not flags & _COMPRESSED:
            return value
        inflater = zlib.decompressobj()
        try:
            plain = inflater.decompress(value, _LARGEST_B)
        except zlib.error as error:
            raise self._damaged(
                f"a block cannot be decompressed: {error}", at
            ) from error
        if not inflater.eof:
            raise self._damaged("a block cannot be decompressed to its end", at)
        return plain

    def _damaged(self, what: str, at: int) -> DataError:
        return DataError(
            f"{self._name} is damaged",
            evidence=f"{what} (byte {at})",
            try_next="copy it again from its origin",
        )


def _padded(size_b: int) -> int:
    return -(-size_b // 8) * 8
