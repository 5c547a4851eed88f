# SPDX-License-Identifier: Apache-2.0
"""Self-test of a DUT, and the host's judgement of it: docs/reference/PROTOCOL.md
section 7."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rig.host.stop import pause
from rig.model.finding import Finding
from rig.units import plural, quantity
from sut_backends.shim.burst import Burst
from sut_backends.shim.frame import Frame, encode
from sut_backends.shim.messages import (
    CapsMessage,
    Flag,
    MessageKind,
    ReportMessage,
    SelfTestMessage,
)
from sut_backends.uart.framed_dut import FramedDut

SPAN_S = 1.0  # between the two readings of the timer
RATE_LIMIT = 0.02  # an RC oscillator is within 1 or 2 %, a wrong prescaler is not
_RATE_ATTEMPTS = 3  # a busy host is late sometimes, a wrong timer always
_READS = 1000
_REPEATS = (1, 101)  # of the empty queries before and after the burst
_REQUEST_B = len(
    encode(Frame(MessageKind.SELFTEST, 1, SelfTestMessage(_READS, _REPEATS[1]).pack()))
)


@dataclass(frozen=True, slots=True)
class TimedQueries:
    """A report, and the host's times (s) of its request and of its answer."""

    report: ReportMessage
    asked_s: float
    answered_s: float

    def end_tick(self) -> int:
        """Return the tick at which the DUT had done its test."""
        return self.report.tick + self.report.took_ticks

    def under_way_s(self, tick_hz: int) -> float:
        """Return the time of request and answer on the line together."""
        return max(
            self.answered_s - self.asked_s - self.report.took_ticks / tick_hz, 0.0
        )


@dataclass(frozen=True, slots=True)
class TimerRate:
    """Ticks of the DUT from the end of one self-test to the start of the next, and the
    host's time for it, known to `error_s`.
    """

    ticks: int
    span_s: float
    error_s: float

    @classmethod
    def between(
        cls, first: TimedQueries, second: TimedQueries, tick_hz: int
    ) -> TimerRate:
        """Compare the two clocks. The times of an answer and a request on the line are
        known only to be within their round trips.
        """
        error_s = (first.under_way_s(tick_hz) + second.under_way_s(tick_hz)) / 2
        return cls(
            second.report.tick - first.end_tick(),
            second.asked_s - first.answered_s + error_s,
            error_s,
        )

    def agrees_with(self, tick_hz: int) -> bool:
        """Check whether the measured rate is within RATE_LIMIT of `tick_hz`."""
        return abs(self.ticks / (self.span_s * tick_hz) - 1) <= RATE_LIMIT


@dataclass(frozen=True, slots=True)
class SelfTested:
    """Reports before and after a burst, and the rate of the timer."""

    caps: CapsMessage
    first: ReportMessage
    second: ReportMessage
    burst: Burst
    rate: TimerRate

    def findings(self, simulated: bool, *, own_time: bool = False) -> Iterator[Finding]:
        """Yield a finding for each part; the times of a `simulated` device are labelled
        so.

        `own_time`: an emulator's time passes in the device, so that the rate of its
        timer cannot be compared with this host's clock.
        """
        whose = "of a simulated device: " if simulated else ""
        yield self._receive_burst()
        yield self._timer_rate(whose, own_time)
        yield self._sync_pin()
        yield self._stack()
        yield self._overhead(whose)

    def _receive_burst(self) -> Finding:
        burst = self.burst
        report = self.second
        known = ReportMessage.unknown not in (self.first.rx_lost_b, report.rx_lost_b)
        lost_b = (report.rx_lost_b - self.first.rx_lost_b) % 2**32 if known else 0
        arrived_b = min(max(report.rx_b - _REQUEST_B, 0), burst.sent_b)
        whole = min(max(report.rx_frames - 1, 0), burst.frames)
        ok = (arrived_b, whole, burst.acknowledged) == (
            burst.sent_b,
            burst.frames,
            burst.frames,
        )
        evidence = [
            (
                f"{burst.frames} frames of {self.caps.max_payload_b} bytes back to"
                f" back: {arrived_b} of {burst.sent_b} bytes and {whole} whole frames"
                f" arrived, {burst.acknowledged} were acknowledged, {report.rx_dropped}"
                " broken"
            ),
            (
                f"the port counts {lost_b} bytes lost"
                if known
                else "the port does not count lost bytes"
            ),
        ]
        hint = (
            f"a receive ring of {burst.sent_b} bytes filled by an interrupt, a smaller "
            "NR_WINDOW, or a slower line rate"
        )
        ok = ok and not lost_b and not report.rx_dropped
        if ok:
            return Finding("receive burst", True, ", ".join(evidence))
        return Finding(
            "receive burst", False, ", ".join(evidence), hint, see="receive-burst"
        )

    def _timer_rate(self, whose: str, own_time: bool) -> Finding:
        rate = self.rate
        stated_hz = self.caps.tick_hz
        back = self.first.steps_back + self.second.steps_back
        if back or rate.ticks < 0:
            evidence = (
                f"it went back {back} times in {2 * _READS} readings, and by "
                f"{-min(rate.ticks, 0)} ticks between two requests"
            )
            return Finding(
                "timer rate",
                False,
                evidence,
                "where two halves make the counter, read the upper one again after the"
                " lower",
                see="timer-rate",
            )
        if rate.ticks == 0:
            return Finding(
                "timer rate",
                False,
                f"it stood still for {rate.span_s:.3f} s",
                "start the timer when the port starts",
                see="timer-rate",
            )
        deviation = abs(rate.ticks / (rate.span_s * stated_hz) - 1)
        u = rate.error_s / rate.span_s
        found_hz = rate.ticks / rate.span_s
        if own_time:
            return Finding(
                "timer rate",
                True,
                f"{whose}{stated_hz} Hz stated; an emulator's time is not this host's",
                tested=False,
            )
        step = min(self.first.step_ticks, self.second.step_ticks)
        fine = (
            ""
            if step == ReportMessage.unknown
            else f"; smallest step seen {plural(step, 'tick')},"
            f" {quantity(step / stated_hz, 's', digits=3)}"
        )
        evidence = (
            f"{whose}{stated_hz} Hz stated, {found_hz:.0f} Hz by this host's clock,"
            f" known to {100 * u:.2g} %{fine}"
        )
        if abs(deviation - RATE_LIMIT) < u:
            undecided = f"not decided, this computer is too busy: {evidence}"
            hint = f"again with fewer programs running; the limit is {RATE_LIMIT:.0%}"
            return Finding("timer rate", True, undecided, hint, tested=False)
        if deviation <= RATE_LIMIT:
            return Finding("timer rate", True, evidence)
        hint = "tick_hz, the prescaler, or the clock tree of the port is wrong"
        return Finding("timer rate", False, evidence, hint, see="timer-rate")

    def _sync_pin(self) -> Finding:
        levels = (
            self.second.rest_level,
            self.second.pulse_level,
            self.second.end_level,
        )
        if ReportMessage.level_unknown in levels:
            return Finding(
                "SYNC pin",
                True,
                "the port cannot read its pin back; the edges at the monitor are the"
                " only proof",
                tested=False,
            )
        blocking = Flag.MARK_NONBLOCKING not in self.caps.flags
        ok = levels[0] == levels[2] == 1 and (blocking or levels[1] == 0)
        evidence = (
            f"reads {levels[0]} at rest, {levels[1]} right after a mark, {levels[2]}"
            " at rest again"
        )
        evidence += "; a mark returns after its pulse here" if blocking else ""
        hint = (
            f"is {self.caps.sync_pin or 'the pin'} set up as an output, and does"
            " nothing else drive it?"
        )
        return Finding("SYNC pin", ok, evidence, "" if ok else hint)

    def _stack(self) -> Finding:
        size_b = self.second.stack_b
        unused_b = self.second.stack_unused_b
        if not size_b:
            return Finding("stack", True, "the port does not know", tested=False)
        ok = 0 < unused_b <= size_b
        evidence = (
            f"{size_b - unused_b} of {size_b} bytes have been used since power-up,"
            f" {unused_b} never"
        )
        return Finding(
            "stack",
            ok,
            evidence,
            (
                ""
                if ok
                else (
                    "it may have overflowed: give it more, or look at stack_unused_b of"
                    " the port"
                )
            ),
        )

    def _overhead(self, whose: str) -> Finding:
        tick_s = 1 / self.caps.tick_hz
        least = quantity(self.first.span_min_ticks * tick_s, "s")
        most = quantity(self.first.span_max_ticks * tick_s, "s")
        hold = quantity(self.caps.hold_min_us * 1e-6, "s")
        longer_ticks = self.second.span_min_ticks - self.first.span_min_ticks
        each_s = longer_ticks * tick_s / (_REPEATS[1] - _REPEATS[0])
        span = least if least == most else f"{least} to {most}"
        each = quantity(max(each_s, 0.0), "s", digits=3)
        evidence = (
            f"{whose}a query without work takes {span} from its first mark to its last,"
            f" with pulses of {hold}; each repetition {each}"
        )
        return Finding("shim overhead", True, evidence)


def self_test(dut: FramedDut) -> SelfTested:
    """Let the DUT test itself before and after a burst, and time its timer; raise
    SutError where it does not know how to.
    """
    first = _timed(dut, _REPEATS[0])
    burst = dut.exchange.burst()
    second = last = _timed(dut, _REPEATS[1])
    tick_hz = dut.caps.tick_hz
    for _ in range(_RATE_ATTEMPTS):
        pause(SPAN_S)
        before = last
        last = _timed(dut, _REPEATS[0])
        rate = TimerRate.between(before, last, tick_hz)
        if rate.agrees_with(tick_hz) and rate.error_s < RATE_LIMIT / 2 * rate.span_s:
            break
    return SelfTested(dut.caps, first.report, second.report, burst, rate)


def _timed(dut: FramedDut, repeat: int) -> TimedQueries:
    request = SelfTestMessage(_READS, repeat)
    asked_s = time.monotonic()
    report = dut.exchange.fetch(request, ReportMessage)
    return TimedQueries(report, asked_s, time.monotonic())
