# SPDX-License-Identifier: Apache-2.0
"""A simulated Joulescope with the calls of the maker's tools beyond those of a monitor:
statistics computed from its own samples in the form of the maker's library
(pyjoulescope_driver/binding.pyx), power, levels of inputs, and further calls.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from drivers.joulescope.sim.instrument import SimulatedInstrument
from drivers.joulescope.sim.simulator import SimulatedDriver
from drivers.joulescope.sim.streams import JoulescopeAcquisition, SignalStream

_STATISTICS = "s/stats"
_TIMEOUT_S = 1.0
_TICK_HZ = 2_000_000
#: Steps of the accumulators as whole numbers; as 2.2.12 states them.
_CHARGE_STEP = 2.0**-31
_ENERGY_STEP = 2.0**-27


class StatisticsSource:
    """Statistics of one stream; charge and energy accumulate from its first block
    on."""

    def __init__(self, first_id: int, decimate: int) -> None:
        self._first_id = first_id
        self._decimate = decimate
        self._charge_c = self._energy_j = 0.0

    def value(
        self, sample_id: int, samples: NDArray[np.float32], time_map: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the published statistics of one block of (current, voltage)."""
        current, voltage = samples.astype(np.float64).T
        finite = np.isfinite(current) & np.isfinite(voltage)
        current = current[finite]
        voltage = voltage[finite]
        power = current * voltage
        period_s = self._decimate / _TICK_HZ
        self._charge_c += float(current.sum()) * period_s
        self._energy_j += float(power.sum()) * period_s
        ids = [sample_id, sample_id + len(samples) * self._decimate]
        seconds = [each / _TICK_HZ for each in ids]
        since = [each - time_map["offset_counter"] for each in ids]
        utc = [
            time_map["offset_time"] + round(each / time_map["counter_rate"] * 2**30)
            for each in since
        ]
        return {
            "time": {
                "samples": _with("samples", ids),
                "utc": _with("time64", utc),
                "sample_freq": _with("Hz", _TICK_HZ),
                "range": _with("s", seconds),
                "delta": _with("s", seconds[1] - seconds[0]),
                "decimate_factor": _with("samples", self._decimate),
                "decimate_sample_count": _with("samples", len(samples)),
                "accum_samples": _with("samples", [self._first_id, ids[1]]),
                "time_map": dict(time_map),
            },
            "signals": {
                "current": _signal(current, "A", "C", seconds[1] - seconds[0]),
                "voltage": _signal(voltage, "V"),
                "power": _signal(power, "W", "J", seconds[1] - seconds[0]),
            },
            "accumulators": {
                "charge": _accumulator(self._charge_c, _CHARGE_STEP, "C"),
                "energy": _accumulator(self._energy_j, _ENERGY_STEP, "J"),
            },
            "source": "sensor",
        }


def _with(units: str, value: Any) -> dict[str, Any]:
    return {"value": value, "units": units}


def _signal(
    values: NDArray[np.float64], units: str, integral: str = "", delta_s: float = 0.0
) -> dict[str, Any]:
    least, most = float(values.min()), float(values.max())
    signal = {
        "avg": _with(units, float(values.mean())),
        "std": _with(units, float(values.std())),
        "min": _with(units, least),
        "max": _with(units, most),
        "p2p": _with(units, most - least),
    }
    if integral:
        signal["integral"] = _with(integral, float(values.mean()) * delta_s)
    return signal


def _accumulator(value: float, step: float, units: str) -> dict[str, Any]:
    return {
        "value": value,
        "int_value": round(value / step),
        "int_scale": step,
        "units": units,
    }


class DeskAcquisition(JoulescopeAcquisition):
    """Samples that also become power and statistics; a block of statistics is of
    `statistics_samples`.
    """

    statistics_samples = 0

    def _new_stream(self, topic: str, start_tick: int) -> SignalStream:
        if topic != _STATISTICS:
            return super()._new_stream(topic, start_tick)
        self._statistics = StatisticsSource(self._first_id + start_tick, self._per)
        size = self.statistics_samples
        return SignalStream(self._per, self._per, size, start_tick, {})

    def stop(self, topic: str) -> None:
        if topic == _STATISTICS:
            self._streams.pop(topic, None)
        else:
            super().stop(topic)

    def _readings(
        self,
        topic: str,
        current_a: NDArray[np.float32],
        voltage_v: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        if topic == _STATISTICS:
            return np.column_stack([current_a, voltage_v])
        if topic == "s/p":
            power_w: NDArray[np.float32] = current_a * voltage_v
            return power_w
        return super()._readings(topic, current_a, voltage_v)

    def _publish(self, topic: str, tick: int, block: dict[str, Any]) -> None:
        if topic != _STATISTICS:
            super()._publish(topic, tick, block)
            return
        sample_id = self._first_id + tick
        value = self._statistics.value(sample_id, block["data"], self._time_map)
        self._send(f"{topic}/value", value)


class DeskInstrument(SimulatedInstrument):
    """Instruments whose streams are those of a DeskAcquisition."""

    acquisition: ClassVar[type[JoulescopeAcquisition]] = DeskAcquisition

    def _start_stream(self, acquisition: JoulescopeAcquisition, name: str) -> None:
        if isinstance(acquisition, DeskAcquisition):
            acquisition.statistics_samples = self._instrument["s/stats/scnt"]
        super()._start_stream(acquisition, name)

    def ask_inputs(self, path: str) -> None:
        """Tell the present level of all inputs, one bit each (`s/gpi/+/!req`)."""
        now_ns = self._world.now_ns()
        level = next(
            state.level
            for state in self._world.states()[::-1]
            if state.time_ns <= now_ns
        )
        high = level and self._reads_inputs()
        self._deliver(f"{path}/s/gpi/+/!value", high << self.settings.sync_gpi)


class DeskDriver(SimulatedDriver):
    """A driver object with more of its methods."""

    _not_simulated: ClassVar[set[str]] = {"s/i/range/ctrl"}

    def publish(self, topic: str, value: Any, timeout: float | None = None) -> None:
        """Write a value, or ask for the levels of all inputs."""
        path, _, name = topic.partition("/s/gpi/+/!")
        if name == "req":
            instrument: Any = self._devices[path].instrument
            instrument.ask_inputs(path)
            return
        super().publish(topic, value, timeout)

    def publish_and_wait(
        self,
        publish_topic: str,
        publish_value: Any,
        response_topic: str,
        timeout: float | None = None,
    ) -> Any:
        """Write a value; return the next one of another topic."""
        answers: queue.Queue[Any] = queue.Queue()

        def take(topic: str, answer: Any) -> None:
            answers.put(answer)

        self.subscribe(response_topic, "pub", take)
        try:
            self.publish(publish_topic, publish_value, timeout)
            return answers.get(timeout=_TIMEOUT_S if timeout is None else timeout)
        except queue.Empty:
            raise TimeoutError(f"jsdrv_publish timed out | {response_topic}") from None
        finally:
            self.unsubscribe(response_topic, take)

    def unsubscribe_all(
        self, fn: Callable[[str, Any], None], timeout: float | None = None
    ) -> None:
        """End all subscriptions of `fn`. Values under way arrive first."""
        self._callbacks.put(partial(self._forget, "", fn))
        self._reach("jsdrv_unsubscribe_all timed out", timeout)
