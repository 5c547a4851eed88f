# SPDX-License-Identifier: Apache-2.0
"""Fields of CAPS as fields of SutInfo."""

from __future__ import annotations

from typing import Any

from sut_backends.shim.messages import BatchMessage, CapsMessage, Flag, OptimizeMessage


def batch_max(caps: CapsMessage) -> int:
    """Return how many samples a batch may have; 0 where the DUT knows no batches."""
    if Flag.BATCH not in caps.flags:
        return 0
    return min(caps.slots, BatchMessage.most(caps.max_payload_b))


def thresholds_max(caps: CapsMessage) -> int:
    """Return how many thresholds a search may have; 0 where the DUT does not search."""
    return OptimizeMessage.most(caps) if Flag.OPTIMIZE in caps.flags else 0


def facts_of(caps: CapsMessage) -> dict[str, Any]:
    """Return the fields of SutInfo that CAPS determines."""
    return {
        "name": caps.device,
        "tick_hz": caps.tick_hz,
        "task": caps.workload,
        "model": caps.model,
        "firmware": f"{caps.firmware} {caps.build}".strip(),
        "slots": caps.slots,
        "slot_bytes": caps.slot_b,
        "batch_max": batch_max(caps),
        "solves": Flag.OPTIMIZE in caps.flags,
        "thresholds_max": thresholds_max(caps),
        "streams": Flag.STREAM in caps.flags,
        "has_sync_line": Flag.SYNC_LINE in caps.flags,
    }
