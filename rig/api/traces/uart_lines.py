# SPDX-License-Identifier: Apache-2.0
"""The lines of a trial's uart.log at their times in a trace.

The log has the host's clock. Steps tie it to the trace: a request is sent before the
first mark of its step, an answer is read after the last one, so each line lies between
marks of the trace. Where host and monitor kept the same time, as real ones do, all
steps together bound the difference of their clocks, which places a line to some
milliseconds. A simulated monitor passes time of its own; its lines have the bounds of
the marks around them alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.api.traces.spans import CROSSING, NONE, Spans
from rig.bench import plugins
from rig.interfaces.console import WireLine, hex_text
from rig.interfaces.recount import HeardStep, WireBlock
from rig.model.completion import Completion
from rig.model.step_record import StepRecord
from rig.store import provenance_file, wire_lines
from rig.store.segments import counted, segments
from rig.store.session_folder import UART, SessionFolder

Array = NDArray[np.float64]
#: Start and stop of each step, by its number.
_StepTimes = Mapping[int, tuple[float, float]]

#: The clocks of host and monitor run at rates that differ by less than this: a system
#: slews its clock by up to 500 ppm (adjtimex), and quartz oscillators add 100 ppm each.
RATE_LIMIT = 7e-4


@dataclass(frozen=True, slots=True)
class UartLine:
    """A line of the log: it passed the line to the device within `limit_s` of `at_s`,
    in seconds of the trace. `direction` is "tx" (to the device) or "rx"; `ok` is False
    for noise and refusals.
    """

    at_s: float
    limit_s: float
    direction: str
    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class UartLines:
    """The lines of a log in a trace; `unplaced` counts those before the first and after
    the last measured step, which have no place in it.
    """

    lines: tuple[UartLine, ...]
    unplaced: int


@dataclass(frozen=True, slots=True)
class Tie:
    """A step in both clocks: the host's times of request and answer, and the times of
    its first and last mark in the trace.
    """

    asked_s: float
    answered_s: float
    first_s: float
    last_s: float


def of_trial(
    folder: SessionFolder, trial: int, segment: int, spans: Spans
) -> UartLines | None:
    """Return the lines of a trial's segment in the time of the trace that `spans` are
    of. None where there is no log, or where it cannot be tied to the trace: the backend
    has no decoder, no step was measured, or the steps contradict each other.

    Raises DataError where the log is damaged.
    """
    recorded = folder.recorded(trial)
    blocks = wire_lines.read(segments(recorded)[segment - 1] / UART)
    kind_name = provenance_file.read(folder).sut.kind
    if not blocks or kind_name not in plugins.names("sut"):
        return None
    kind = plugins.find("sut", kind_name)
    recount = kind.recount(blocks)
    if recount is None:
        return None
    heard = recount.steps
    records = counted(recorded)[segment - 1]
    ties = list(_ties(heard, records, _marked(spans)))
    lines = list(_decoded(kind_name, blocks))
    found = placed(ties, np.array([line.at_s for line in lines]))
    if found is None:
        return None
    at_s, limit_s = found
    inside = np.flatnonzero(np.isfinite(limit_s))
    shown = []
    for place in inside:
        line = lines[place]
        text = _text(line)
        line_s, line_limit_s = float(at_s[place]), float(limit_s[place])
        uart_line = UartLine(
            at_s=line_s,
            limit_s=line_limit_s,
            direction=line.direction,
            text=text,
            ok=line.ok,
        )
        shown.append(uart_line)
    return UartLines(tuple(shown), len(lines) - len(shown))


def placed(ties: Sequence[Tie], host_s: Array) -> tuple[Array, Array] | None:
    """Return times of the host as times of the trace, and how far each may be off,
    infinite where it has no place; None where the ties contradict each other or are
    none.
    """
    if not ties:
        return None
    rows = [(tie.asked_s, tie.answered_s, tie.first_s, tie.last_s) for tie in ties]
    asked_s, answered_s, first_s, last_s = np.array(rows).T
    is_disordered = (np.diff(asked_s) < 0).any()
    if is_disordered or (last_s[:-1] > first_s[1:]).any():
        return None
    # A line after an answer is after its marks; before a request, before those.
    ends_s = np.concatenate([[-np.inf], last_s])
    starts_s = np.concatenate([first_s, [np.inf]])
    least_s = ends_s[np.searchsorted(answered_s, host_s, side="right")]
    most_s = starts_s[np.searchsorted(asked_s, host_s, side="left")]
    lower_s, upper_s = _offsets(asked_s, answered_s, first_s, last_s, host_s)
    narrow_s = np.maximum(least_s, host_s + lower_s)
    wide_s = np.minimum(most_s, host_s + upper_s)
    if (narrow_s <= wide_s).all():
        return (narrow_s + wide_s) / 2, (wide_s - narrow_s) / 2
    hosts_s = np.column_stack([asked_s, answered_s]).reshape(-1)
    traces_s = np.column_stack([first_s, last_s]).reshape(-1)
    at_s = np.clip(np.interp(host_s, hosts_s, traces_s), least_s, most_s)
    return at_s, np.maximum(at_s - least_s, most_s - at_s)


def _offsets(
    asked_s: Array, answered_s: Array, first_s: Array, last_s: Array, host_s: Array
) -> tuple[Array, Array]:
    """Return the least and the most to add to times of the host, were both clocks as
    good as RATE_LIMIT: the bounds of a step widen with the distance from it.
    """
    middle_s = (asked_s + answered_s) / 2
    # Within a step the clocks part too.
    slack_s = RATE_LIMIT * (answered_s - asked_s)
    lower_s = _highest(last_s - answered_s - slack_s, middle_s, host_s)
    upper_s = -_highest(asked_s - first_s - slack_s, middle_s, host_s)
    return lower_s, upper_s


def _highest(bounds_s: Array, from_s: Array, at_s: Array) -> Array:
    """Return the highest of lower bounds at some times: each falls by RATE_LIMIT with
    the distance from its own. `from_s` ascends.
    """
    rising = np.maximum.accumulate(bounds_s + RATE_LIMIT * from_s)
    falling = np.maximum.accumulate((bounds_s - RATE_LIMIT * from_s)[::-1])[::-1]
    after = np.searchsorted(from_s, at_s, side="right")
    never = np.array([-np.inf])
    earlier_s = np.concatenate([never, rising])[after] - RATE_LIMIT * at_s
    later_s = np.concatenate([falling, never])[after] + RATE_LIMIT * at_s
    return np.maximum(earlier_s, later_s)


def _marked(spans: Spans) -> _StepTimes:
    """Return the first start and the last stop of each step's windows."""
    marked: dict[int, tuple[float, float]] = {}
    is_window = (spans.step != NONE) & (spans.kind != CROSSING)
    for place in np.flatnonzero(is_window):
        step = int(spans.step[place])
        start_s, stop_s = float(spans.start_s[place]), float(spans.stop_s[place])
        first_s, last_s = marked.get(step, (start_s, stop_s))
        marked[step] = min(first_s, start_s), max(last_s, stop_s)
    return marked


def _ties(
    heard: Sequence[HeardStep],
    records: Sequence[StepRecord],
    marked: _StepTimes,
) -> Iterator[Tie]:
    """Yield a tie for each step of the log whose marks are those of a record."""
    modulus = max((step.mark_modulus for step in heard), default=0)
    numbers = {}
    for record in records:
        if record.completion.marks:
            numbers[_ticks(record.completion, modulus)] = record.number
    for step in heard:
        if step.answer is None or step.asked_s is None or step.answered_s is None:
            continue
        number = numbers.get(_ticks(step.answer, modulus))
        if number is not None and number in marked:
            yield Tie(step.asked_s, step.answered_s, *marked[number])


def _ticks(completion: Completion, modulus: int) -> tuple[int, ...]:
    ticks = [mark.tick for mark in completion.marks]
    return tuple(tick % modulus for tick in ticks) if modulus else tuple(ticks)


def _decoded(kind: str, blocks: Sequence[WireBlock]) -> Iterator[WireLine]:
    """Yield the lines that blocks make; of a shortened one its beginning as numbers."""
    decoder = plugins.find("sut", kind).decoder()
    for block in blocks:
        if block.shortened:
            # Fed to the decoder it would make noise of the block after it.
            text = f"begins with {hex_text(block.content)}"
            yield WireLine(block.at_s, block.direction, "bytes", text)
        else:
            yield from decoder.feed(block.direction, block.content, block.at_s)


def _text(line: WireLine) -> str:
    return line.text if line.name == "text" else f"{line.name} {line.text}"
