# SPDX-License-Identifier: Apache-2.0
"""A simulated Keysight N6705 with its modules: a SCPI server on a socket of this
machine, which measures a simulated table.

It shares only the wire with the driver. Facts it is built on: N6705C and N6700C
operating guides, External Data Logging.
"""

from __future__ import annotations

import math
import socket
import threading
from contextlib import suppress

from drivers.keysight_n6705.sim import acts, scpi
from drivers.keysight_n6705.sim.acts import (
    Act,
    ScpiOrder,
    accepts,
    flags_of,
    numbers_of,
    sets,
    words_of,
)
from drivers.keysight_n6705.sim.io_manager import IoManagerSimulator
from drivers.keysight_n6705.sim.log import SimulatedLog
from drivers.keysight_n6705.sim.module import Channel
from drivers.keysight_n6705.sim.settings import N6705SimulatorSettings
from rig.simulation.world import NS_PER_S, World

_LISTEN_S = 0.05
#: *IDN?: no program can take this for an instrument.
_IDN = "Keysight Technologies,N6705C,SIMULATED,0.0"
#: What one message sets of these is taken together (N6705C operating guide, Coupled
#: Commands).
_COUPLED = ("VOLT", "VOLT:RANG")
#: Commands that need a channel list, by their beginnings.
_OF_CHANNELS = (
    "CURR",
    "EMUL",
    "FETC",
    "FUNC",
    "MEAS",
    "OUTP",
    "VOLT",
    "SENS:ELOG",
    "SENS:FUNC",
)


class Simulator:
    """Listens until it is closed; `resource` is its VISA name."""

    def __init__(
        self,
        settings: N6705SimulatorSettings,
        world: World,
        dut_channel: int,
        sync_channel: int,
        seed: int,
    ) -> None:
        self._settings = settings
        self._world = world
        self._faults = settings.faults
        numbered = enumerate(settings.modules, start=1)
        self._channels = {
            number: Channel(
                number, model, number == dut_channel, number == sync_channel
            )
            for number, model in numbered
        }
        for number in self._faults.output_on:
            self._channels[number].on = True
            self._channels[number].volt = settings.sync_high_v
        self._log = SimulatedLog(settings, world, list(self._channels.values()), seed)
        self._dut_channel = dut_channel
        self._errors: list[str] = []
        self._real = False
        self._swapped = False
        self._fetches = 0
        self._lates = 0
        self._late = False
        self._io_manager: IoManagerSimulator | None = None
        self._supply()
        self._stop = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(_LISTEN_S)
        self.resource = f"TCPIP::127.0.0.1::{self._server.getsockname()[1]}::SOCKET"
        self._commands = self._table()
        # A daemon only so that an owner who forgets close() does not hang at the end of
        # the program.
        self._thread = threading.Thread(
            target=self._serve, name="keysight n6705 simulator", daemon=True
        )
        self._thread.start()

    def open_io_manager(self) -> str:
        """Put an IO manager on the bench; returns its port as pyserial takes it."""
        self._io_manager = IoManagerSimulator(
            self._world, self._settings.io_manager_ppm, self._faults
        )
        return self._io_manager.port

    def close(self) -> None:
        """End its threads; closing twice is allowed. The outputs stay as they are."""
        self._stop.set()
        self._log.abort(list(self._channels.values()))
        self._thread.join()
        self._server.close()
        if self._io_manager is not None:
            self._io_manager.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(_LISTEN_S)
                # A client that hangs up in the middle of an answer is no fault of ours.
                with suppress(OSError):
                    self._converse(connection)
            self._log.release()

    def _converse(self, connection: socket.socket) -> None:
        waiting = b""
        held = b""
        mute = False
        while not self._stop.is_set():
            try:
                block = connection.recv(4096)
            except TimeoutError:
                continue
            if not block:
                return
            *lines, waiting = (waiting + block).split(b"\n")
            for line in lines:
                if self._log.dropped():
                    return
                answer = held + self._message(line.decode("ascii", "replace").strip())
                held = b""
                # A command has no answer; that to the error query after it is late.
                if self._late and answer:
                    answer, held, self._late, mute = (
                        b"",
                        answer,
                        False,
                        self._faults.mute,
                    )
                if answer and not mute:
                    connection.sendall(answer)

    def _message(self, message: str) -> bytes:
        """Carry out one program message; the answers of its queries are joined by
        semicolons (IEEE 488.2).
        """
        answers: list[bytes] = []
        for header, arguments in scpi.units(message):
            try:
                name = scpi.canonical(header)
                if name not in _COUPLED:
                    self._settle()
                answer = self._unit(name, arguments)
            except scpi.ScpiError as refusal:
                self._errors.append(str(refusal))
                if not str(refusal).startswith("-2"):
                    # an error in a command, not in carrying it out: the rest of the
                    # message is dropped
                    break
                continue
            if answer is not None:
                answers.append(answer)
        self._settle()
        return b";".join(answers) + b"\n" if answers else b""

    def _settle(self) -> None:
        for channel in self._channels.values():
            try:
                channel.settle()
            except scpi.ScpiError as refusal:
                self._errors.append(str(refusal))

    def _unit(self, name: str, text: str) -> bytes | None:
        faults = self._faults
        if faults.late and name == faults.late:
            self._lates += 1
            self._late = self._lates == faults.late_at
        if faults.refuse and name == faults.refuse:
            raise scpi.ScpiError(faults.refuse_error)
        if faults.no_effect_of and name == faults.no_effect_of:
            return None
        if faults.read_back_of and name == faults.read_back_of:
            return faults.read_back.encode()
        act = self._commands.get(name)
        if act is None:
            raise scpi.ScpiError(scpi.UNDEFINED)
        words, listed = scpi.arguments(text)
        if not listed and name.startswith(_OF_CHANNELS):
            raise scpi.ScpiError(scpi.MISSING)
        if not set(listed) <= set(self._channels):
            raise scpi.ScpiError(scpi.OUT_OF_RANGE)
        return act(ScpiOrder(words, [self._channels[number] for number in listed]))

    def _supply(self) -> None:
        channel = self._channels.get(self._dut_channel)
        self._world.supply_on = channel is not None and channel.live
        self._world.supply_v = channel.volt if channel is not None else 0.0

    def _table(self) -> dict[str, Act]:
        faults = self._faults
        every = list(self._channels.values())
        table: dict[str, Act] = {
            "*IDN?": lambda order: (faults.idn or _IDN).encode(),
            "*RST": self._reset,
            "*CLS": lambda order: self._errors.clear(),
            "*OPC?": lambda order: b"1",
            "*TRG": lambda order: self._log.trigger(
                [channel for channel in every if channel.source == "BUS"]
            ),
            "SYST:ERR?": self._error,
            "SYST:CHAN?": lambda order: f"+{len(every)}".encode(),
            "SYST:CHAN:MOD?": words_of(lambda channel: channel.model),
            "SYST:CHAN:OPT?": lambda order: (faults.option or "0").encode(),
            **self._of_outputs(),
            **self._of_log(),
        }
        for pin in range(1, 8):
            table[f"DIG:PIN{pin}:FUNC"] = self._pin_function(pin)
            table[f"DIG:PIN{pin}:POL"] = self._pin_polarity(pin)
        return table

    def _of_outputs(self) -> dict[str, Act]:
        """Return the commands of supplies and their protection."""
        set_limit = sets("limit_a", lambda order: order.number(0.0, 3.06))
        limits = numbers_of(lambda channel: channel.limit_a)
        return {
            "OUTP": self._output,
            "OUTP?": flags_of(lambda channel: channel.on),
            "OUTP:PROT:CLE": self._clear_protection,
            "STAT:QUES?": words_of(Channel.take_events),
            "STAT:QUES:COND?": words_of(lambda channel: channel.condition),
            "EMUL": acts.emulate,
            "FUNC": sets("priority", lambda order: order.choice("VOLTage", "CURRent")),
            "FUNC?": words_of(lambda channel: channel.priority),
            "VOLT": self._volt,
            "VOLT?": numbers_of(lambda channel: channel.volt),
            "VOLT:RANG": acts.set_voltage_range,
            "CURR": set_limit,
            "CURR?": limits,
            "CURR:LIM": set_limit,
            "CURR:LIM?": limits,
        }

    def _of_log(self) -> dict[str, Act]:
        """Return the commands of the data log and its trigger."""
        log = self._log
        table: dict[str, Act] = {
            "FORM": self._format,
            "FORM:BORD": self._order,
            "FORM:BORD?": lambda order: b"SWAP" if self._swapped else b"NORM",
            "SENS:SWE:TINT:RES": accepts(lambda order: order.choice("RES20", "RES40")),
            "SENS:FUNC:VOLT:INP": acts.set_input,
            "SENS:ELOG:CURR:RANG": sets("range_a", acts.smallest_range_a),
            "SENS:ELOG:CURR:RANG?": numbers_of(
                lambda channel: min(channel.range_a, 3.06)
            ),
            "SENS:ELOG:CURR:RANG:AUTO": sets("range_a", acts.seamless_range_a),
            "SENS:ELOG:CURR:RANG:AUTO?": flags_of(
                lambda channel: channel.range_a == math.inf
            ),
            "SENS:ELOG:VOLT:RANG": accepts(lambda order: order.number(0.0, 20.4)),
            "SENS:ELOG:PER": sets(
                "period_s", lambda order: order.number(102.4e-6, 60.0)
            ),
            "SENS:ELOG:PER?": numbers_of(
                lambda channel: log.told_period_s(channel, self._real)
            ),
            "TRIG:ELOG:SOUR": sets("source", acts.trigger_source),
            "TRIG:ELOG:SOUR?": words_of(lambda channel: channel.source),
            "TRIG:ELOG": lambda order: log.trigger(order.channels),
            "INIT:ELOG": lambda order: log.initiate(order.channels, self._real),
            "ABOR:ELOG": lambda order: log.abort(order.channels),
            "FETC:ELOG?": self._fetch,
        }
        for name in ("CURR", "VOLT", "CURR:MINM", "VOLT:MINM"):
            table[f"SENS:ELOG:FUNC:{name}"] = self._function(name)
            table[f"SENS:ELOG:FUNC:{name}?"] = self._logged_function(name)
        return table

    def _reset(self, order: ScpiOrder) -> None:
        self._log.abort(list(self._channels.values()))
        for channel in self._channels.values():
            channel.reset()
        self._real = self._swapped = False
        self._supply()

    def _error(self, order: ScpiOrder) -> bytes:
        error = self._log.take_error()
        if error:
            self._errors.append(error)
        return (self._errors.pop(0) if self._errors else '+0,"No error"').encode()

    def _output(self, order: ScpiOrder) -> None:
        on = order.boolean
        self._log.catch_up()
        for channel in order.channels:
            early_ns = (
                channel.set_ns + self._faults.settle_s * NS_PER_S - self._world.now_ns()
            )
            channel.on = on and not self._faults.output_stays_off and early_ns <= 0
        self._supply()

    def _clear_protection(self, order: ScpiOrder) -> None:
        for channel in order.channels:
            channel.clear_protection()
        self._supply()

    def _volt(self, order: ScpiOrder) -> None:
        for channel in order.channels:
            channel.wanted_v = order.number(0.0, channel.ranges_v[-1])
            channel.set_ns = self._world.now_ns()

    def _format(self, order: ScpiOrder) -> None:
        self._real = order.choice("ASCii", "REAL") == "REAL"

    def _order(self, order: ScpiOrder) -> None:
        self._swapped = (
            order.choice("NORMal", "SWAPped") == "SWAP" or self._faults.keeps_byte_order
        )

    def _function(self, name: str) -> Act:
        def act(order: ScpiOrder) -> None:
            for channel in order.channels:
                if self._faults.no_minmax and name.endswith("MINM") and not channel.smu:
                    raise scpi.ScpiError(scpi.UNSUPPORTED)
                channel.log_function(name, order.boolean)

        return act

    def _logged_function(self, name: str) -> Act:
        hidden = self._faults.stuck_hidden
        return flags_of(lambda channel: self._log.is_on(channel, name, hidden))

    def _pin_function(self, pin: int) -> Act:
        return lambda order: self._log.set_pin(
            pin, order.choice("DIO", "DINPut", "TINPut", "TOUTput")
        )

    def _pin_polarity(self, pin: int) -> Act:
        return lambda order: self._log.set_polarity(
            pin, order.choice("POSitive", "NEGative")
        )

    def _fetch(self, order: ScpiOrder) -> bytes:
        if len(order.channels) != 1:
            raise scpi.ScpiError(scpi.ILLEGAL)
        values = self._log.fetch(order.channels[0], int(order.number(1, 1e9)))
        self._fetches += bool(len(values))
        if not self._real:
            return ",".join(f"{value:.6E}" for value in values).encode()
        if not len(values) and self._faults.no_records_as != "block":
            return {"line": b"", "9.91E37": b"+9.91E+37"}[self._faults.no_records_as]
        data = values.astype("<f4" if self._swapped else ">f4").tobytes()
        length = str(len(data))
        if self._fetches == self._faults.short_block_at:
            data = data[: len(data) // 2]
        return f"#{len(length)}{length}".encode() + data
