# SPDX-License-Identifier: Apache-2.0
"""Bring a Keysight N6705 from any state into the one that a measurement needs; every
step is confirmed by its error queue.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from drivers.keysight_n6705.accuracy import MODULES
from drivers.keysight_n6705.link import CommandRefused, ScpiLink
from rig.errors import BenchError, ConfigError, DeadlineError, DeviceNotFound

PATH = "monitor.keysight_n6705"
#: The converter's points with SENS:SWE:TINT:RES RES20, which allows four parameters; a
#: period is a whole number of them.
POINT_S = 20.48e-6
#: Shortest period for each parameter logged, over all channels, with FORM REAL (N6705C
#: guide, Specify the Integration Period).
PARAMETER_S = 102.4e-6
#: Modules with an auxiliary voltage input.
AUX = ("N6781A",)
_FUNCTIONS = ("CURR:MINM", "VOLT:MINM", "CURR", "VOLT")
#: Limits of a 20 W module: up to so many volts, so many amperes (N6780 series data
#: sheet 5990-5829EN).
_LIMITS = ((6.12, 3.06), (20.4, 1.02))


@dataclass(slots=True)
class Findings:
    """Findings of the set-up, for `info.details`."""

    modules: dict[int, str] = field(default_factory=dict)
    switched_off: list[int] = field(default_factory=list)
    left_on: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def require_limits(supply_v: float, current_limit_a: float) -> None:
    """Raise ConfigError where no 20 W module can supply that."""
    if any(
        0 < supply_v <= most_v and 0 < current_limit_a <= most_a
        for most_v, most_a in _LIMITS
    ):
        return
    raise ConfigError(
        f"{supply_v:g} V with a limit of {current_limit_a:g} A",
        path=f"{PATH}.supply_v",
        try_next=(
            "above 0 to 6.12 V with up to 3.06 A, or to 20.4 V with up to 1.02 A: 20 W,"
            " positive only"
        ),
    )


def find_modules(link: ScpiLink, findings: Findings) -> None:
    """List the modules."""
    channels = int(link.numbers("SYST:CHAN?", "number of channels")[0])
    answer = link.ask(f"SYST:CHAN:MOD? (@1:{channels})", "models of the modules")
    models = [word.strip().strip('"').upper() for word in answer.split(",")]
    findings.modules.update(
        {place: model for place, model in enumerate(models, start=1) if model}
    )


def require_logger(link: ScpiLink, findings: Findings) -> None:
    """Raise DeviceNotFound for a mainframe without data logger."""
    for channel in findings.modules:
        options = re.findall(
            r"\w+", link.ask(f"SYST:CHAN:OPT? (@{channel})", "options of the modules")
        )
        if "055" in options:
            raise DeviceNotFound(
                "this N6705 has no data logger",
                evidence=f"option 055 at channel {channel}",
                try_next="a mainframe without option 055",
            )


def require_modules(
    findings: Findings, channel: int, sync_channel: int | None, aux: bool
) -> None:
    """Raise DeviceNotFound for a missing module, ConfigError for one without a
    requested function."""
    for name, number in (("channel", channel), ("sync_channel", sync_channel)):
        if number is not None and number not in findings.modules:
            raise DeviceNotFound(
                f"there is no module at channel {number}",
                evidence=f"found {findings.modules}",
                try_next=f"{name}: one of these",
            )
    model = findings.modules[channel]
    if model not in MODULES:
        raise ConfigError(
            f"{model} at channel {channel} cannot log voltage and current at once",
            path=f"{PATH}.channel",
            try_next=(
                f"a channel with one of {', '.join(MODULES)}: modules with one"
                " converter log one or the other"
            ),
        )
    if sync_channel is None:
        return
    model = findings.modules[sync_channel]
    if model not in (AUX if aux else MODULES):
        raise ConfigError(
            f"{model} at channel {sync_channel} cannot see the SYNC line",
            path=f"{PATH}.sync_channel",
            evidence=(
                "an N6731B has 30 uF across its output (N6705A user's guide, page 109):"
                " too much for a logic output"
            ),
            try_next=(
                f"a second module with an auxiliary input ({', '.join(AUX)}); else sync"
                " = io_manager or trigger"
            ),
        )


def output_off(link: ScpiLink, findings: Findings, channel: int) -> None:
    """Switch the output of our channel off where there is one and it is found on."""
    if (
        channel in findings.modules
        and link.numbers(f"OUTP? (@{channel})", "state of the outputs")[0]
    ):
        switch(link, channel, False)
        findings.switched_off.append(channel)


def outputs_off(link: ScpiLink, findings: Findings, sync_channel: int | None) -> None:
    """Switch the output of the SYNC channel off; others that are found on stay as they
    are, and are reported.
    """
    for channel in findings.modules:
        if channel == sync_channel:
            output_off(link, findings, channel)
        elif link.numbers(f"OUTP? (@{channel})", "state of the outputs")[0]:
            findings.left_on.append(channel)


def switch(link: ScpiLink, channel: int, on: bool) -> None:
    """Switch an output and read it back; raises BenchError where it does not follow."""
    word = "ON" if on else "OFF"
    link.do(f"OUTP {word},(@{channel})", f"output {channel} {word.lower()}")
    if bool(link.numbers(f"OUTP? (@{channel})", "state of the output")[0]) != on:
        raise BenchError(
            f"output {channel} does not go {word.lower()}",
            evidence=f"OUTP? (@{channel}) says the opposite",
            try_next=(
                "a protection that has tripped, or the INHIBIT input: see the"
                " instrument's front panel"
            ),
        )


def silence(link: ScpiLink, findings: Findings) -> None:
    """Switch off what anybody may have left on in the data log: each parameter takes
    102.4 us from the period of all the others.

    That is what stretched published N6705 traces 1.33 and 2 times. Raises BenchError
    where one stays on.
    """
    for channel, model in findings.modules.items():
        try:
            link.do(
                f"ABOR:ELOG (@{channel})", f"end of any data log of channel {channel}"
            )
        except CommandRefused as refused:
            findings.refused.append(f"channel {channel}: {refused.evidence}")
        for function in _FUNCTIONS:
            try:
                link.do(
                    f"SENS:ELOG:FUNC:{function} OFF,(@{channel})",
                    f"data log of channel {channel} off",
                )
                stays = link.numbers(
                    f"SENS:ELOG:FUNC:{function}? (@{channel})",
                    f"data log of channel {channel}",
                )[0]
            except CommandRefused as refused:
                if model in MODULES or function in ("CURR", "VOLT"):
                    raise
                # A module that has no minimum and maximum to log cannot log them
                # either.
                findings.refused.append(f"channel {channel}: {refused.evidence}")
                continue
            if stays:
                raise BenchError(
                    f"channel {channel} goes on logging {function}",
                    evidence=(
                        f"SENS:ELOG:FUNC:{function}? gave {stays:g} after it was"
                        " switched off"
                    ),
                    try_next=(
                        "it would stretch all records: *RST on the instrument, or"
                        " switch it off and on"
                    ),
                )


def set_supply(
    link: ScpiLink,
    findings: Findings,
    channel: int,
    supply_v: float,
    current_limit_a: float,
) -> None:
    """Set voltage and current limit of the DUT's supply and read them back; its output
    stays off.
    """
    link.do(f"EMUL PS2Q,(@{channel})", "two-quadrant supply")
    link.do(f"FUNC VOLT,(@{channel})", "voltage priority")
    _confirm(link, findings, f"FUNC? (@{channel})", "VOLT", "priority")
    # In one message: alone, a range below the present voltage is refused, and so is a
    # voltage beyond such a range (N6705C operating guide, Coupled Commands). The
    # current limit is not named there.
    in_range = f"VOLT:RANG {supply_v:g},(@{channel});:"
    _set(
        link,
        "VOLT",
        channel,
        value=supply_v,
        tolerance=1e-3 * supply_v + 5e-3,
        step="voltage of the supply",
        before=in_range,
    )
    _set(
        link,
        "CURR:LIM",
        channel,
        value=current_limit_a,
        tolerance=1e-2 * current_limit_a + 1e-3,
        step="current limit of the supply",
    )


def set_log(
    link: ScpiLink,
    findings: Findings,
    channel: int,
    sync_channel: int | None,
    *,
    aux: bool,
    source: str,
    current_range_a: float | None,
    period_s: float,
) -> float:
    """Set up the content of the data log; returns the period as the instrument reads it
    back, in seconds."""
    both = f"(@{channel})" if sync_channel is None else f"(@{channel},{sync_channel})"
    link.do("FORM REAL", "format of the numbers")
    _set_byte_order(link)
    link.do("SENS:SWE:TINT:RES RES20", "resolution of the converter")
    if sync_channel is not None:
        if not aux:
            link.do(f"EMUL VMET,(@{sync_channel})", "voltmeter for SYNC")
        _set_input(link, sync_channel, aux)
    link.do(f"SENS:ELOG:FUNC:CURR ON,(@{channel})", "data log of current")
    link.do(f"SENS:ELOG:FUNC:VOLT ON,{both}", "data log of voltage")
    _confirm(
        link, findings, f"SENS:ELOG:FUNC:CURR? (@{channel})", "1", "data log of current"
    )
    _confirm(link, findings, f"SENS:ELOG:FUNC:VOLT? {both}", "1", "data log of voltage")
    link.do(f"SENS:ELOG:VOLT:RANG 20,{both}", "measuring range of voltage")
    if current_range_a is None:
        link.do(
            f"SENS:ELOG:CURR:RANG:AUTO ON,(@{channel})", "seamless ranges of current"
        )
        _confirm(
            link,
            findings,
            f"SENS:ELOG:CURR:RANG:AUTO? (@{channel})",
            "1",
            "choice of ranges",
        )
    else:
        link.do(f"SENS:ELOG:CURR:RANG:AUTO OFF,(@{channel})", "one range of current")
        step = "measuring range of current"
        link.do(f"SENS:ELOG:CURR:RANG {current_range_a:g},(@{channel})", step)
        _confirm(
            link,
            findings,
            f"SENS:ELOG:CURR:RANG? (@{channel})",
            f"{current_range_a:g}",
            step,
        )
    asked_s = period_s or (2 if sync_channel is None else 3) * PARAMETER_S
    link.do(f"SENS:ELOG:PER {asked_s:.9g},{both}", "period of the data log")
    told_s = link.numbers(f"SENS:ELOG:PER? {both}", "period of the data log")
    if max(told_s) - min(told_s) > 1e-9 or abs(told_s[0] - asked_s) > 0.51 * POINT_S:
        raise BenchError(
            "the data log has another period than asked for",
            evidence=(
                f"{asked_s * 1e6:.2f} us set, "
                f"{', '.join(f'{each_s * 1e6:.2f}' for each_s in told_s)} us read back"
            ),
            try_next=(
                "longer than asked: something else is being logged as well; *RST on the"
                " instrument"
            ),
        )
    link.do(f"TRIG:ELOG:SOUR {source},{both}", "trigger of the data log")
    _confirm(
        link, findings, f"TRIG:ELOG:SOUR? {both}", source, "trigger of the data log"
    )
    return told_s[0]


def _set_input(link: ScpiLink, sync_channel: int, aux: bool) -> None:
    # The keyword is quoted from memory: an instrument that does not know it says so
    # here.
    try:
        link.do(
            f"SENS:FUNC:VOLT:INP {'AUX' if aux else 'MAIN'},(@{sync_channel})",
            "input for SYNC",
        )
    except CommandRefused as refused:
        if aux:
            refused.try_next = (
                'sync_input = "main", with SYNC at the terminals of that channel; or'
                ' sync = "trigger"'
            )
        raise


def _confirm(
    link: ScpiLink, findings: Findings, query: str, wanted: str, step: str
) -> None:
    """Raise BenchError if a value read back on any channel differs from the one set:
    some modules refuse without an error. A query that is itself refused is noted and
    ignored.
    """
    try:
        answer = link.ask(query, step)
    except (CommandRefused, DeadlineError) as error:
        findings.refused.append(f"{step}: not read back, {error.evidence}")
        return
    if not all(_same(word.strip().strip('"'), wanted) for word in answer.split(",")):
        raise BenchError(
            f"the N6705 has another {step} than was set",
            evidence=f"{wanted} set, {query} gave {answer[:40]!r}",
            try_next="the module's manual for what it can do; *RST on the instrument",
        )


def _same(answer: str, wanted: str) -> bool:
    """Check whether a word is the one that was set, in its long form too; of a range,
    also one that holds it."""
    try:
        return float(answer) >= float(wanted) * (1 - 1e-6)
    except ValueError:
        return answer.upper().startswith(wanted)


def _set_byte_order(link: ScpiLink) -> None:
    link.do("FORM:BORD NORM", "order of the bytes")
    order = link.ask("FORM:BORD?", "order of the bytes")
    if not order.upper().startswith("NORM"):
        raise BenchError(
            "the N6705 has another order of the bytes than was set",
            evidence=f"NORM set, {order[:40]} read back",
            try_next="*RST on the instrument, or switch it off and on",
        )


def set_trigger_pin(link: ScpiLink, source: str) -> None:
    """Make a pin of the digital port a trigger input for falling edges, if `source` is
    one; the rear BNC needs no set-up."""
    if source.startswith("PIN"):
        link.do(f"DIG:{source}:FUNC TINP", "trigger input")
        link.do(f"DIG:{source}:POL NEG", "polarity of the trigger input")


def _set(
    link: ScpiLink,
    what: str,
    channel: int,
    *,
    value: float,
    tolerance: float,
    step: str,
    before: str = "",
) -> None:
    link.do(f"{before}{what} {value:g},(@{channel})", step)
    read_back = link.numbers(f"{what}? (@{channel})", step)[0]
    if abs(read_back - value) > tolerance:
        raise BenchError(
            f"the N6705 has another {step} than was set",
            evidence=f"{value:g} set, {read_back:g} read back",
            try_next="a limit of the module",
        )
