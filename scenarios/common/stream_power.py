# SPDX-License-Identifier: Apache-2.0
"""Power and energy of a stream: as a whole, of its windows' phases, and above idle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.model.metric import Metric, Prominence, Statistic
from rig.model.trial import Measured, Window
from rig.stats.summary import mean, standard_error
from scenarios.common.metrics import (
    difference,
    have_energy,
    headline,
    idle_power,
    of_mean,
    of_ratio,
    power,
)


def energies(measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
    """Return powers, energies and the duty cycle; windows and streams whose energy is
    not known are left out.
    """
    whole = [
        stream.whole for stream in measured.streams if stream.whole.energy_j is not None
    ]
    windows_of = [sample.windows for sample in measured.samples]
    known = [windows for windows in windows_of if have_energy(windows)]
    idle = idle_power(measured)
    energies_j = [_energy_j(windows) for windows in known]
    active = of_ratio(energies_j, [_length_s(windows) for windows in known], "W")
    average = power(whole)
    metrics = {
        "duty_cycle": _duty_cycle(measured),
        "power_idle": idle,
        "power_active": headline(active),
        "power_dynamic": replace(difference(active, idle), budget_shown=True),
        "power_stream": replace(average, prominence=Prominence.HEADLINE),
        "power_stream_dynamic": difference(average, idle),
    }
    for place, phase in enumerate(phases):
        phase_j = [windows[place].energy_j or 0.0 for windows in known]
        metrics[f"energy_{phase}"] = of_mean(phase_j, "J")
    metrics["energy_total"] = headline(of_mean(energies_j, "J"))
    metrics["energy_dynamic"] = headline(_energy_above(known, idle))
    # Shorter streams cost less: leaving out scenes predicts no other ones.
    of_stream = of_mean([window.energy_j or 0.0 for window in whole], "J")
    metrics["energy_stream"] = replace(of_stream, statistic=Statistic.TOTAL)
    return metrics


def _duty_cycle(measured: Measured) -> Metric:
    """Return the time in phases over the time of the streams, a second for a second."""
    busy_s = [_length_s(sample.windows) for sample in measured.samples]
    whole_s = math.fsum(stream.whole.latency_s for stream in measured.streams)
    error_s = standard_error(busy_s)
    value = math.nan
    error = None
    count = 0
    if whole_s:
        count = len(busy_s)
        value = math.fsum(busy_s) / whole_s
        error = None if error_s is None else error_s * len(busy_s) / whole_s
    # The more of the time it stands idle, the more is left for anything else.
    return Metric(
        value=value,
        unit="s/s",
        standard_error=error,
        n=count,
        higher_is_better=False,
        statistic=Statistic.RATIO,
    )


def _energy_j(windows: Sequence[Window]) -> float:
    return math.fsum(window.energy_j or 0.0 for window in windows)


def _length_s(windows: Sequence[Window]) -> float:
    return math.fsum(window.latency_s for window in windows)


def _energy_above(known: Sequence[Sequence[Window]], idle: Metric) -> Metric:
    """Take idle power off the energy of each window of the stream; its standard error
    is the same in all of them.
    """
    above_j = [
        _energy_j(windows) - idle.value * _length_s(windows) for windows in known
    ]
    single = of_mean(above_j, "J")
    error_j = None
    if single.standard_error is not None and idle.standard_error is not None:
        idle_j = mean([_length_s(windows) for windows in known]) * idle.standard_error
        error_j = math.hypot(single.standard_error, idle_j)
    return replace(single, standard_error=error_j, statistic=Statistic.DIFFERENCE)
