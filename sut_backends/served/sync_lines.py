# SPDX-License-Identifier: Apache-2.0
"""Lines for SYNC: RTS or DTR of a serial port, or a GPIO line of Linux (library
gpiod).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from rig.errors import BenchError, ConfigError, DeviceLost, DeviceNotFound
from rig.host.serial_port import ModemLine, SerialPort, Use
from sut_backends.served.pulses import PulseLine

_BAUD = 9600
_FORMS = "rts, dtr, rts:PORT, dtr:PORT or gpio:/dev/gpiochipN:LINE"
_MODEM: dict[str, ModemLine] = {"rts": "rts", "dtr": "dtr"}


def open_sync_line(text: str, served: Callable[[], SerialPort] | None) -> PulseLine:
    """Open the line named by --sync; `served` returns the served serial port, if there
    is one.
    """
    kind, _, port = text.partition(":")
    if kind in _MODEM:
        if port:
            return _ModemLine(_opened(port), _MODEM[kind], owned=True)
        if served is None:
            raise ConfigError(
                f"{kind} of which port?", path="--sync", try_next=f"{kind}:/dev/ttyUSB0"
            )
        return _ModemLine(served, _MODEM[kind], owned=False)
    chip, colon, number = port.rpartition(":")
    if kind == "gpio" and colon and number.isdecimal():
        return _GpioLine(chip, int(number))
    raise ConfigError(
        f"no line for SYNC is named {text!r}", path="--sync", try_next=_FORMS
    )


def _opened(url: str) -> Callable[[], SerialPort]:
    use = Use(section="--sync", gone="look at its cable")
    port = SerialPort.open(url, _BAUD, use=use)
    return lambda: port


class _ModemLine:
    """RTS or DTR. An asserted line is low at the pins of an adapter: at rest the line
    is not asserted.
    """

    def __init__(
        self, port: Callable[[], SerialPort], line: ModemLine, *, owned: bool
    ) -> None:
        self.name = f"{line.upper()} of {port().name}"
        self._port = port
        self._line = line
        self._owned = owned

    def set(self, level: bool) -> None:
        """Drive the line."""
        self._port().drive(self._line, asserted=not level)

    def close(self) -> None:
        """Close the port if it is owned."""
        if self._owned:
            self._port().close()


class _GpioLine:
    """A line of a GPIO character device."""

    def __init__(self, chip: str, number: int) -> None:
        self.name = f"GPIO line {number} of {chip}"
        gpiod = _gpiod()
        self._low = gpiod.line.Value.INACTIVE
        self._high = gpiod.line.Value.ACTIVE
        settings = gpiod.LineSettings(
            direction=gpiod.line.Direction.OUTPUT, output_value=self._high
        )
        request = partial(
            gpiod.request_lines, chip, consumer="rig serve", config={number: settings}
        )
        self._request: Any = _translated(
            request, DeviceNotFound, f"{self.name} cannot be had"
        )
        self._number = number

    def set(self, level: bool) -> None:
        """Drive the line."""
        value = self._high if level else self._low
        _translated(
            lambda: self._request.set_value(self._number, value),
            DeviceLost,
            f"{self.name} is gone",
        )

    def close(self) -> None:
        """Release the line."""
        if self._request is not None:
            self._request.release()
            self._request = None


def _gpiod() -> Any:
    try:
        module: Any = import_module("gpiod")
        import_module("gpiod.line")
    except ImportError as error:
        raise BenchError(
            "a GPIO line needs the library gpiod, version 2, which is not installed",
            evidence=str(error),
            try_next="pip install gpiod (Linux)",
        ) from error
    return module


def _translated(call: Callable[[], Any], kind: type[BenchError], cause: str) -> Any:
    try:
        return call()
    except (OSError, ValueError) as error:
        raise kind(
            cause,
            evidence=str(error),
            try_next="gpiodetect and gpioinfo show lines, and who holds them",
        ) from error
