# SPDX-License-Identifier: Apache-2.0
"""The table of docs/reference/MONITOR_TABLE.md: which monitor suits which job, computed
from the limits of error that the drivers state.

`python tools/monitor_table.py` prints the page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from rig.bench import config, plugins
from rig.interfaces.context import BenchContext
from rig.interfaces.monitor import MonitorInfo
from rig.trace.integral import EndPower, Integral
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.budget import Budget, Part, combined
from rig.uncertainty.window_effects import of_energy
from rig.units import quantity, share

#: The job: one inference of this energy and length, at this voltage.
ENERGY_J = 1e-3
WINDOW_S = 10e-3
SUPPLY_V = 3.3
_IDLE_W = 1e-3
#: A window has at least so many samples (docs/how-to/MONITORS.md).
_LEAST_SAMPLES = 20
_SIMULATED = {
    "Joulescope JS220": ("joulescope", ("device=simulator",)),
    "Joulescope JS110": ("joulescope", ("device=simulator", "simulator.model=js110")),
    "Joulescope JS320": ("joulescope", ("device=simulator", "simulator.model=js320")),
    "Keysight N6705, N6781A": ("keysight_n6705", ("resource=simulator",)),
    "Otii Arc": ("otii", ("server=simulator",)),
    "Otii Ace": (
        "otii",
        ("server=simulator", "simulator.model=Ace", "sample_hz=50000"),
    ),
    "Nordic PPK2": ("nordic_ppk2", ("port=simulator",)),
    "ST X-NUCLEO-LPM01A": ("st_lpm01a", ("port=simulator",)),
    "INA219, 0.1 ohm": ("ina_monitor", ("port=simulator", "chip=ina219")),
    "INA226, 0.1 ohm": ("ina_monitor", ("port=simulator", "chip=ina226")),
    "INA228, 0.1 ohm": ("ina_monitor", ("port=simulator", "chip=ina228")),
    "INA3221": ("ina3221", ("root=simulator",)),
}
_COLUMNS = (
    "monitor",
    "current to",
    "samples",
    "SYNC is known to",
    "noise, step of a sample",
    "± of 1 mJ",
    "most of it",
    "inferences a window",
)
_HEAD = f"""<!-- SPDX-License-Identifier: Apache-2.0 -->
# Which monitor for which job

`python tools/monitor_table.py` generates this page from the limits of error that
the drivers state. A session's report has their sources; most were not read in a data
sheet. No number here was measured.

The job is an inference of {quantity(ENERGY_J, "J")} in {quantity(WINDOW_S, "s")} at
{SUPPLY_V} V, {quantity(ENERGY_J / WINDOW_S / SUPPLY_V, "A")}, of a device that idles at
{quantity(_IDLE_W, "W")}. ± is half of the 95 % interval of its energy, by the budget of
[UNCERTAINTY](../explanation/UNCERTAINTY.md), with its largest part. Where 10 ms have
less than {_LEAST_SAMPLES} samples, so many inferences are repeated in one window as
give {_LEAST_SAMPLES}. Gain and offset do not shrink with repetition: `rig monitor
check` ([MONITOR_CHECK](../how-to/MONITOR_CHECK.md)) makes them smaller.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""
_TAIL = """
RAPL and NVML measure this computer and its GPU, which never draw as little. An INA3221
measures the board that it is on, by the host's clock. Prices are not stated: no source
of a price was read.
"""


@dataclass(frozen=True, slots=True)
class JobRow:
    """One monitor at the job."""

    name: str
    info: MonitorInfo
    repeat: int
    budget: Budget

    @property
    def relative(self) -> float:
        """Half-width of the 95 % interval, relative to the energy."""
        return self.budget.expanded / (self.repeat * ENERGY_J)


def page() -> str:
    """Return the page."""
    lines = [_line(row) for row in rows()]
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def rows() -> Iterator[JobRow]:
    """Yield each monitor, by the driver's description with its simulator."""
    for name, (kind, changes) in _SIMULATED.items():
        settings = config.settings_of("monitor", kind, changes)
        opened = plugins.find("monitor", kind).open(settings, BenchContext())
        with closing(opened):
            yield of_monitor(name, opened.info)


def of_monitor(name: str, info: MonitorInfo) -> JobRow:
    """Return the budget of the job's energy."""
    repeat = max(math.ceil(_LEAST_SAMPLES / info.sample_hz / WINDOW_S), 1)
    window = _window(info.accuracy, repeat, info.sample_hz)
    end_u_s = 1 / math.sqrt(12) / info.edge_hz
    effects = of_energy(window, info.accuracy, info.sample_hz, (end_u_s, end_u_s))
    parts = [
        Part(
            component=component,
            standard_uncertainty=abs(effect.energy_j),
            type="B",
            shape=effect.shape,
            counted=True,
        )
        for component, effect in effects.of.items()
    ]
    budget = combined(parts)
    assert budget is not None
    return JobRow(name, info, repeat, budget)


def _window(limits: Accuracy, repeat: int, sample_hz: float) -> Integral:
    """Return the integral of a constant power over the job's window, whose ends lie in
    the middle of samples.
    """
    # Where power alone is measured, it is recorded as a current at 1 V.
    volts = min(SUPPLY_V, limits.voltage[-1].up_to)
    power_w = ENERGY_J / WINDOW_S
    length_s = repeat * WINDOW_S
    at = limits.current.index(_row(limits, power_w / volts))
    here = [float(each == at) for each in range(len(limits.current))]
    start_s = 0.5 / sample_hz
    return Integral(
        start_s=start_s,
        stop_s=start_s + length_s,
        energy_j=power_w * length_s,
        charge_c=power_w * length_s / volts,
        least_w=power_w,
        most_w=power_w,
        ends=(EndPower(_IDLE_W, power_w), EndPower(_IDLE_W, power_w)),
        range_energy_j=tuple(part * power_w * length_s for part in here),
        range_charge_c=tuple(part * power_w * length_s / volts for part in here),
        range_volt_s=tuple(part * volts * length_s for part in here),
        stepped=True,
    )


def _row(limits: Accuracy, current_a: float) -> Range:
    """Return the limits in the range of a current."""
    return next(
        (row for row in limits.current if current_a <= row.up_to), limits.current[-1]
    )


def _line(row: JobRow) -> str:
    info = row.info
    limits = info.accuracy
    volts = min(SUPPLY_V, limits.voltage[-1].up_to)
    current_a = ENERGY_J / WINDOW_S / volts
    here = _row(limits, current_a)
    step_a = max(here.lsb, here.lsb_relative * current_a)
    noise = quantity(here.noise, "A", digits=2) if here.noise else "not stated"
    step = quantity(step_a, "A", digits=2) if step_a else "not stated"
    most_a = quantity(limits.current[-1].up_to, "A", digits=3)
    cells = (
        row.name,
        most_a if volts == SUPPLY_V else "(power)",
        quantity(info.sample_hz, "Hz", digits=3),
        quantity(1 / info.edge_hz, "s", digits=3),
        f"{noise}, {step}" if volts == SUPPLY_V else "(power)",
        share(row.relative),
        row.budget.parts[0].component,
        str(row.repeat),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(page())
