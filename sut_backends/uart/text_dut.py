# SPDX-License-Identifier: Apache-2.0
"""A DUT in the text layer, which every EEMBC / MLPerf Tiny firmware has, built for
performance or for energy mode.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence

from rig.errors import LocalProtocolError, RemoteProtocolError
from rig.host.stop import pause
from rig.interfaces.sut import SutInfo
from rig.model.completion import END, IDLE, SYNC, Completion, Mark
from rig.model.steps import Idle, Load, Query, Step, Sync
from rig.timebase.edge_clock import EDGE_CLOCK
from sut_backends.shim.messages import SyncMessage
from sut_backends.uart.dut import Pulses
from sut_backends.uart.slots import only_index
from sut_backends.uart.text_client import TextClient

PHASE = 0x01  # of `infer`, which is one phase here
_TICK_HZ = 1_000_000
_US_PER_S = 1_000_000
_OWN_PROFILE = "neurorig "
_OWN_HOLD_S = 50e-6  # PROTOCOL section 5; unknown for other firmware


class TextDut:
    """Turn steps into commands; marks are the DUT's `m-lap-us` stamps.

    Firmware built for energy mode prints none and only pulses SYNC: then the edges at
    the monitor are the only clock, and the ticks of the marks are the host's, which
    only serve to pair marks with edges (rig/timebase/edge_clock.py).
    """

    def __init__(self, client: TextClient, name: str, pulses: Pulses) -> None:
        self._client = client
        self._name = name
        self._pulses = pulses
        self._profile, self._model = client.profile()
        self._loaded: int | None = None
        client.find_mode()  # and every later stamp is judged by this one

    @property
    def info(self) -> SutInfo:
        """The DUT's report about itself."""
        is_own = self._profile.startswith(_OWN_PROFILE)
        line = self._client.line
        mode = "performance" if self._client.tells_time else "energy"
        details = {
            "layer": "text",
            "baud": line.baud,
            "load_checked": False,
            "timestamp_mode": mode,
        }
        if self._client.echo:
            details |= {"echo": self._client.echo}
        return SutInfo(
            name=self._name,
            kind="uart",
            simulated=False,
            tick_hz=_TICK_HZ,
            task=self._profile.removeprefix(_OWN_PROFILE) if is_own else "",
            model=self._model,
            firmware=self._profile,
            link=f"{line.name}, {line.baud} baud, text",
            sync_hold_s=_OWN_HOLD_S if is_own else 0.0,
            marks_phases=False,
            clock="" if self._client.tells_time else EDGE_CLOCK,
            details=details,
        )

    def do(self, step: Step, payloads: Sequence[bytes] = ()) -> Completion:
        """Give the commands of a step; LocalProtocolError where there is none for
        it."""
        match step:
            case Load():
                return self._load(step.index, payloads[0])
            case Idle():
                return self._idle(step.duration_s)
            case Sync():
                return self._sync()
            case Query():
                return self._run(step)
            case _:
                raise LocalProtocolError(
                    f"the text layer has no command for a step of kind {step.kind!r}",
                    try_next='layer = "auto", and a firmware that knows frames',
                )

    def _load(self, index: int, payload: bytes) -> Completion:
        """Bring `payload` into the DUT: lost and doubled bytes are found, a digit
        changed into another digit is not.
        """
        if not payload:
            raise LocalProtocolError(f"sample {index} is empty")
        self._loaded = None
        self._client.load(payload)
        self._loaded = index
        return Completion(())

    def _idle(self, duration_s: float) -> Completion:
        """Wait between two stamps."""
        start_us = self._client.timestamp()
        pause(duration_s)
        stop_us = self._client.timestamp()
        if stop_us - start_us < duration_s * _US_PER_S / 2:
            evidence = f"{stop_us - start_us} us in a wait of {duration_s} s"
            raise RemoteProtocolError(
                "the DUT's time stamps cannot be true", evidence=evidence
            )
        return Completion((Mark(IDLE, start_us), Mark(END, stop_us)))

    def _sync(self) -> Completion:
        """Ask for stamps in the pattern of a SYNC burst; the line's own time comes on
        top."""
        marks = []
        due_s = time.monotonic()
        for number in range(self._pulses.count):
            pause(max(due_s - time.monotonic(), 0.0))
            periods = SyncMessage.intervals[number % len(SyncMessage.intervals)]
            interval_s = periods * self._pulses.period_us / _US_PER_S
            due_s = time.monotonic() + interval_s
            marks.append(Mark(SYNC, self._client.timestamp()))
        return Completion(tuple(marks))

    def _run(self, query: Query) -> Completion:
        """Process the sample of `query`; the output is a signed 32-bit number of
        thousandths for each class.
        """
        index = only_index(query)
        if index != self._loaded:
            there = "nothing" if self._loaded is None else f"sample {self._loaded}"
            raise LocalProtocolError(
                f"sample {index} is not loaded", evidence=f"in the DUT: {there}"
            )
        if query.window is not None:
            return self._window(query)
        inference = self._client.infer(query.repeat, query.limit_s)
        output = struct.pack(
            f"<{len(inference.output_thousandths)}i", *inference.output_thousandths
        )
        return Completion(
            (Mark(PHASE, inference.start_us), Mark(END, inference.stop_us)), output
        )

    def _window(self, query: Query) -> Completion:
        """Take the loaded sample for the next window of a stream, between two stamps
        that include the link; the output is a signed byte for each class.
        """
        if query.window == 0:
            self._client.start_stream()
        start_us = self._client.timestamp()
        numbers = self._client.extract(query.limit_s)
        self._loaded = None
        stop_us = self._client.timestamp()
        output = struct.pack(f"{len(numbers)}b", *numbers)
        return Completion((Mark(PHASE, start_us), Mark(END, stop_us)), output)

    @property
    def unreported_retransmissions(self) -> int:
        """Return 0: the text layer has no retransmissions."""
        return 0

    def forgotten(self) -> bool:
        """Return False: a restart without a message cannot be distinguished from a lost
        byte."""
        return False

    def leave(self) -> None:
        """Return at once: the DUT is in the text layer already."""
