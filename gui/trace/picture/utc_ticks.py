# SPDX-License-Identifier: Apache-2.0
"""Ticks of a time axis in UTC: at round times of day, at every zoom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gui.picture.ticks import MOST, Ticks

_NS = 1_000_000_000
_DAY_NS = 86_400 * _NS
#: Steps of a second and more, in seconds; below, 1, 2, 5 times a power of ten.
_STEPS_S = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    14400,
    43200,
    86400,
)
_UNITS = ((1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def of_utc(start_s: float, stop_s: float, room: int, started_ns: int) -> Ticks:
    """Return at most about `room` ticks between two times of a trace that began at
    `started_ns` (nanoseconds since 1970 UTC); their places are times of the trace.

    Texts are times of day with the date as the base; for steps below a second, offsets
    from a whole second, which is the base.
    """
    if not stop_s > start_s:
        return Ticks((), (), "s")
    begin_ns, end_ns = (started_ns + round(at_s * _NS) for at_s in (start_s, stop_s))
    step_ns = _step((end_ns - begin_ns) / max(min(room, MOST), 1))
    first = -(-begin_ns // step_ns)
    times_ns = range(first * step_ns, end_ns + 1, step_ns)
    places = tuple((at_ns - started_ns) / _NS for at_ns in times_ns)
    if step_ns >= _NS:
        texts = tuple(f"{_moment(at_ns):%H:%M:%S}" for at_ns in times_ns)
        return Ticks(places, texts, "", f"{_moment(begin_ns):%Y-%m-%d} UTC")
    base_ns = begin_ns // _NS * _NS
    size_ns, unit = next(row for row in _UNITS if step_ns >= row[0])
    texts = tuple(f"+{(at_ns - base_ns) // size_ns}" for at_ns in times_ns)
    if step_ns >= 10_000_000:
        texts = tuple(f"+{(at_ns - base_ns) / _NS:.2f}" for at_ns in times_ns)
        unit = "s"
    return Ticks(places, texts, unit, f"{_moment(base_ns):%H:%M:%S} UTC")


def utc_text(at_s: float, started_ns: int, resolution_s: float) -> str:
    """Return an instant of a trace as a time of day in UTC, with the digits that a
    resolution allows.
    """
    at_ns = started_ns + round(at_s * _NS)
    digits = next((count for count in range(9) if resolution_s >= 10.0**-count), 9)
    part = f".{at_ns % _NS:09d}"[: digits + 1] if digits else ""
    return f"{_moment(at_ns):%H:%M:%S}{part} UTC"


def _moment(at_ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at_ns // _NS)


def _step(least_ns: float) -> int:
    if least_ns > _NS / 2:
        return next((s * _NS for s in _STEPS_S if s * _NS >= least_ns), _DAY_NS)
    step_ns = 1
    while step_ns < least_ns:
        step_ns = step_ns * 5 // 2 if str(step_ns)[0] == "2" else step_ns * 2
    return step_ns
