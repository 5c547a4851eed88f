# SPDX-License-Identifier: Apache-2.0
"""The check of a monitor: zero, noise, clock, gain and SYNC delay, one after the other,
and the limits of error that follow.
"""

from __future__ import annotations

import datetime
import math
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rig.bench import plugins
from rig.bench.qualification import errors_found
from rig.bench.qualification.errors_found import CurrentLevel, ErrorEstimate
from rig.bench.qualification.load import Hands, OutputLoad, Resistor
from rig.bench.qualification.recording import Bare, Recorded, record
from rig.bench.supply import Reading
from rig.errors import BenchError, ConfigError
from rig.host.stop import Stop
from rig.interfaces.monitor import MonitorInfo
from rig.uncertainty.accuracy import Accuracy, Range
from rig.uncertainty.calibration import Correction, InstrumentCalibration, MeasuredError
from rig.units import quantity

#: So many times the current that equals zero within its limits flows at an output
#: that is not open.
_OPEN = 5.0
#: So many times its limit, a gain is that of another resistor.
_PLAUSIBLE = 3.0
#: At least this share of the charge lies in one range.
_ONE_RANGE = 0.99
#: Between a range's lower end and this many times of it, a reading may come from the
#: range below.
_HYSTERESIS = 1.25
#: A recording of the clock is no longer than this, and a length that is advised is a
#: multiple of a minute.
MOST_CLOCK_S = 3600.0
_MINUTE_S = 60.0
_YEAR = datetime.timedelta(days=365)
_TO_NORMAL = 2 / math.sqrt(3.0)
_SWITCHED_S = 2.0
LOWEST = (
    "not measured: its commonest reading is its lowest, {}, and may stand for lower"
    " currents"
)
WIDER = "; the stated limit is smaller and stays: the largest part is the {}; {}"
_SMALLER_RESISTOR = "a smaller resistor, for a current nearer to the range's end"
#: The remedy for a wide interval of a gain, by the largest part of its budget.
_REMEDIES = {
    "resistor": "a better resistor",
    "voltage gain": "--voltmeter",
    "voltage offset": "--voltmeter",
    "voltmeter": "a better voltmeter",
    "zero": _SMALLER_RESISTOR,
    "scatter of readings": "--seconds, a longer recording",
    "steps": _SMALLER_RESISTOR,
    "drift": "--drift, a smaller one",
}
WIDE_CLOCK = "; the interval is wider, so the limit is not checked: "
OF_HOST = "--host-clock-ppm, the limit of this computer's clock"
OF_ARRIVALS = "samples come irregularly"
NOT_STEPPED = (
    "not measured: --sync-step says that SYNC switches the resistor"
    " (docs/how-to/MONITOR_CHECK.md)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """The measurements of a check, and their lengths.

    resistors: one for each range that is calibrated
    voltmeter: limit of the relative error of the voltages over the resistors, 0: the
        monitor's own voltage counts
    sync_step: SYNC switches the first resistor
    drift: limit of the relative change of a gain within a year
    host_ppm: limit of the error of the host's clock
    """

    resistors: tuple[Resistor, ...] = ()
    voltmeter: float = 0.0
    sync_step: bool = False
    seconds: float = 5.0
    clock_seconds: float = 60.0
    drift: float = 0.0
    host_ppm: float = 100.0


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One row of a check: its name, the value with its 95 % interval in `unit`, the
    limit that the maker states, or why there is no value; `range_a` as of
    MeasuredError.
    """

    name: str
    unit: str
    estimate: ErrorEstimate | None = None
    limit: float | None = None
    range_a: float = 0.0
    why: str = ""
    simulated: bool = False

    @property
    def within(self) -> bool | None:
        """Whether the value may be within its limit; None where either is missing, and
        where the value is known less well than its limit.
        """
        if self.estimate is None or self.limit is None:
            return None
        if abs(self.estimate.value) - self.estimate.u95 > self.limit:
            return False
        return None if self.estimate.u95 > self.limit else True


@dataclass
class _Found:
    """Results so far."""

    info: MonitorInfo | None = None
    zeros: dict[int, ErrorEstimate] = field(default_factory=dict)
    noises: dict[int, float] = field(default_factory=dict)
    gains: dict[int, ErrorEstimate] = field(default_factory=dict)
    used: dict[int, Resistor] = field(default_factory=dict)
    volts_off: list[float] = field(default_factory=list)
    delay: ErrorEstimate | None = None
    clock: ErrorEstimate | None = None


class MonitorCheck:
    """A check under way; `rows` yields each error, and `accuracy` returns afterwards
    the limits of error with the calibration.
    """

    def __init__(
        self,
        bare: Bare,
        plan: CheckPlan,
        hands: Hands,
        stop: Stop,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._bare = bare
        self._plan = plan
        self._hands = hands
        self._stop = stop
        self._tell = tell
        self._found = _Found()
        self._count = 0

    def rows(self) -> Generator[CheckRow, None, None]:
        """Measure; yield a row for each error. Raises RigError and Stopped."""
        with tempfile.TemporaryDirectory(prefix="rig-monitor-") as scratch:
            self._scratch = Path(scratch)
            yield from self._open_output()
            # The output is still open: no wire is moved for the clock.
            yield self._clock()
            for resistor in self._plan.resistors:
                yield self._gain(resistor)
            yield self._delay()

    @property
    def info(self) -> MonitorInfo:
        """The monitor, once it was open."""
        assert self._found.info is not None
        return self._found.info

    def _record(
        self,
        load: OutputLoad,
        seconds: float,
        bare: Bare | None = None,
        kept: bool = True,
    ) -> Recorded:
        self._count += 1
        recorded = record(
            bare=bare or self._bare,
            load=load,
            hands=self._hands,
            duration_s=seconds,
            folder=self._scratch / str(self._count),
            stop=self._stop,
            kept=kept,
        )
        if bare is not None:
            return recorded
        if recorded.lost:
            raise BenchError(
                f"samples of {recorded.info.name} were lost",
                evidence=f"in a recording of {seconds:g} s: {recorded.lost}",
                try_next="rig doctor; another USB port; a less busy computer",
            )
        self._found.info = recorded.info
        return recorded

    def _open_output(self) -> Iterator[CheckRow]:
        kind = plugins.find("monitor", self._bare.choice.kind)
        self._tell("open output")
        whole = self._record(OutputLoad(), self._plan.seconds)
        stated = whole.info.accuracy
        self._refuse_current(whole)
        each: Sequence[Any] = kind.in_each_range(self._bare.choice.settings)
        if len(each) != len(stated.current):
            yield from self._zero(whole, 0, stated)
            return
        for at, settings in enumerate(each):
            self._tell(f"open output, {_range(stated, at)}")
            held = self._record(
                OutputLoad(), self._plan.seconds, self._bare.with_settings(settings)
            )
            if held.lost:
                # Noise that leaves a small range is no reason to give up the others.
                yield CheckRow(
                    "current offset",
                    "A",
                    range_a=stated.current[at].up_to,
                    why=f"not measured: {held.lost}",
                )
                continue
            self._refuse_current(held)
            yield from self._zero(held, at, stated)

    def _refuse_current(self, recorded: Recorded) -> None:
        assert recorded.trace is not None
        limits = recorded.info.accuracy
        seen = Reading.of(recorded.trace, limits)
        level = errors_found.level(recorded.trace, limits)
        still_a = (0.0 if seen is None else seen.still_a) + level.current.u95
        # The mean of noise around zero, shown as 0 where it is negative, is below its
        # standard deviation.
        noise_a = level.noise_a if level.clipped else 0.0
        if seen is None or abs(seen.current_a) <= _OPEN * still_a + noise_a:
            return
        raise BenchError(
            f"the output of {recorded.info.name} is not open",
            evidence=(
                f"{quantity(seen.current_a, 'A')} flow, and at most"
                f" {quantity(seen.still_a, 'A')} are its offset"
            ),
            try_next=(
                "disconnect everything from the output, also the cable; if nothing is"
                " there, the instrument's offset is beyond its limit: have it repaired"
            ),
        )

    def _zero(
        self, recorded: Recorded, at: int, stated: Accuracy
    ) -> Iterator[CheckRow]:
        assert recorded.trace is not None
        level = errors_found.level(recorded.trace, recorded.info.accuracy)
        row = stated.current[at]
        simulated = recorded.info.simulated
        range_a = row.up_to
        if level.lowest:
            shown = quantity(level.lowest_a, "A", digits=3)
            yield CheckRow(
                "current offset",
                "A",
                range_a=range_a,
                why=LOWEST.format(shown),
                simulated=simulated,
            )
            return
        self._found.zeros[at] = level.current
        self._found.noises[at] = level.noise_a
        yield CheckRow(
            "current offset",
            "A",
            level.current,
            row.offset,
            range_a=range_a,
            simulated=simulated,
        )
        yield CheckRow(
            "noise of a sample",
            "A",
            ErrorEstimate(level.noise_a, errors_found.NO_BUDGET),
            range_a=range_a,
            simulated=simulated,
        )

    def _gain(self, resistor: Resistor) -> CheckRow:
        self._tell(f"resistor of {resistor.name}")
        recorded = self._record(OutputLoad(resistor), self._plan.seconds)
        assert recorded.trace is not None
        stated = recorded.info.accuracy
        level = errors_found.level(recorded.trace, stated)
        volts = resistor.volts if recorded.volts is None else recorded.volts
        if volts is not None and not self._plan.voltmeter:
            raise ConfigError(
                "the voltage over a resistor is given without its uncertainty",
                path="--voltmeter",
                try_next="--voltmeter 0.05%, the limit of the voltmeter's error",
            )
        self._refuse_no_load(level, resistor, stated)
        at = self._row_of(level, stated, resistor)
        row = stated.current[at]
        zero = self._found.zeros.get(at)
        estimate = errors_found.gain(
            loaded=level,
            resistor=resistor,
            zero=zero or errors_found.known_zero(row, stated.divisor),
            stated=stated,
            voltmeter=None if volts is None else (volts, self._plan.voltmeter),
            drift=self._plan.drift,
        )
        limit = _PLAUSIBLE * row.gain + estimate.u95
        if abs(estimate.value) > limit:
            raise BenchError(
                f"a gain error of {estimate.value:+.2%} is implausible",
                evidence=(
                    f"{quantity(level.current.value, 'A')} were read with"
                    f" {resistor.name}; {recorded.info.name} is within {row.gain:.2%}"
                ),
                try_next=(
                    "measure the resistor; its leads, and that nothing else is at the"
                    " output; --resistor with its value"
                ),
            )
        used = _expanded(estimate) < _normal(stated) * row.gain
        if volts is not None:
            self._found.volts_off.append(abs(volts - level.voltage_v))
        if used:
            self._found.gains[at] = estimate
        self._found.used[at] = resistor
        noise_a = max(level.noise_a, self._found.noises.get(at, 0.0))
        self._found.noises[at] = noise_a
        return CheckRow(
            "current gain",
            "1",
            estimate,
            row.gain,
            range_a=row.up_to,
            why="" if used else WIDER.format(estimate.most, _REMEDIES[estimate.most]),
            simulated=recorded.info.simulated,
        )

    def _refuse_no_load(
        self, level: CurrentLevel, resistor: Resistor, stated: Accuracy
    ) -> None:
        offset_a = stated.current[0].offset
        if abs(level.current.value) > _OPEN * offset_a and level.voltage_v > 0:
            return
        raise BenchError(
            f"no current flows through the resistor of {resistor.name}",
            evidence=(
                f"{quantity(level.current.value, 'A')} at"
                f" {quantity(level.voltage_v, 'V')}"
            ),
            try_next=(
                "the resistor between the output's + and -; the supply before the"
                " instrument is on; a smaller resistor"
            ),
        )

    def _row_of(self, level: CurrentLevel, stated: Accuracy, resistor: Resistor) -> int:
        """Return the range of a level; raise BenchError where it may be two."""
        at = level.row
        least_a = _HYSTERESIS * stated.current[at - 1].up_to if at else 0.0
        inside = level.shares[at] >= _ONE_RANGE
        if (
            inside
            and abs(level.current.value) >= least_a
            and at not in self._found.used
        ):
            return at
        why = "two ranges have its current, or may"
        if at in self._found.used:
            why = f"{self._found.used[at].name} is in the same range"
        raise BenchError(
            f"the resistor of {resistor.name} belongs to no range of its own",
            evidence=f"{quantity(level.current.value, 'A')}: {why}",
            try_next="a resistor that draws about half of a range's end",
        )

    def _delay(self) -> CheckRow:
        if not (self._plan.sync_step and self._plan.resistors):
            return CheckRow("SYNC delay", "s", why=NOT_STEPPED)
        self._tell("resistor switched by SYNC")
        seconds = min(self._plan.seconds, _SWITCHED_S)
        load = OutputLoad(self._plan.resistors[0], switched=True)
        recorded = self._record(load, seconds)
        assert recorded.trace is not None
        delay = errors_found.sync_delay(recorded.trace)
        self._found.delay = delay
        return CheckRow(
            "SYNC delay",
            "s",
            delay,
            recorded.info.accuracy.edge_s,
            why=""
            if delay
            else f"not measured: {len(recorded.trace.falls_s)} edges in {seconds:g} s",
            simulated=recorded.info.simulated,
        )

    def _clock(self) -> CheckRow:
        if not self._plan.clock_seconds:
            return CheckRow("clock", "ppm", why="not measured: --clock-seconds 0")
        self._tell(f"clock, {self._plan.clock_seconds:g} s")
        recorded = self._record(OutputLoad(), self._plan.clock_seconds, kept=False)
        sample_hz = recorded.info.sample_hz
        host = self._plan.host_ppm * 1e-6
        error = errors_found.clock_error(recorded.arrivals, sample_hz, host)
        self._found.clock = error
        limit_ppm = recorded.info.accuracy.clock_ppm
        estimate = error and error.scaled(1e6)
        why = self._not_checked(error, limit_ppm)
        return CheckRow(
            "clock",
            "ppm",
            estimate,
            limit_ppm,
            why=why,
            simulated=recorded.info.simulated,
        )

    def _not_checked(self, error: ErrorEstimate | None, limit_ppm: float) -> str:
        """Return why a clock's error does not check its limit, and a remedy."""
        if error is None:
            return "not measured: too few blocks of samples came"
        times = error.u95 * 1e6 / limit_ppm if limit_ppm else 1.0
        if times <= 1:
            return ""
        if error.most == errors_found.HOST_CLOCK:
            return WIDE_CLOCK + OF_HOST
        # The scatter of arrivals is divided by the length.
        minutes = math.ceil(times * self._plan.clock_seconds / _MINUTE_S)
        longer_s = minutes * _MINUTE_S
        longer = f"; --clock-seconds {longer_s:g}" if longer_s <= MOST_CLOCK_S else ""
        return WIDE_CLOCK + OF_ARRIVALS + longer

    def accuracy(self, today: datetime.date) -> Accuracy:
        """Return the limits of error with corrections, for the calibration file. Raises
        BenchError where not one of them was measured.
        """
        stated = self.info.accuracy
        errors = self._found
        if not self._is_measured(stated):
            raise BenchError(
                f"no limit of {self.info.name} was measured: no calibration is written",
                evidence="the rows above say why",
                try_next="--resistor for a range, as docs/how-to/MONITOR_CHECK.md says",
            )
        return replace(
            stated,
            current=tuple(self._current_rows(stated)),
            voltage=tuple(self._voltage_rows(stated)),
            clock_ppm=self._clock_ppm(stated),
            source=self._source(stated, today),
            year=today.year,
            verified=True,
            distribution="normal",
            edge_s=(
                stated.edge_s
                if errors.delay is None
                else abs(errors.delay.value) + errors.delay.u95
            ),
            calibration=InstrumentCalibration(
                kind=self.info.kind,
                serial=self.info.serial,
                made=today.isoformat(),
                valid_until=(today + _YEAR).isoformat(),
                sample_hz=float(self.info.sample_hz),
                correction=self._corrections(stated),
                measured=tuple(self._measured(stated)),
            ),
        )

    def _is_measured(self, stated: Accuracy) -> bool:
        """Check whether a limit of the calibration file is one that was measured."""
        errors = self._found
        of_voltage = errors.volts_off and not self.info.reads_voltage
        of_clock = self._clock_ppm(stated) < _normal(stated) * stated.clock_ppm
        of_current = errors.zeros or errors.gains
        return bool(of_current or of_voltage or of_clock or errors.delay)

    def _corrections(self, stated: Accuracy) -> tuple[Correction, ...]:
        errors = self._found
        rows = []
        for at, row in enumerate(stated.current):
            gain = errors.gains.get(at)
            zero = errors.zeros.get(at)
            factor = 1.0 if gain is None else 1 / (1 + gain.value)
            rows.append(
                Correction(
                    row.up_to,
                    factor=factor,
                    zero=0.0 if zero is None else zero.value,
                )
            )
        return tuple(rows)

    def _current_rows(self, stated: Accuracy) -> Iterator[Range]:
        """Yield limits for each range, and for readings just above its end: these may
        come from either of two ranges.
        """
        kind = plugins.find("monitor", self._bare.choice.kind)
        factors = [row.factor for row in self._corrections(stated)]
        widen = _normal(stated)
        before: Range | None = None
        for at, row in enumerate(stated.current):
            gain = self._found.gains.get(at)
            zero = self._found.zeros.get(at)
            due = replace(
                row,
                gain=widen * row.gain if gain is None else _expanded(gain),
                offset=widen * row.offset if zero is None else _expanded(zero),
                noise=max(row.noise, self._found.noises.get(at, 0.0)),
            )
            border_a = _HYSTERESIS * before.up_to if before else 0.0
            if before is not None and border_a < row.up_to:
                apart = abs(factors[at] - factors[at - 1])
                yield replace(
                    due,
                    up_to=border_a,
                    gain=max(before.gain, due.gain)
                    + (0.0 if kind.knows_range else apart),
                    offset=max(before.offset, due.offset),
                    noise=max(before.noise, due.noise),
                    lsb=max(before.lsb, due.lsb),
                )
            yield due
            before = due

    def _voltage_rows(self, stated: Accuracy) -> Iterator[Range]:
        widen = _normal(stated)
        off = self._found.volts_off
        for row in stated.voltage:
            gain, offset_v = row.gain, row.offset
            if off and not self.info.reads_voltage:
                # The voltage is the one that was set: its difference to the voltmeter's
                # is not corrected.
                gain, offset_v = self._plan.voltmeter, max(off)
            yield replace(row, gain=widen * gain, offset=widen * offset_v)

    def _clock_ppm(self, stated: Accuracy) -> float:
        clock = self._found.clock
        widen = _normal(stated)
        kept_ppm = widen * stated.clock_ppm
        if clock is None:
            return kept_ppm
        return min(kept_ppm, (abs(clock.value) + _expanded(clock)) * 1e6)

    def _source(self, stated: Accuracy, today: datetime.date) -> str:
        ordered = sorted(self._found.used.items())
        used = ", ".join(
            f"{resistor.name} to {quantity(stated.current[at].up_to, 'A')}"
            for at, resistor in ordered
            if at in self._found.gains
        )
        volts = (
            f"a voltmeter within {self._plan.voltmeter:.3%}"
            if self._plan.voltmeter
            else "the instrument's own voltage"
        )
        resistors = f"gain by {used}, and {volts}" if used else "no gain"
        drift = (
            f"a drift of {self._plan.drift:.3%} a year is included"
            if self._plan.drift
            else "drift since then is not included"
        )
        simulated = "SIMULATED: " if self.info.simulated else ""
        number = self.info.serial or "of no serial number"
        return (
            f"{simulated}rig monitor check of {self.info.name} {number} on"
            f" {today}: {resistors}; {drift}; other limits: {stated.source}"
        )

    def _measured(self, stated: Accuracy) -> Iterator[MeasuredError]:
        errors = self._found
        for name, unit, estimates in (
            ("current offset", "A", errors.zeros),
            ("current gain", "1", errors.gains),
        ):
            for at, each in sorted(estimates.items()):
                end_a = stated.current[at].up_to
                yield MeasuredError(name, each.value, each.u95, unit, end_a)
        if errors.delay is not None:
            yield MeasuredError("SYNC delay", errors.delay.value, errors.delay.u95, "s")
        if errors.clock is not None:
            ppm = errors.clock.scaled(1e6)
            yield MeasuredError("clock", ppm.value, ppm.u95, "ppm")


def _expanded(estimate: ErrorEstimate) -> float:
    """Return a limit that stands for k = 2 and holds 95 %."""
    return max(estimate.u95, 2 * estimate.budget.standard_uncertainty)


def _normal(stated: Accuracy) -> float:
    """Return the factor that makes an expanded uncertainty, k = 2, of a stated
    limit."""
    return _TO_NORMAL if stated.distribution == "rectangular" else 1.0


def _range(stated: Accuracy, at: int) -> str:
    return f"range to {quantity(stated.current[at].up_to, 'A', digits=3)}"
