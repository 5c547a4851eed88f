# SPDX-License-Identifier: Apache-2.0
"""Power and energy of a stream: as a whole, of its windows' phases, and above idle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rig.model.metric import Metric, Prominence, Statistic
from rig.model.trial import Measured, Window
from rig.stats.summary import mean, ratio, standard_error


def energies(measured: Measured, phases: Sequence[str]) -> dict[str, Metric]:
    """Return powers, energies and the duty cycle; windows and streams whose energy is
    not known are left out.
    """
    whole = [
        stream.whole for stream in measured.streams if stream.whole.energy_j is not None
    ]
    known = [
        sample.windows
        for sample in measured.samples
        if all(window.energy_j is not None for window in sample.windows)
    ]
    idle = _power(
        [(window,) for window in measured.idles if window.energy_j is not None]
    )
    active = _power(known)
    average = _power([(window,) for window in whole])
    metrics = {
        "duty_cycle": _duty_cycle(measured),
        "power_idle": replace(idle, budget_shown=True),
        "power_active": _headline(active),
        "power_dynamic": replace(_above(active, idle), budget_shown=True),
        "power_stream": replace(average, prominence=Prominence.HEADLINE),
        "power_stream_dynamic": _above(average, idle),
    }
    for place, phase in enumerate(phases):
        metrics[f"energy_{phase}"] = _mean(
            [windows[place].energy_j or 0.0 for windows in known]
        )
    metrics["energy_total"] = _headline(
        _mean([_energy_j(windows) for windows in known])
    )
    metrics["energy_dynamic"] = _headline(_energy_above(known, idle))
    # Shorter streams cost less: leaving out scenes says nothing about other ones.
    metrics["energy_stream"] = replace(
        _mean([window.energy_j or 0.0 for window in whole]), statistic=Statistic.TOTAL
    )
    return metrics


def _headline(metric: Metric) -> Metric:
    return replace(metric, prominence=Prominence.HEADLINE, budget_shown=True)


def _duty_cycle(measured: Measured) -> Metric:
    """Return the time in phases over the time of the streams, a second for a second."""
    busy_s = [_length_s(sample.windows) for sample in measured.samples]
    whole_s = math.fsum(stream.whole.latency_s for stream in measured.streams)
    error_s = standard_error(busy_s)
    if not whole_s:
        return Metric(math.nan, "s/s", None, 0, False, Statistic.RATIO)
    error = None if error_s is None else error_s * len(busy_s) / whole_s
    # The more of the time it stands idle, the more is left for anything else.
    value = math.fsum(busy_s) / whole_s
    return Metric(value, "s/s", error, len(busy_s), False, Statistic.RATIO)


def _energy_j(windows: Sequence[Window]) -> float:
    return math.fsum(window.energy_j or 0.0 for window in windows)


def _length_s(windows: Sequence[Window]) -> float:
    return math.fsum(window.latency_s for window in windows)


def _power(groups: Sequence[Sequence[Window]]) -> Metric:
    value, error = ratio(
        [_energy_j(windows) for windows in groups],
        [_length_s(windows) for windows in groups],
    )
    return Metric(value, "W", error, len(groups), False, Statistic.RATIO)


def _above(power: Metric, idle: Metric) -> Metric:
    errors = (power.standard_error, idle.standard_error)
    known = [error for error in errors if error is not None]
    error = math.hypot(*known) if len(known) == len(errors) else None
    value = power.value - idle.value
    return Metric(value, "W", error, power.n, False, Statistic.DIFFERENCE)


def _energy_above(known: Sequence[Sequence[Window]], idle: Metric) -> Metric:
    """Take idle power off the energy of each window of the stream; its standard error
    is the same in all of them.
    """
    single = _mean(
        [_energy_j(windows) - idle.value * _length_s(windows) for windows in known]
    )
    error_j = None
    if single.standard_error is not None and idle.standard_error is not None:
        idle_j = mean([_length_s(windows) for windows in known]) * idle.standard_error
        error_j = math.hypot(single.standard_error, idle_j)
    return replace(single, standard_error=error_j, statistic=Statistic.DIFFERENCE)


def _mean(values_j: Sequence[float]) -> Metric:
    return Metric(
        mean(values_j),
        "J",
        standard_error(values_j),
        len(values_j),
        higher_is_better=False,
    )
