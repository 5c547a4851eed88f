# SPDX-License-Identifier: Apache-2.0
"""Findings about each wire, from bytes, pulses and readings."""

from __future__ import annotations

from collections.abc import Iterator

from rig.interfaces.monitor import MonitorInfo
from rig.model.completion import Completion
from rig.model.finding import Finding
from rig.model.wiring import Talk, WireFinding, WireName
from rig.trace.edges import SWING_V
from rig.trace.trace import Trace

#: A digital line that is low for more than this share of a burst rests low.
_RESTS_LOW = 0.5
#: The question that tests each wire, in a line.
HOW = {
    WireName.SECOND_SUPPLY: "the supply is off: is there a voltage all the same?",
    WireName.SUPPLY: "the supply is on: is there a voltage?",
    WireName.TX: "what does the device say at power-up, unasked?",
    WireName.GROUND: "can it be read, at this line rate or at another?",
    WireName.RX: "does it answer to its name?",
    WireName.LEVEL: "does SYNC rest at what the monitor's input takes for high?",
    WireName.SYNC: "does the monitor see each pulse that the device says it made?",
    WireName.POLARITY: "does SYNC rest high, and are its pulses low?",
    WireName.CURRENT: "does what the device draws flow through the monitor?",
}
Levels = tuple[float, float, float] | None
_NO_PULSE = "; no pulse of SYNC came when some were asked for"
_SCOPE = "look at the line with a scope: high at rest, a low pulse at each mark"


def talk_rows(talk: Talk, monitored: bool) -> Iterator[WireFinding]:
    """Yield Tx, ground and Rx, by the DUT's pins, to the first that fails."""
    if not talk.heard_b:
        yield _silent_row(talk, monitored)
        return
    if talk.garbled:
        yield WireFinding(WireName.TX, True, f"{talk.heard_b} bytes are heard")
        yield _garbled_row(talk)
        return
    detail = f"{talk.heard_b} bytes"
    if talk.at_power_up:
        detail = f'"{talk.at_power_up[:60]}" at power-up'
    yield WireFinding(WireName.TX, True, detail)
    yield WireFinding(WireName.GROUND, True, "what is heard can be read")
    if talk.name:
        yield WireFinding(WireName.RX, True, f"it answers to its name: {talk.name}")
        return
    deaf = _NO_PULSE if talk.pulses == 0 else ""
    yield WireFinding(
        WireName.RX,
        False,
        f"it speaks ({detail}), and answers nothing{deaf}",
        "the wire from the adapter's Tx to the device's Rx is open or at the wrong pin",
        "follow that wire; is the firmware a shim that knows `name`?",
    )


def _silent_row(talk: Talk, monitored: bool) -> WireFinding:
    """Judge Tx if no byte was received."""
    if talk.pulses:
        return WireFinding(
            WireName.TX,
            False,
            f"nothing is heard, though {talk.pulses} pulses of SYNC came when they"
            " were asked for: the device hears and obeys",
            "the wire from the device's Tx to the adapter's Rx is open or at the wrong"
            " pin",
            "follow that wire; the adapter's Rx alone, with a voltmeter: high at rest",
        )
    cause = "Tx and Rx are swapped, or both are open, or the device does not run"
    if not monitored:
        cause = (
            "Tx and Rx are swapped or open, or the device has no supply or does not run"
        )
    looked = _NO_PULSE if talk.pulses == 0 else ""
    return WireFinding(
        WireName.TX,
        False,
        f"nothing is heard, neither at power-up nor when asked{looked}",
        cause,
        "swap the two wires; is the firmware in, and reset released?",
    )


def _garbled_row(talk: Talk) -> WireFinding:
    """Judge the ground where bytes are heard that are no text."""
    if talk.other_baud:
        return WireFinding(
            WireName.GROUND,
            False,
            f"unreadable at the rate of the bench file; it answers at {talk.other_baud}"
            " baud",
            "no wire: the line rate",
            f"baud = {talk.other_baud}",
        )
    return WireFinding(
        WireName.GROUND,
        False,
        f"{talk.unreadable_b} of {talk.heard_b} bytes are no text, at any usual line"
        " rate",
        "the ground of device and adapter is not joined, or their levels are others",
        "join the grounds; the same logic voltage on both sides",
    )


def sync_rows(
    trace: Trace, completion: Completion, edges: Finding, info: MonitorInfo
) -> Iterator[WireFinding]:
    """Yield the rows of the SYNC line: its level at rest, its pulses, its polarity."""
    levels = trace.line.levels()
    yield _level_row(trace, levels, info)
    yield _seen_row(trace, len(completion.marks), edges)
    yield _polarity_row(trace, levels, edges)


def _level_row(trace: Trace, levels: Levels, info: MonitorInfo) -> WireFinding:
    wire = WireName.LEVEL
    if levels is None:
        why = "this instrument tells of edges only"
        if trace.sync == "clock":
            why = (
                "there is no SYNC wire: the monitor reads the clock that the device"
                " counts"
            )
        return WireFinding(wire, None, why)
    least, mean, most = levels
    if trace.sync == "voltage":
        detail = f"{least:.2f} V to {most:.2f} V"
        if len(trace.falls_s) or most >= SWING_V:
            return WireFinding(wire, True, detail)
    elif most > 0:
        return WireFinding(wire, True, f"high for {mean:.1%} of the time")
    else:
        detail = f"the input of {info.name} reads low all the time"
    return WireFinding(
        wire,
        False,
        detail,
        "the device's high is below what this input takes for high, or the line is open"
        " or low",
        "the reference of the monitor's input, or a level shifter; measure SYNC with a"
        " voltmeter: it is high at rest",
    )


def _seen_row(trace: Trace, marks: int, edges: Finding) -> WireFinding:
    """Judge whether as many pulses arrived as the device made."""
    seen = len(trace.falls_s)
    if trace.sync == "clock":
        return WireFinding(WireName.SYNC, None, edges.detail)
    if edges.ok:
        return WireFinding(WireName.SYNC, True, edges.detail)
    detail = f"{marks} pulses of the device, {seen} at the monitor"
    if seen == marks:
        return WireFinding(WireName.SYNC, True, detail)
    if not seen:
        cause = "the wire from the device's SYNC pin to the monitor's input is open"
        hint = "follow that wire; is it the firmware's pin, and the bench file's input?"
    elif seen < marks:
        cause = "pulses are too short for this monitor, or the contact is loose"
        hint = "sync_hold_us = 500 in the bench file"
    else:
        cause = "the line rings, or something else drives it"
        hint = (
            "a shorter wire with its ground beside it; a resistor of some 100 ohms at"
            " the pin"
        )
    return WireFinding(WireName.SYNC, False, detail, cause, hint)


def _polarity_row(trace: Trace, levels: Levels, edges: Finding) -> WireFinding:
    """Judge whether the line rests high and its pulses are low."""
    wire = WireName.POLARITY
    if levels is None or not len(trace.rises_s):
        why = f"this instrument sees one edge of a pulse: {_SCOPE}"
        if trace.sync == "clock":
            why = "there is no SYNC wire"
        return WireFinding(wire, None, why)
    least, mean, most = levels
    high = (mean - least) / (most - least) if most > least else 1.0
    if high < _RESTS_LOW:
        return WireFinding(
            wire,
            False,
            f"the line is high for {high:.1%} of the time: it rests low, and its pulses"
            " are high",
            "a level shifter inverts, or it is another pin",
            "a shifter that does not invert; all windows would lie late by a pulse",
        )
    if not edges.ok:
        return row_of(wire, edges, "pulses and marks do not fit")
    return WireFinding(wire, True, "high at rest, low pulses")


def row_of(wire: WireName, finding: Finding, cause: str) -> WireFinding:
    """Turn a finding into one of a wire; `cause` is that of a fault."""
    return WireFinding(
        wire,
        finding.ok,
        finding.detail,
        "" if finding.ok else cause,
        finding.try_next,
    )
