# SPDX-License-Identifier: Apache-2.0
"""A log of a device's line as a backend decodes it for `rig check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rig.model.completion import Completion


@dataclass(frozen=True, slots=True)
class WireBlock:
    """One block of bytes that passed the line to a device.

    `at_s` is in seconds of the host's clock; in a log negative before the trial.
    `direction` is "tx" (host to device) or "rx". Where the log has only the beginning
    of a block, `shortened` is true.
    """

    at_s: float
    direction: str
    content: bytes
    shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardStep:
    """One step as it passed the line.

    `kind` is that of the step; `asked` are fields of it as the request has them.
    `answer` is the device's, None where the log has no whole answer. `contents` are the
    CRC-32 of the samples in the slots that were asked for, None where the log does not
    show how one was loaded. `repeats` counts repetitions of the request. `dropped`: the
    line was opened again after it, so the host may not have had the answer. The
    device's ticks wrap at `mark_modulus`, 0 where they do not.
    `asked_s` is the host's time of the request, `answered_s` that of the block which
    ended the answer; None where the log has no answer, or the backend does not say.
    """

    kind: str
    asked: Mapping[str, Any]
    answer: Completion | None
    contents: tuple[int | None, ...] = ()
    repeats: int = 0
    dropped: bool = False
    mark_modulus: int = 0
    asked_s: float | None = None
    answered_s: float | None = None


@dataclass(frozen=True, slots=True)
class Recount:
    """A decoded log: the device's description (fields of SutInfo, empty where the log
    does not begin with it), and the steps in order; `unread` is the reason why the log
    cannot be decoded.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[HeardStep, ...] = ()
    unread: str = ""
