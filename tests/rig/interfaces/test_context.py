# SPDX-License-Identifier: Apache-2.0
"""Who listens to the line of a device: several, and none can end the conversation."""

from __future__ import annotations

from rig.interfaces.context import BenchContext


def test_several_hear_every_block_until_they_are_removed() -> None:
    context = BenchContext()
    item: list[tuple[str, bytes]] = []
    other: list[tuple[str, bytes]] = []
    remove = context.listen(lambda direction, block: item.append((direction, block)))
    context.listen(lambda direction, block: other.append((direction, block)))
    context.wire("tx", b"name%")
    remove()
    remove()
    context.wire("rx", b"m-ready")
    assert item == [("tx", b"name%")]
    assert other == [("tx", b"name%"), ("rx", b"m-ready")]


def test_one_that_raises_is_dropped_and_named() -> None:
    context = BenchContext()
    heard: list[bytes] = []

    def spoilt(direction: str, block: bytes) -> None:
        raise RuntimeError("no console")

    context.listen(spoilt)
    context.listen(lambda direction, block: heard.append(block))
    for block in (b"a", b"b"):
        context.wire("tx", block)
    assert heard == [b"a", b"b"]
    (output,) = context.state.deaf
    assert "spoilt" in output and "no console" in output
