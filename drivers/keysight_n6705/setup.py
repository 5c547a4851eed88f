# SPDX-License-Identifier: Apache-2.0
"""Bring a Keysight N6705 from any state into the one that a measurement needs; every
step is confirmed by its error queue.
"""

from __future__ import annotations

import re

from drivers.keysight_n6705.accuracy import MODULES
from drivers.keysight_n6705.link import CommandRefused, ScpiLink
from drivers.keysight_n6705.settings import PARAMETER_S, PATH, N6705Settings
from rig.errors import BenchError, ConfigError, DeadlineError, DeviceNotFound

#: The converter's points with SENS:SWE:TINT:RES RES20, which allows four parameters; a
#: period is a whole number of them.
POINT_S = 20.48e-6
#: Modules with an auxiliary voltage input.
AUX = ("N6781A",)
_FUNCTIONS = ("CURR:MINM", "VOLT:MINM", "CURR", "VOLT")


class Setup:
    """The steps of the set-up, in the order of the methods, and their findings for
    `info.details`.
    """

    def __init__(self, link: ScpiLink, settings: N6705Settings) -> None:
        self._link = link
        self._settings = settings
        self._channel = settings.channel
        self._sync_channel = settings.logged_sync_channel
        self._aux = settings.sync_input == "aux"
        self._source = "BUS" if settings.sync == "voltage" else settings.trigger
        self.modules: dict[int, str] = {}
        self.switched_off: list[int] = []
        self.left_on: list[int] = []
        self.refused: list[str] = []

    def find_modules(self) -> None:
        """List the modules."""
        channels = int(self._link.numbers("SYST:CHAN?", "number of channels")[0])
        query = f"SYST:CHAN:MOD? (@1:{channels})"
        answer = self._link.ask(query, "models of the modules")
        for place, word in enumerate(answer.split(","), start=1):
            if model := word.strip().strip('"').upper():
                self.modules[place] = model

    def output_off(self, channel: int) -> None:
        """Switch an output off where there is one and it is found on."""
        if channel in self.modules and self._is_on(channel):
            switch(self._link, channel, False)
            self.switched_off.append(channel)

    def require_logger(self) -> None:
        """Raise DeviceNotFound for a mainframe without data logger."""
        for channel in self.modules:
            query = f"SYST:CHAN:OPT? (@{channel})"
            answer = self._link.ask(query, "options of the modules")
            if "055" in re.findall(r"\w+", answer):
                raise DeviceNotFound(
                    "this N6705 has no data logger",
                    evidence=f"option 055 at channel {channel}",
                    try_next="a mainframe without option 055",
                )

    def require_modules(self) -> None:
        """Raise DeviceNotFound for a missing module, ConfigError for one without a
        requested function."""
        channels = {"channel": self._channel, "sync_channel": self._sync_channel}
        for name, number in channels.items():
            if number is not None and number not in self.modules:
                raise DeviceNotFound(
                    f"there is no module at channel {number}",
                    evidence=f"found {self.modules}",
                    try_next=f"{name}: one of these",
                )
        model = self.modules[self._channel]
        if model not in MODULES:
            raise ConfigError(
                f"{model} at channel {self._channel} cannot log voltage and current at"
                " once",
                path=f"{PATH}.channel",
                try_next=(
                    f"a channel with one of {', '.join(MODULES)}: modules with one"
                    " converter log one or the other"
                ),
            )
        if self._sync_channel is None:
            return
        model = self.modules[self._sync_channel]
        if model not in (AUX if self._aux else MODULES):
            raise ConfigError(
                f"{model} at channel {self._sync_channel} cannot see the SYNC line",
                path=f"{PATH}.sync_channel",
                evidence=(
                    "an N6731B has 30 uF across its output (N6705A user's guide, page"
                    " 109): too much for a logic output"
                ),
                try_next=(
                    f"a second module with an auxiliary input ({', '.join(AUX)}); else"
                    " sync = io_manager or trigger"
                ),
            )

    def outputs_off(self) -> None:
        """Switch the output of the SYNC channel off; others that are found on stay as
        they are, and are reported.
        """
        for channel in self.modules:
            if channel == self._sync_channel:
                self.output_off(channel)
            elif self._is_on(channel):
                self.left_on.append(channel)

    def silence(self) -> None:
        """Switch off what anybody may have left on in the data log: each parameter
        takes 102.4 us from the period of all the others.

        That is what stretched published N6705 traces 1.33 and 2 times. Raises
        BenchError where one stays on.
        """
        for channel, model in self.modules.items():
            try:
                step = f"end of any data log of channel {channel}"
                self._link.do(f"ABOR:ELOG (@{channel})", step)
            except CommandRefused as refused:
                self.refused.append(f"channel {channel}: {refused.evidence}")
            for function in _FUNCTIONS:
                try:
                    self._link.do(
                        f"SENS:ELOG:FUNC:{function} OFF,(@{channel})",
                        f"data log of channel {channel} off",
                    )
                    stays = self._link.numbers(
                        f"SENS:ELOG:FUNC:{function}? (@{channel})",
                        f"data log of channel {channel}",
                    )[0]
                except CommandRefused as refused:
                    if model in MODULES or function in ("CURR", "VOLT"):
                        raise
                    # A module that has no minimum and maximum to log cannot log them
                    # either.
                    self.refused.append(f"channel {channel}: {refused.evidence}")
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

    def set_supply(self) -> None:
        """Set voltage and current limit of the DUT's supply and read them back; its
        output stays off.
        """
        link = self._link
        channel = f"(@{self._channel})"
        supply_v = self._settings.supply_v
        limit_a = self._settings.current_limit_a
        link.do(f"EMUL PS2Q,{channel}", "two-quadrant supply")
        link.do(f"FUNC VOLT,{channel}", "voltage priority")
        self._confirm(f"FUNC? {channel}", "VOLT", "priority")
        # In one message: alone, a range below the present voltage is refused, and so is
        # a voltage beyond such a range (N6705C operating guide, Coupled Commands). The
        # current limit is not named there.
        in_range = f"VOLT:RANG {supply_v:g},{channel};:VOLT {supply_v:g},{channel}"
        step = "voltage of the supply"
        link.do(in_range, step)
        self._require_near(f"VOLT? {channel}", supply_v, 1e-3 * supply_v + 5e-3, step)
        step = "current limit of the supply"
        link.do(f"CURR:LIM {limit_a:g},{channel}", step)
        self._require_near(f"CURR:LIM? {channel}", limit_a, 1e-2 * limit_a + 1e-3, step)

    def set_trigger_pin(self) -> None:
        """Make a pin of the digital port a trigger input for falling edges, if it is
        the source; the rear BNC needs no set-up."""
        if self._source.startswith("PIN"):
            self._link.do(f"DIG:{self._source}:FUNC TINP", "trigger input")
            self._link.do(
                f"DIG:{self._source}:POL NEG", "polarity of the trigger input"
            )

    def set_log(self) -> float:
        """Set up the content of the data log; returns the period as the instrument
        reads it back, in seconds."""
        link = self._link
        sync = self._sync_channel
        channel = f"(@{self._channel})"
        both = channel if sync is None else f"(@{self._channel},{sync})"
        link.do("FORM REAL", "format of the numbers")
        self._set_byte_order()
        link.do("SENS:SWE:TINT:RES RES20", "resolution of the converter")
        if sync is not None:
            if not self._aux:
                link.do(f"EMUL VMET,(@{sync})", "voltmeter for SYNC")
            self._set_input(sync)
        current = "SENS:ELOG:FUNC:CURR"
        voltage = "SENS:ELOG:FUNC:VOLT"
        link.do(f"{current} ON,{channel}", "data log of current")
        link.do(f"{voltage} ON,{both}", "data log of voltage")
        self._confirm(f"{current}? {channel}", "1", "data log of current")
        self._confirm(f"{voltage}? {both}", "1", "data log of voltage")
        link.do(f"SENS:ELOG:VOLT:RANG 20,{both}", "measuring range of voltage")
        self._set_current_range(channel)
        period_s = self._set_period(both)
        step = "trigger of the data log"
        link.do(f"TRIG:ELOG:SOUR {self._source},{both}", step)
        self._confirm(f"TRIG:ELOG:SOUR? {both}", self._source, step)
        return period_s

    def _set_current_range(self, channel: str) -> None:
        command = "SENS:ELOG:CURR:RANG"
        range_a = self._settings.current_range_a
        if range_a is None:
            self._link.do(f"{command}:AUTO ON,{channel}", "seamless ranges of current")
            self._confirm(f"{command}:AUTO? {channel}", "1", "choice of ranges")
            return
        self._link.do(f"{command}:AUTO OFF,{channel}", "one range of current")
        step = "measuring range of current"
        self._link.do(f"{command} {range_a:g},{channel}", step)
        self._confirm(f"{command}? {channel}", f"{range_a:g}", step)

    def _set_period(self, both: str) -> float:
        parameters = 2 if self._sync_channel is None else 3
        asked_s = self._settings.period_s or parameters * PARAMETER_S
        step = "period of the data log"
        self._link.do(f"SENS:ELOG:PER {asked_s:.9g},{both}", step)
        told_s = self._link.numbers(f"SENS:ELOG:PER? {both}", step)
        apart_s = max(told_s) - min(told_s)
        if apart_s > 1e-9 or abs(told_s[0] - asked_s) > 0.51 * POINT_S:
            raise BenchError(
                "the data log has another period than asked for",
                evidence=(
                    f"{asked_s * 1e6:.2f} us set, "
                    f"{', '.join(f'{each_s * 1e6:.2f}' for each_s in told_s)} us read"
                    " back"
                ),
                try_next=(
                    "longer than asked: something else is being logged as well; *RST on"
                    " the instrument"
                ),
            )
        return told_s[0]

    def _set_input(self, sync_channel: int) -> None:
        # The keyword is quoted from memory: an instrument that does not know it says so
        # here.
        word = "AUX" if self._aux else "MAIN"
        try:
            self._link.do(
                f"SENS:FUNC:VOLT:INP {word},(@{sync_channel})", "input for SYNC"
            )
        except CommandRefused as refused:
            if self._aux:
                refused.try_next = (
                    'sync_input = "main", with SYNC at the terminals of that channel;'
                    ' or sync = "trigger"'
                )
            raise

    def _set_byte_order(self) -> None:
        step = "order of the bytes"
        self._link.do("FORM:BORD NORM", step)
        order = self._link.ask("FORM:BORD?", step)
        if not order.upper().startswith("NORM"):
            raise BenchError(
                "the N6705 has another order of the bytes than was set",
                evidence=f"NORM set, {order[:40]} read back",
                try_next="*RST on the instrument, or switch it off and on",
            )

    def _is_on(self, channel: int) -> bool:
        return bool(
            self._link.numbers(f"OUTP? (@{channel})", "state of the outputs")[0]
        )

    def _confirm(self, query: str, expected: str, step: str) -> None:
        """Raise BenchError if a value read back on any channel differs from the one
        set: some modules refuse without an error. A query that is itself refused is
        noted and ignored.
        """
        try:
            answer = self._link.ask(query, step)
        except (CommandRefused, DeadlineError) as error:
            self.refused.append(f"{step}: not read back, {error.evidence}")
            return
        words = [word.strip().strip('"') for word in answer.split(",")]
        if not all(_same(word, expected) for word in words):
            raise BenchError(
                f"the N6705 has another {step} than was set",
                evidence=f"{expected} set, {query} gave {answer[:40]!r}",
                try_next=(
                    "the module's manual for what it can do; *RST on the instrument"
                ),
            )

    def _require_near(
        self, query: str, value: float, tolerance: float, step: str
    ) -> None:
        read_back = self._link.numbers(query, step)[0]
        if abs(read_back - value) > tolerance:
            raise BenchError(
                f"the N6705 has another {step} than was set",
                evidence=f"{value:g} set, {read_back:g} read back",
                try_next="a limit of the module",
            )


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


def _same(answer: str, expected: str) -> bool:
    """Check whether a word is the one that was set, in its long form too; of a range,
    also one that holds it."""
    try:
        return float(answer) >= float(expected) * (1 - 1e-6)
    except ValueError:
        return answer.upper().startswith(expected)
