# SPDX-License-Identifier: Apache-2.0
"""What a served backend can do, in the words of CAPS; docs/PROTOCOL.md section 4."""

from __future__ import annotations

from importlib.metadata import version

from rig.errors import ConfigError
from rig.interfaces.sut import SutInfo
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
#: TAKEN tells it in a byte.
ROOM = 255
#: Where a backend does not say how large a sample may be.
_SLOT_B = 1 << 24
_OUTPUT_B = 1 << 24
_MARKS_MAX = 18
_U16_MAX = 2**16 - 1
_STRINGS = 6


def capabilities(info: SutInfo) -> CapsMessage:
    """Return CAPS for a backend, nonce 0; ConfigError for one without a clock to tell.

    SYNC is there only where real pulses leave the device at the marks: those of a
    simulated device are in this computer's memory, where no monitor of another host
    sees them.
    """
    if info.clock == EDGE_CLOCK:
        raise ConfigError(
            f"{info.name} reports no time, so it cannot be served",
            path="sut",
            try_next=(
                "carry its port to the other host by itself, with ser2net or socat"
            ),
        )
    phases = phases_of(info)
    device, firmware, workload, model, build, sync_pin = _ascii(
        info.name,
        f"served by neurorig {version('neurorig')}",
        info.task,
        info.model,
        info.firmware,
        "the backend's own" if pulses(info) else "",
    )
    return CapsMessage(
        0,
        PROTOCOL,
        WINDOW,
        MAX_PAYLOAD_B,
        min(max(info.slots, 1), _U16_MAX),
        info.slot_bytes or _SLOT_B,
        _OUTPUT_B,
        _marks_max(info),
        info.tick_hz,
        round(info.sync_hold_s * 1e6) if pulses(info) else 0,
        phases,
        _flags(info),
        device,
        firmware,
        workload,
        model,
        build,
        sync_pin,
        _more(info),
    )


def pulses(info: SutInfo) -> bool:
    """Return whether real SYNC pulses leave the backend's device."""
    return info.has_sync_line and not is_simulated(info)


def is_simulated(info: SutInfo) -> bool:
    """Return whether times or energies of it are simulated or modelled: the protocol
    has one bit for all of these, and none of them may be taken for measured.
    """
    stated = info.origins or Origins()
    doubtful = {Origin.SIMULATED, Origin.MODELLED}
    return info.simulated or stated.time in doubtful or stated.energy in doubtful


def phases_of(info: SutInfo) -> int:
    """Return how many phases a query has: as the backend says, else two, or one where
    it cannot mark them apart.
    """
    told = info.details.get("phases")
    if isinstance(told, int) and not isinstance(told, bool) and told:
        return told
    return 2 if info.marks_phases else 1


def _marks_max(info: SutInfo) -> int:
    """Return how many marks DONE may have; of a search the host takes all but two for
    thresholds.
    """
    return info.thresholds_max + 2 if info.solves else _MARKS_MAX


def _flags(info: SutInfo) -> Flag:
    flags = Flag.NO_SELF_TEST | Flag.NO_CLASSIC
    for offered, flag in (
        (pulses(info), Flag.SYNC_LINE),
        (info.batch_max > 1, Flag.BATCH),
        (info.solves, Flag.OPTIMIZE),
        (info.streams, Flag.STREAM),
    ):
        flags |= flag if offered else Flag(0)
    return flags


def _more(info: SutInfo) -> More:
    more: More = More.SIMULATED if is_simulated(info) else More(0)
    return (
        more | More.KNEW
        if info.solves and info.details.get("knows_thresholds")
        else more
    )


def _ascii(*strings: str) -> list[str]:
    """Return them in ASCII, the last ones cut where CAPS is full."""
    room_b = CAPS_MAX_PAYLOAD_B - CapsMessage.head.size - _STRINGS - 1
    fitting = []
    for text in strings:
        piece = text.encode("ascii", "replace").decode("ascii")[:room_b]
        room_b -= len(piece)
        fitting.append(piece)
    return fitting
