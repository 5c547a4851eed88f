# SPDX-License-Identifier: Apache-2.0
"""Statistics that a simulated Joulescope computes from its own samples, in the form of
the maker's library (pyjoulescope_driver/binding.pyx)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
