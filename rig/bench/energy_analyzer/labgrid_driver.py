# SPDX-License-Identifier: Apache-2.0
"""A driver of labgrid that offers the monitor of a bench file as an energy analyzer.

It is the one module of the rig that a program of labgrid's imports: an environment
file names it under `imports`. Without labgrid its import fails.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any, NamedTuple

import attr
from labgrid.binding import StateError
from labgrid.driver import Driver
from labgrid.factory import target_factory
from labgrid.step import step

from rig.bench import config
from rig.bench.energy_analyzer.protocol import EnergyAnalyzerProtocol
from rig.bench.metering import Metering, NotRecorded, RecordingEnded, meter_supply
from rig.errors import BenchError, ConfigError, storage_error
from rig.host.stop import Stop
from rig.live.accumulated import Amounts
from rig.live.meter import MeterReading, Trigger
from rig.live.newest_second import MeterSpread
from rig.trace.trace import TRACE
from rig.uncertainty.accuracy import LIMITS

#: First samples come this soon, and a capture ends so long after its time.
_LATE_S = 30.0
_LOOK_S = 0.02
_SIGNALS = ("current", "voltage")
_OVER = object()


class _MeterThread:
    """The meter of one rail, at work in a thread of its own until `leave`."""

    def __init__(self, bench: str, rail: str) -> None:
        self.events: Queue[Any] = Queue()
        self._stop = Stop()
        self._error: BaseException | None = None
        # labgrid deactivates drivers at the interpreter's exit, which comes after the
        # end of all threads that are no daemons.
        self._thread = threading.Thread(
            target=self._work, args=(bench, rail), name="rig-labgrid", daemon=True
        )
        self._thread.start()
        first = self.events.get()
        while not isinstance(first, Metering):
            if first is _OVER:
                self.check()
            first = self.events.get()
        self.info, self.meter = first.info, first.meter

    def _work(self, bench: str, rail: str) -> None:
        try:
            resolved = config.load(Path(bench))
            meter_supply(resolved, rail, self.events.put, self._stop)
        except BaseException as error:
            self._error = error
        self.events.put(_OVER)

    def check(self) -> None:
        """Raise the error that ended the meter, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        if not self._thread.is_alive():
            raise BenchError("the meter has ended", try_next="activate it again")

    def leave(self) -> None:
        """Switch the supply off and close the instrument; raise an error that ended the
        meter and was not raised yet.
        """
        self._stop.request()
        self._thread.join()
        if self._error is not None:
            self.check()

    def reading(self) -> MeterReading:
        """Return the reading of the meter, once it and its sums have samples."""
        until_s = time.monotonic() + _LATE_S
        while time.monotonic() < until_s:
            self.check()
            reading = self.meter.reading()
            if reading.current is not None and reading.total.samples:
                return reading
            time.sleep(_LOOK_S)
        raise BenchError(f"{self.info.name} gave no samples within {_LATE_S:g} s")

    def recorded(self, folder: Path, duration_s: float) -> None:
        """Record into a new folder for at least this long."""
        self.meter.record(folder, Trigger())
        until_s = time.monotonic() + duration_s + _LATE_S
        while time.monotonic() < until_s:
            self.check()
            if self.meter.reading().recorded.duration_s >= duration_s:
                self.meter.end_recording()
            try:
                event = self.events.get(timeout=_LOOK_S)
            except Empty:
                continue
            if isinstance(event, (RecordingEnded, NotRecorded)):
                if event.error is not None:
                    raise event.error
                return
        self.meter.end_recording()
        raise BenchError(f"{self.info.name} gave no {duration_s:g} s of samples")


@target_factory.reg_driver
@attr.s(eq=False)
class NeurorigMonitorDriver(Driver, EnergyAnalyzerProtocol):
    """Offer the monitor of `rail` in the file `bench`: its supply is on while the
    driver is active.

    Methods raise StateError for a wrong order, and the rig's errors.
    """

    bench: str = attr.ib(validator=attr.validators.instance_of(str))
    rail: str = attr.ib(default="", validator=attr.validators.instance_of(str))

    _thread: _MeterThread | None = None
    _is_started = False

    def on_activate(self) -> None:
        """Open the instrument and switch its supply on."""
        bench = self.bench
        if self.target.env is not None:
            bench = self.target.env.config.resolve_path(bench)
        self._is_started = False
        self._whole = _Sums(0.0, 0.0, 0.0, 0.0)
        self._thread = _MeterThread(bench, self.rail)

    def on_deactivate(self) -> None:
        """Switch the supply off and close the instrument."""
        thread, self._thread = self._meter, None
        thread.leave()

    @Driver.check_active
    @step(result=True)
    def get_statistics(self) -> dict[str, Any]:
        """Return the newest second in A, V and W, and the sums since activation, None
        where too many samples are lost; each with its standard uncertainty, None where
        the limits of error do not reach.
        """
        reading = self._meter.reading()
        whole = self._whole.plus(_Sums.of(reading.total))
        return {
            "current": _row(reading.current),
            "voltage": _row(reading.voltage),
            "power": _row(reading.power),
            "charge_C": whole.charge_c,
            "charge_u_C": whole.charge_u_c,
            "energy_J": whole.energy_j,
            "energy_u_J": whole.energy_u_j,
            "simulated": self._meter.info.simulated,
        }

    @Driver.check_active
    @step()
    def start(self) -> None:
        """Begin a window with the next block of samples."""
        if self._is_started:
            raise StateError("start() was called already, and stop() was not")
        self._cut()
        self._is_started = True

    @Driver.check_active
    @step(result=True)
    def stop(self) -> dict[str, Any]:
        """End the window; return its sums with their standard uncertainties, None where
        the limits of error do not reach.
        """
        if not self._is_started:
            raise StateError("stop() was called without start()")
        self._is_started = False
        window = self._cut()
        if window.energy_j is None:
            raise BenchError("the window has no energy", evidence=window.remark)
        return {
            "energy_J": window.energy_j,
            "charge_C": window.charge_c,
            "duration_s": window.duration_s,
            "energy_u_J": window.energy_u_j,
            "charge_u_C": window.charge_u_c,
            "lost_samples": window.lost,
            "remark": window.remark,
            "simulated": self._meter.info.simulated,
        }

    @Driver.check_active
    @step(args=["filename", "duration"])
    def capture(
        self,
        filename: str | os.PathLike[str],
        signals: Sequence[str] | None = None,
        duration: float | None = None,
        frequency: float | None = None,
    ) -> None:
        """Write current, voltage and SYNC to a JLS file, at the rate of the bench file,
        and the limits of error beside it, as NAME.accuracy.toml.
        """
        if not duration or not 0 < duration < float("inf"):
            raise ConfigError("capture() needs a duration in seconds", path="duration")
        if strange := sorted(set(signals or ()) - set(_SIGNALS)):
            raise ConfigError(
                f"a capture has {' and '.join(_SIGNALS)}, no {strange[0]!r}",
                path="signals",
            )
        sample_hz = self._meter.info.sample_hz
        if frequency not in (None, sample_hz):
            raise ConfigError(
                f"the monitor samples at {sample_hz:g} Hz",
                path="frequency",
                try_next=f"the rate of the monitor in {self.bench}",
            )
        file = Path(filename)
        try:
            with tempfile.TemporaryDirectory(dir=file.parent) as scratch:
                folder = Path(scratch) / "trace"
                self._meter.recorded(folder, duration)
                (folder / TRACE).replace(file)
                (folder / LIMITS).replace(file.with_suffix(f".{LIMITS}"))
        except OSError as error:
            raise storage_error(error, file) from error

    @property
    def _meter(self) -> _MeterThread:
        assert self._thread is not None
        return self._thread

    def _cut(self) -> Amounts:
        """Let the meter's sums begin again; return those up to now, of some samples."""
        self._meter.reading()
        amounts = self._meter.meter.reset()
        self._whole = self._whole.plus(_Sums.of(amounts))
        return amounts


class _Sums(NamedTuple):
    """Energy and charge since activation with their standard uncertainties, which are
    added: the limits of an instrument are the same in each part.
    """

    energy_j: float | None
    energy_u_j: float | None
    charge_c: float | None
    charge_u_c: float | None

    @classmethod
    def of(cls, part: Amounts) -> _Sums:
        return cls(part.energy_j, part.energy_u_j, part.charge_c, part.charge_u_c)

    def plus(self, part: _Sums) -> _Sums:
        return _Sums(*map(_plus, self, part))


def _plus(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _row(spread: MeterSpread | None) -> dict[str, float | None]:
    assert spread is not None
    return {
        "avg": spread.mean,
        "avg_u": spread.mean_u,
        "std": spread.deviation,
        "min": spread.least,
        "max": spread.most,
    }
