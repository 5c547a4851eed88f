# SPDX-License-Identifier: Apache-2.0
"""Payloads declared by their fields: `message` makes a frozen dataclass of a class
whose fields are annotated with the types below, and `pack` and `unpack` follow from
them.

A payload is a head of fixed length with the numbers of all fields, and a tail with the
bytes of the fields of variable length, both in the order of the fields. Integers are
little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    ClassVar,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_type_hints,
)

from rig.errors import LocalProtocolError
from sut_backends.shim.messages.kinds import MessageKind

_Numbers = tuple[int, ...]  # of the head


class FieldType(Protocol):
    """Layout of a field in a payload: `head` are the struct codes of its numbers in the
    head, `has_tail` states whether it adds bytes to the tail.
    """

    @property
    def head(self) -> str: ...
    @property
    def has_tail(self) -> bool: ...
    def pack(self, value: Any) -> tuple[_Numbers, bytes]:
        """Return the numbers for the head and the bytes for the tail."""

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[Any, bytes]:
        """Return the value and the rest of the tail; raise ValueError for a tail that
        holds no value.
        """


@dataclass(frozen=True, slots=True)
class Number:
    """A number in the head; `read` makes an enumeration of it."""

    head: str
    read: Callable[[int], int] = int
    has_tail: ClassVar[bool] = False

    def pack(self, value: int) -> tuple[_Numbers, bytes]:
        return (value,), b""

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[int, bytes]:
        return self.read(numbers[0]), tail


class _Tail:
    """A field that has no number in the head."""

    __slots__ = ()
    head: ClassVar[str] = ""
    has_tail: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class _Rest(_Tail):
    """All bytes that are left."""

    def pack(self, value: bytes) -> tuple[_Numbers, bytes]:
        return (), value

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[bytes, bytes]:
        return tail, b""


@dataclass(frozen=True, slots=True)
class _RestText(_Tail):
    """All that is left, as ASCII."""

    def pack(self, value: str) -> tuple[_Numbers, bytes]:
        return (), value.encode("ascii")

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[str, bytes]:
        return tail.decode("ascii", "backslashreplace"), b""


@dataclass(frozen=True, slots=True)
class _String(_Tail):
    """ASCII after a byte with its length."""

    def pack(self, value: str) -> tuple[_Numbers, bytes]:
        code = value.encode("ascii")
        return (), bytes([len(code)]) + code

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[str, bytes]:
        if not tail or len(tail) < 1 + tail[0]:
            raise ValueError(
                f"{len(tail)} bytes left, a length and as many bytes expected"
            )
        end = 1 + tail[0]
        return tail[1:end].decode("ascii", "backslashreplace"), tail[end:]


@dataclass(frozen=True, slots=True)
class RestNumbers(_Tail):
    """Numbers of one length up to the end, `at_least` so many."""

    code: str
    at_least: int = 0

    def pack(self, value: _Numbers) -> tuple[_Numbers, bytes]:
        return (), struct.pack(f"<{len(value)}{self.code}", *value)

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[_Numbers, bytes]:
        size = struct.calcsize(f"<{self.code}")
        if len(tail) % size or len(tail) < self.at_least * size:
            raise ValueError(f"{len(tail)} bytes, {size} each expected")
        return struct.unpack(f"<{len(tail) // size}{self.code}", tail), b""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of numbers in the tail; the head has their count."""

    head: str
    row: struct.Struct
    has_tail: ClassVar[bool] = True

    def pack(self, value: tuple[_Numbers, ...]) -> tuple[_Numbers, bytes]:
        return (len(value),), b"".join(self.row.pack(*row) for row in value)

    def unpack(
        self, numbers: _Numbers, tail: bytes
    ) -> tuple[tuple[_Numbers, ...], bytes]:
        end = numbers[0] * self.row.size
        if len(tail) < end:
            raise ValueError(
                f"{len(tail)} bytes left, {numbers[0]} of {self.row.size} expected"
            )
        return tuple(self.row.iter_unpack(tail[:end])), tail[end:]


@dataclass(frozen=True, slots=True)
class LateByte(_Tail):
    """A byte at the end that is 0 where older firmware does not send it; bytes after it
    are ignored, because later firmware may add some.
    """

    read: Callable[[int], int]

    def pack(self, value: int) -> tuple[_Numbers, bytes]:
        return (), bytes([value]) if value else b""

    def unpack(self, numbers: _Numbers, tail: bytes) -> tuple[int, bytes]:
        return self.read(tail[0] if tail else 0), b""


U8 = Annotated[int, Number("B")]
U16 = Annotated[int, Number("H")]
U32 = Annotated[int, Number("I")]
U64 = Annotated[int, Number("Q")]
I32 = Annotated[int, Number("i")]
Rest = Annotated[bytes, _Rest()]
RestText = Annotated[str, _RestText()]
String = Annotated[str, _String()]


class Payload:
    """The payload of one kind of message."""

    __slots__ = ()
    kind: ClassVar[MessageKind]
    fields: ClassVar[tuple[tuple[str, FieldType], ...]]
    head: ClassVar[struct.Struct]
    has_tail: ClassVar[bool]

    def pack(self) -> bytes:
        """Return the payload; raise LocalProtocolError where a value does not fit its
        field."""
        numbers: list[int] = []
        tail = b""
        try:
            for name, field in self.fields:
                of_head, of_tail = field.pack(getattr(self, name))
                numbers += of_head
                tail += of_tail
            return self.head.pack(*numbers) + tail
        except (struct.error, ValueError) as error:
            raise LocalProtocolError(
                f"{self} does not fit its fields", evidence=str(error)
            ) from error

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Read a payload; raise ValueError where it is none of this kind."""
        head_b = cls.head.size
        if len(payload) < head_b or (len(payload) > head_b and not cls.has_tail):
            least = "at least " if cls.has_tail else ""
            raise ValueError(
                f"{cls.kind.name} of {len(payload)} bytes, {least}{head_b} expected"
            )
        numbers = cls.head.unpack_from(payload)
        tail = payload[head_b:]
        values = []
        for name, field in cls.fields:
            count = len(field.head)
            try:
                value, tail = field.unpack(numbers[:count], tail)
            except ValueError as error:
                raise ValueError(f"{name} of {cls.kind.name}: {error}") from error
            numbers = numbers[count:]
            values.append(value)
        message = cls(*values)
        message.check()
        return message

    def check(self) -> None:
        """Raise ValueError where fields that were read contradict each other."""


_P = TypeVar("_P", bound=Payload)


@dataclass_transform(frozen_default=True)
def message(kind: MessageKind) -> Callable[[type[_P]], type[_P]]:
    """Make a class the payload of `kind`: a frozen dataclass that packs and unpacks
    itself."""

    def decorate(declared: type[_P]) -> type[_P]:
        made = dataclass(frozen=True, slots=True)(declared)
        hints = get_type_hints(declared, include_extras=True)
        made.kind = kind
        fields = []
        for name in declared.__annotations__:
            if hasattr(hints[name], "__metadata__"):
                fields.append((name, get_args(hints[name])[1]))
        made.fields = tuple(fields)
        made.head = struct.Struct("<" + "".join(field.head for _, field in made.fields))
        made.has_tail = any(field.has_tail for _, field in made.fields)
        return made

    return decorate
