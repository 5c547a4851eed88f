# SPDX-License-Identifier: Apache-2.0
"""A simulated Otii server on a socket of this computer, whose device measures a
simulated table. It shares only the wire with the driver.

Facts it is built on: the client github.com/qoitech/otii-tcp-client-python 1.0.13.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from drivers.otii.settings import OtiiSimulatorSettings
from drivers.otii.sim.measurement import OtiiMeasurement
from rig.interfaces.context import BenchContext
from rig.simulation.world import NS_PER_S

_LISTEN_S = 0.05
_STOP_S = 10.0
_WRONG = 77
_ARC_HZ = {"mc": 4000, "mv": 1000}
Answer = dict[str, Any]


class ServerRefusal(Exception):
    """An error of the server: its kind, and its data."""

    def __init__(self, code: str, **data: Any) -> None:
        super().__init__(code)
        self.code = code
        self.data = data


class OtiiSimulator:
    """Listens until it is closed; `server` is its address."""

    def __init__(self, settings: OtiiSimulatorSettings, context: BenchContext) -> None:
        self._settings = settings
        self._faults = settings.faults
        self._world = context.world
        self._seed = [context.seed, settings.seed]
        self._logged_in = self._faults.logged_in
        self._licences: list[Answer] = []
        for number, kind in enumerate(self._faults.licences, start=100):
            licence = {"id": number, "type": kind, "available": True, "reserved_to": ""}
            self._licences.append(licence)
        self._values: dict[str, Any] = {
            "range": "low",
            "main_voltage": 0.5,
            "max_current": 0.1,
            "exp_voltage": 1.2,
            "supply_mode": "battery-emulator",
        }
        self._rates = dict(_ARC_HZ)
        self._channels: set[str] = set()
        self._exp_port = False
        self._project = False
        self._recordings: dict[int, OtiiMeasurement] = {}
        self._made = 0
        self._on = False
        self._switch(self._faults.supply_found_on)
        if self._faults.recording_found:
            self._project = True
            self._start()
        self._commands = self._table()
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_LISTEN_S)
        self.server = f"127.0.0.1:{self._listener.getsockname()[1]}"
        # A daemon only so that an owner who forgets close() does not hang at the end of
        # the program.
        self._thread = threading.Thread(
            target=self._serve, name="otii simulator", daemon=True
        )
        self._thread.start()

    @property
    def reserved(self) -> list[int]:
        """The licences that are reserved."""
        return [row["id"] for row in self._licences if row["reserved_to"]]

    def close(self) -> None:
        """End its thread; closing twice is allowed. The output stays as it is."""
        self._stop.set()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # the server has ended
                return
            with connection:
                connection.settimeout(_LISTEN_S)
                # A client that hangs up in the middle of an answer is no fault of ours.
                with suppress(OSError):
                    self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        about = {
            "otii_version": "3.5.5",
            "protocol_version": "0.1",
            "server": "simulated otii-server",
        }
        greeting = {"type": "information", "info": "connected", "data": about}
        connection.sendall(json.dumps(greeting).encode() + b"\r\n")
        waiting = b""
        while not self._stop.is_set() and not self._struck(self._faults.ended_at_s):
            try:
                block = connection.recv(65_536)
            except TimeoutError:
                continue
            if not block:
                return
            *lines, waiting = (waiting + block).split(b"\r\n")
            for line in lines:
                if answer := self._answer(json.loads(line)):
                    connection.sendall(json.dumps(answer).encode() + b"\r\n")
        self._listener.close()

    def _answer(self, asked: Answer) -> Answer | None:
        name = asked["cmd"]
        if name == self._faults.mute:
            return None
        head = {"cmd": name, "trans_id": asked["trans_id"]}
        try:
            data = self._carry_out(name, asked.get("data", {}))
        except ServerRefusal as refusal:
            failed = {"type": "error", "errorcode": refusal.code}
            return head | failed | {"data": refusal.data}
        except KeyError as missing:
            failed = {"type": "error", "errorcode": "Missing key in request"}
            return head | failed | {"data": {"key": missing.args[0]}}
        return head | {"type": "response", "data": data}

    def _carry_out(self, name: str, data: Answer) -> Answer:
        command = self._commands.get(name)
        if command is None:
            raise ServerRefusal("Invalid command")
        if name == self._faults.refuse:
            raise ServerRefusal("Command failure", message="it cannot be done now")
        if not name.startswith("otii_") or name == "otii_get_devices":
            self._require_licence()
        if name.startswith("arc_"):
            self._require_device(data["device_id"])
        answer = command(data) or {}
        if name == self._faults.misread:
            return dict.fromkeys(answer, _WRONG)
        return answer

    def _require_licence(self) -> None:
        if not self._logged_in:
            raise ServerRefusal("Not logged in")
        if not self.reserved:
            raise ServerRefusal("No license")

    def _require_device(self, device: str) -> None:
        there = [row["device_id"] for row in self._devices()]
        if device not in there:
            raise ServerRefusal("Device not connected", device_id=device)

    def _devices(self) -> list[Answer]:
        if self._struck(self._faults.unplugged_at_s):
            self._switch(False)
            return []
        model = self._settings.model
        numbered = enumerate(self._faults.devices, start=1)
        return [
            {"device_id": f"{model}{number:034d}", "name": name, "type": model}
            for number, name in numbered
        ]

    def _struck(self, at_s: float) -> bool:
        """Check whether the first recording has lasted so long."""
        first = self._recordings.get(1)
        if at_s < 0 or first is None:
            return False
        return self._world.now_ns() - first.began_ns >= at_s * NS_PER_S

    def _table(self) -> dict[str, Callable[[Answer], Answer | None]]:
        table: dict[str, Callable[[Answer], Answer | None]] = {
            "otii_is_logged_in": lambda data: {"logged_in": self._logged_in},
            "otii_login": self._log_in,
            "otii_logout": lambda data: self._log(False),
            "otii_get_licenses": lambda data: {"licenses": self._licences},
            "otii_has_license": lambda data: {"has_license": bool(self.reserved)},
            "otii_reserve_license": lambda data: self._reserve(data, "simulated"),
            "otii_return_license": lambda data: self._reserve(data, ""),
            "otii_get_devices": lambda data: {"devices": self._devices()},
            "otii_get_active_project": lambda data: {
                "project_id": 1 if self._project else -1
            },
            "otii_create_project": self._create_project,
            "arc_add_to_project": lambda data: None,
            "arc_is_connected": lambda data: {"connected": True},
            "arc_get_version": lambda data: {
                "hw_version": "simulated",
                "fw_version": "simulated",
            },
            "arc_set_main": lambda data: self._switch(data["enable"]),
            "arc_get_main": lambda data: {"value": self._on},
            "arc_set_supply_power_box": lambda data: self._put(
                "supply_mode", "power-box"
            ),
            "arc_enable_exp_port": self._enable_exp_port,
            "arc_enable_channel": self._enable_channel,
            "arc_set_channel_samplerate": self._set_rate,
            "arc_get_channel_samplerate": lambda data: {
                "value": self._rates[data["channel"]]
            },
            "arc_set_range": lambda data: self._put("range", data["range"]),
            "arc_get_range": lambda data: {"range": self._values["range"]},
        }
        for name in ("main_voltage", "max_current", "exp_voltage"):
            table[f"arc_set_{name}"] = self._setter(name)
            table[f"arc_get_{name}"] = self._getter(name)
        return table | self._of_recordings()

    def _of_recordings(self) -> dict[str, Callable[[Answer], Answer | None]]:
        """Return the commands of projects and recordings."""
        return {
            "project_start_recording": lambda data: self._start(),
            "project_stop_recording": lambda data: self._end(),
            "project_get_last_recording": self._last,
            "recording_is_running": lambda data: {"running": self._of(data).running},
            "recording_get_channel_data_count": lambda data: {
                "count": self._of(data).count(data["channel"])
            },
            "recording_get_channel_data": lambda data: self._of(data).part(
                data["channel"], data["index"], data["count"]
            ),
            "recording_get_channel_info": lambda data: self._of(data).info(
                data["channel"]
            ),
            "recording_get_channel_statistics": lambda data: self._of(data).statistics(
                data["channel"], data["from"], data["to"]
            ),
            "recording_delete": lambda data: self._delete(data),
        }

    def _log(self, on: bool) -> None:
        self._logged_in = on

    def _log_in(self, data: Answer) -> None:
        if (data["username"], data["password"]) != ("simulated", "simulated"):
            raise ServerRefusal("Could not login")
        self._log(True)

    def _reserve(self, data: Answer, user: str) -> None:
        for row in self._licences:
            if row["id"] == data["license_id"]:
                row["reserved_to"] = user
                return
        raise ServerRefusal("License could not be reserved")

    def _create_project(self, data: Answer) -> Answer:
        self._project = True
        return {"project_id": 1}

    def _put(self, name: str, value: Any) -> None:
        self._values[name] = value

    def _setter(self, name: str) -> Callable[[Answer], None]:
        def act(data: Answer) -> None:
            if not 0 < data["value"] <= 25:
                raise ServerRefusal(
                    "Invalid key value", key="value", value=data["value"]
                )
            self._put(name, data["value"])

        return act

    def _getter(self, name: str) -> Callable[[Answer], Answer]:
        return lambda data: {"value": self._values[name]}

    def _switch(self, on: bool) -> None:
        self._on = on
        self._world.supply_on = on
        share = 1 + self._settings.supply_v_error
        self._world.supply_v = self._values["main_voltage"] * share
        for measurement in self._recordings.values():
            measurement.switched(on)

    def _enable_exp_port(self, data: Answer) -> None:
        self._exp_port = bool(data["enable"])

    def _enable_channel(self, data: Answer) -> None:
        change = self._channels.add if data["enable"] else self._channels.discard
        change(data["channel"])

    def _set_rate(self, data: Answer) -> None:
        if self._settings.model == "Arc":
            raise ServerRefusal("Command not valid for device type")
        self._rates[data["channel"]] = data["value"]

    def _start(self) -> None:
        self._made += 1
        self._recordings[self._made] = OtiiMeasurement(
            self._settings,
            self._world,
            self._seed,
            rates=dict(self._rates),
            channels=frozenset(self._channels),
            supply_v=self._values["main_voltage"],
            on=self._on,
            sees_inputs=self._exp_port,
            faulty=self._made == 1,
        )

    def _end(self) -> None:
        """End the recording once all up to now is known."""
        for measurement in self._recordings.values():
            if not measurement.running:
                continue
            stop_ns = self._world.now_ns()
            end_s = time.monotonic() + _STOP_S
            while self._world.horizon_ns() < stop_ns and time.monotonic() < end_s:
                self._stop.wait(0.002)
            measurement.end(stop_ns)

    def _last(self, data: Answer) -> Answer:
        if not self._recordings:
            return {"recording_id": -1}
        number = max(self._recordings)
        return {"recording_id": number, "name": f"Recording {number}"}

    def _of(self, data: Answer) -> OtiiMeasurement:
        try:
            measurement = self._recordings[data["recording_id"]]
        except KeyError:
            raise ServerRefusal(
                "Invalid key value", key="recording_id", value=data["recording_id"]
            ) from None
        if self._struck(self._faults.unplugged_at_s) and measurement.running:
            self._end()
        return measurement

    def _delete(self, data: Answer) -> None:
        self._of(data)
        del self._recordings[data["recording_id"]]
