# SPDX-License-Identifier: Apache-2.0
"""Frames and lines of text of the shim protocol in words, for a console."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, cast

from rig.interfaces.console import WireLine, hex_text
from sut_backends.shim import messages
from sut_backends.shim.frame import DELIMITER, Frame, decode
from sut_backends.shim.messages import (
    ERROR_MEANING,
    MessageKind,
    Payload,
    RefusalMessage,
)

#: Longer than any frame: an unended piece of this length is noise.
_WAITING_MAX_B = 80_000
_TEXT = frozenset(range(0x20, 0x7F)) | {0x0D, 0x0A}
#: End of a line of text: of a command of the host, of a line of the device.
_ENDS = {"tx": b"%", "rx": b"\n"}
_NUMBERS_SHOWN = 6
_UNITS = {"us": "us", "b": "B", "hz": "Hz"}

_SHAPES: Mapping[int, type[Payload]] = {
    shape.kind: shape
    for shape in vars(messages).values()
    if isinstance(shape, type) and issubclass(shape, Payload) and shape is not Payload
}


class ShimDecoder:
    """Separate frames from text in the bytes of a line, each direction by itself."""

    def __init__(self) -> None:
        self._waiting = {"tx": b"", "rx": b""}

    def feed(self, direction: str, block: bytes, at_s: float) -> list[WireLine]:
        """Return the lines that a block completes."""
        *closed, rest = (self._waiting.get(direction, b"") + block).split(DELIMITER)
        lines: list[WireLine] = []
        for piece in closed:
            lines += _closed(direction, piece, at_s)
        if _is_text(rest):
            *ended, rest = rest.split(_ENDS[direction])
            lines += _texts(direction, ended, at_s)
        elif len(rest) > _WAITING_MAX_B:
            lines.append(_noise(direction, rest, at_s))
            rest = b""
        self._waiting[direction] = rest
        return lines


def _is_text(block: bytes) -> bool:
    return _TEXT.issuperset(block)


def _closed(direction: str, piece: bytes, at_s: float) -> list[WireLine]:
    """Return the lines of a piece between two delimiters."""
    if not piece:
        return []
    try:
        return [_line(direction, decode(piece), at_s)]
    except ValueError:
        if _is_text(piece):
            return _texts(direction, piece.split(_ENDS[direction]), at_s)
        return [_noise(direction, piece, at_s)]


def _texts(direction: str, ended: list[bytes], at_s: float) -> list[WireLine]:
    texts = [piece.decode("ascii").strip() for piece in ended]
    return [WireLine(at_s, direction, "text", text) for text in texts if text]


def _noise(direction: str, block: bytes, at_s: float) -> WireLine:
    return WireLine(at_s, direction, "noise", f"no frame: {hex_text(block)}", ok=False)


def _line(direction: str, frame: Frame, at_s: float) -> WireLine:
    try:
        name = MessageKind(frame.kind).name
    except ValueError:
        text = (
            f"unknown message {frame.kind:#04x}, number {frame.seq},"
            f" {hex_text(frame.payload)}"
        )
        return WireLine(at_s, direction, "noise", text, ok=False)
    content, ok = _content(frame)
    return WireLine(at_s, direction, name, f"#{frame.seq} {content}".rstrip(), ok)


def _content(frame: Frame) -> tuple[str, bool]:
    """Return the payload of a frame in words, and whether it is no error."""
    shape = _SHAPES.get(frame.kind)
    if shape is None:
        return hex_text(frame.payload) if frame.payload else "", True
    try:
        message = shape.unpack(frame.payload)
    except ValueError as error:
        return f"cannot be read: {error}", False
    if isinstance(message, RefusalMessage):
        return _refusal(message), False
    return _fields(message), True


def _refusal(message: RefusalMessage) -> str:
    meaning = ERROR_MEANING.get(message.code, f"unknown code {message.code}")
    text = f": {message.text}" if message.text else ""
    return f"{meaning}, detail {message.detail}{text}"


def _fields(message: Payload) -> str:
    # `message` makes dataclasses of payloads.
    names = [field.name for field in dataclasses.fields(cast(Any, message))]
    texts = [_field(name, getattr(message, name)) for name in names]
    return ", ".join(filter(None, texts))


def _field(name: str, value: Any) -> str:
    """Return a field in words; empty where its value is."""
    words, _, last = name.rpartition("_")
    unit = _UNITS.get(last, "") if words else ""
    title = (words if unit else name).replace("_", " ")
    if isinstance(value, bytes):
        return f"{title} {hex_text(value)}" if value else ""
    if isinstance(value, enum.Flag | enum.Enum):
        names = (value.name or "0").lower()
        return f"{title} {names.replace('|', ' + ').replace('_', ' ')}"
    if isinstance(value, tuple):
        return f"{title} {_numbers(value)}" if value else ""
    if value == "":
        return ""
    return f"{title} {value}{' ' + unit if unit else ''}"


def _numbers(values: tuple[Any, ...]) -> str:
    """Return the first numbers, or pairs of them, of a list."""
    shown = []
    for each in values[:_NUMBERS_SHOWN]:
        is_pair = isinstance(each, tuple)
        shown.append(f"{each[0]:#04x} at {each[1]}" if is_pair else str(each))
    more = f", ... {len(values)} in all" if len(values) > _NUMBERS_SHOWN else ""
    return f"({', '.join(shown)}{more})"
