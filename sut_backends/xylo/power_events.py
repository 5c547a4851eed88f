# SPDX-License-Identifier: Apache-2.0
"""Read the power events of a Xylo board at their true rate and append them to a file,
inside the worker that holds the board; drivers/xylo_board follows the file.

Rockpool returns powers without their times. Here every event keeps the stamp of the
board's stopwatch, and the times of CLOCK_MONOTONIC between which it was read. Standard
library alone.

The file: a line of JSON each. The first is {"xylo_power": 1, "chip", "channels": {name:
number}, "hz", "samna", "simulated", "stopwatch", "started_ns"}: the stopwatch, where
the board has one, was asked to start after `started_ns`. Then {"read_ns", "events":
[[stamp in us or null, channel number, W], ...]}: events that were there at `read_ns`,
also where there were none, as a sign of life; at the end {"ended_ns", "why"}.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

VERSION = 1
#: Names of the rails, by what samna calls the channels.
CHANNELS = {
    "audio2": {
        "io": "Io",
        "afe_core": "LogicAfe",
        "afe_ldo": "IoAfe",
        "snn_core": "Logic",
    },
    "audio3": {"io": "Io", "analog": "AnalogLogic", "digital": "DigitalLogic"},
}
_ALIVE_S = 0.1


class PowerEvents:
    """A thread that reads power events until `close`."""

    def __init__(self, samna: Any, board: Any, chip: str, hz: float, path: str) -> None:
        # A new file, not an old one emptied: who follows it sees that by its inode.
        Path(path).unlink(missing_ok=True)
        self._file = Path(path).open("x", encoding="utf-8")  # noqa: SIM115, closed by `close`
        home = samna.xyloA2TestBoard if chip == "audio2" else samna.xyloAudio3
        numbers = {
            name: int(getattr(home.MeasurementChannels, theirs))
            for name, theirs in CHANNELS[chip].items()
        }
        self._monitor = board.get_power_monitor()
        self._sink = samna.graph.sink_from(self._monitor.get_source_node())
        if self._monitor.is_auto_power_measurement_active():
            self._monitor.stop_auto_power_measurement()
        self._sink.get_events()
        started_ns = time.monotonic_ns()
        self._stopwatch = (
            board.get_stop_watch() if hasattr(board, "get_stop_watch") else None
        )
        if self._stopwatch is not None:
            # As in the vendor's examples. Rockpool may have started it before: then
            # reset sets it.
            self._stopwatch.start()
            self._stopwatch.reset()
        self._monitor.start_auto_power_measurement(hz)
        self._say(
            {
                "xylo_power": VERSION,
                "chip": chip,
                "channels": numbers,
                "hz": hz,
                "samna": str(getattr(samna, "__version__", "unknown")),
                "simulated": bool(getattr(samna, "simulated", False)),
                "stopwatch": self._stopwatch is not None,
                "started_ns": started_ns,
            }
        )
        # An eighth of a period: what reading adds to the age of an event, on average a
        # sixteenth.
        self._wait_s = min(max(1 / hz / 8, 0.0005), 0.01)
        self._stop = threading.Event()
        self._why = "closed"
        self._thread = threading.Thread(
            target=self._work, name="Xylo power events", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread and the measurement; closing twice is allowed."""
        if self._file.closed:
            return
        self._stop.set()
        self._thread.join(2.0)
        try:
            self._monitor.stop_auto_power_measurement()
        finally:
            self._say({"ended_ns": time.monotonic_ns(), "why": self._why})
            self._file.close()

    def _work(self) -> None:
        said_s = 0.0
        try:
            while not self._stop.wait(self._wait_s):
                events = self._sink.get_events()
                read_ns = time.monotonic_ns()
                if events or time.monotonic() - said_s > _ALIVE_S:
                    said_s = time.monotonic()
                    self._say(
                        {
                            "read_ns": read_ns,
                            "events": [_row(event) for event in events],
                        }
                    )
        except Exception as error:  # samna raises exceptions of any kind
            self._why = f"{type(error).__name__}: {error}"
            self._say({"ended_ns": time.monotonic_ns(), "why": self._why})

    def _say(self, content: dict[str, Any]) -> None:
        self._file.write(json.dumps(content) + "\n")
        self._file.flush()


def _row(event: Any) -> list[Any]:
    stamp = getattr(event, "timestamp", None)
    return [
        None if stamp is None else int(stamp),
        int(event.channel),
        float(event.value),
    ]
