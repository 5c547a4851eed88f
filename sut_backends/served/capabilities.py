# SPDX-License-Identifier: Apache-2.0
"""Capabilities of a served backend as CAPS; docs/reference/PROTOCOL.md section 4."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from rig.errors import ConfigError
from rig.interfaces.sut import SERVED_BY, SutInfo
from rig.model.origin import Origin, Origins
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.shim.messages import (
    CAPS_MAX_PAYLOAD_B,
    PROTOCOL,
    CapsMessage,
    Flag,
    More,
)

WINDOW = 8
MAX_PAYLOAD_B = 1024
#: TAKEN has one byte for it.
ROOM = 255
#: Size of a slot if the backend does not state how large a sample may be.
_SLOT_B = 1 << 24
_OUTPUT_B = 1 << 24
_MARKS_MAX = 18
_U16_MAX = 2**16 - 1


def capabilities(info: SutInfo) -> CapsMessage:
    """Return CAPS for a backend, nonce 0; ConfigError for one that reports no time.

    There is a SYNC line only where real pulses leave the device at the marks: the
    pulses of a simulated device are in this computer's memory, out of reach of a
    monitor of another host.
    """
    if info.clock == EDGE_CLOCK:
        raise ConfigError(
            f"{info.name} reports no time, so it cannot be served",
            path="sut",
            try_next=(
                "carry its port to the other host by itself, with ser2net or socat"
            ),
        )
    has_pulses = pulses(info)
    strings = {
        "device": info.name,
        "firmware": f"{SERVED_BY}{version('neurorig')}",
        "workload": info.task,
        "model": info.model,
        "build": info.firmware,
        "sync_pin": "the backend's own" if has_pulses else "",
    }
    return CapsMessage(
        nonce=0,
        protocol=PROTOCOL,
        window=WINDOW,
        max_payload_b=MAX_PAYLOAD_B,
        slots=min(max(info.slots, 1), _U16_MAX),
        slot_b=info.slot_bytes or _SLOT_B,
        output_b=_OUTPUT_B,
        marks_max=_marks_max(info),
        tick_hz=info.tick_hz,
        hold_min_us=round(info.sync_hold_s * 1e6) if has_pulses else 0,
        phases=phases_of(info),
        flags=_flags(info),
        more=_more(info),
        **_shortened(strings),
    )


def pulses(info: SutInfo) -> bool:
    """Check whether real SYNC pulses leave the backend's device."""
    return info.has_sync_line and not is_simulated(info)


def is_simulated(info: SutInfo) -> bool:
    """Check whether its times or energies are simulated or modelled: the protocol has
    one bit for all of these, and none of them may be taken for measured.
    """
    stated = info.origins or Origins()
    doubtful = {Origin.SIMULATED, Origin.MODELLED}
    return info.simulated or stated.time in doubtful or stated.energy in doubtful


def phases_of(info: SutInfo) -> int:
    """Return how many phases a query has: as the backend states, else two, or one where
    it cannot mark them apart.
    """
    stated = info.details.get("phases")
    if isinstance(stated, int) and not isinstance(stated, bool) and stated:
        return stated
    return 2 if info.marks_phases else 1


def _marks_max(info: SutInfo) -> int:
    """Return how many marks DONE may have; in a search the host uses all but two for
    thresholds.
    """
    return info.thresholds_max + 2 if info.solves else _MARKS_MAX


def _flags(info: SutInfo) -> Flag:
    flags = Flag.NO_SELF_TEST | Flag.NO_CLASSIC
    if pulses(info):
        flags |= Flag.SYNC_LINE
    if info.batch_max > 1:
        flags |= Flag.BATCH
    if info.solves:
        flags |= Flag.OPTIMIZE
    if info.streams:
        flags |= Flag.STREAM
    return flags


def _more(info: SutInfo) -> More:
    more: More = More.SIMULATED if is_simulated(info) else More(0)
    if info.solves and info.details.get("knows_thresholds"):
        return more | More.KNEW
    return more


def _shortened(strings: Mapping[str, str]) -> dict[str, str]:
    """Return the strings in ASCII, the last ones cut where CAPS is full."""
    room_b = CAPS_MAX_PAYLOAD_B - CapsMessage.head.size - len(strings) - 1
    fitting = {}
    for field, text in strings.items():
        piece = text.encode("ascii", "replace").decode("ascii")[:room_b]
        room_b -= len(piece)
        fitting[field] = piece
    return fitting
