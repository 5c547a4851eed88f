# SPDX-License-Identifier: Apache-2.0
"""Markers on a trace: single and dual ones, as one frozen value that undo can keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

#: The part of a marker that is moved: its first line, its second one, or both.
Part = Literal["a", "b", "both"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A named stretch of the trace."""

    start_s: float
    stop_s: float
    name: str


@dataclass(frozen=True, slots=True)
class TraceMarker:
    """A marker with a number: at one instant, or a dual one from `a_s` to `b_s`."""

    number: int
    a_s: float
    b_s: float | None = None
    label: str = ""

    @property
    def is_dual(self) -> bool:
        """Whether the marker has two lines."""
        return self.b_s is not None

    @property
    def span(self) -> tuple[float, float]:
        """Start and stop, in the order of time; of a single marker both are its
        instant."""
        other_s = self.a_s if self.b_s is None else self.b_s
        return min(self.a_s, other_s), max(self.a_s, other_s)

    @property
    def dt_s(self) -> float | None:
        """The time from the first line to the second one; None for a single
        marker."""
        return None if self.b_s is None else self.b_s - self.a_s

    @property
    def lines(self) -> tuple[tuple[Part, str, float], ...]:
        """The lines of the marker: which part it is, its name, its instant."""
        if self.b_s is None:
            return (("a", f"{self.number}", self.a_s),)
        return ("a", f"{self.number}a", self.a_s), ("b", f"{self.number}b", self.b_s)


@dataclass(frozen=True, slots=True)
class Markers:
    """All markers of a trace of `duration_s`, in the order of their numbers, and the
    selected one.

    Every instant is kept inside the trace.
    """

    duration_s: float
    marks: tuple[TraceMarker, ...] = ()
    selected: int | None = None

    def mark(self, number: int | None) -> TraceMarker | None:
        """Return the marker of a number; None where there is none."""
        return next((mark for mark in self.marks if mark.number == number), None)

    @property
    def chosen(self) -> TraceMarker | None:
        """The selected marker."""
        return self.mark(self.selected)

    def add_single(self, at_s: float, label: str = "") -> Markers:
        """Return the markers with one more, selected."""
        return self._with(TraceMarker(self._free(), self._kept(at_s), None, label))

    def add_dual(self, a_s: float, b_s: float, label: str = "") -> Markers:
        """Return the markers with a dual one more, selected."""
        return self._with(
            TraceMarker(self._free(), self._kept(a_s), self._kept(b_s), label)
        )

    def moved(self, number: int, part: Part, to_s: float) -> Markers:
        """Return the markers with a line of one at another instant; "both" moves both
        lines of a dual marker, `to_s` being that of its first one, and keeps their
        distance.
        """
        mark = self.mark(number)
        if mark is None:
            return self
        if mark.b_s is None or part == "a":
            return self._with(replace(mark, a_s=self._kept(to_s)))
        if part == "b":
            return self._with(replace(mark, b_s=self._kept(to_s)))
        start_s, stop_s = mark.span
        by_s = min(max(to_s - mark.a_s, -start_s), self.duration_s - stop_s)
        a_s, b_s = self._kept(mark.a_s + by_s), self._kept(mark.b_s + by_s)
        return self._with(replace(mark, a_s=a_s, b_s=b_s))

    def with_dt(self, number: int, dt_s: float) -> Markers:
        """Return the markers with the second line of a dual one at a distance from its
        first."""
        mark = self.mark(number)
        if mark is None or mark.b_s is None:
            return self
        return self._with(replace(mark, b_s=self._kept(mark.a_s + dt_s)))

    def labelled(self, number: int, label: str) -> Markers:
        """Return the markers with another label at one of them."""
        mark = self.mark(number)
        return self if mark is None else self._with(replace(mark, label=label))

    def select(self, number: int | None) -> Markers:
        """Return the markers with another one selected, or none."""
        if number is not None and self.mark(number) is None:
            return self
        return replace(self, selected=number)

    def without(self, number: int) -> Markers:
        """Return the markers without one of them."""
        left = tuple(mark for mark in self.marks if mark.number != number)
        selected = None if self.selected == number else self.selected
        return replace(self, marks=left, selected=selected)

    def cleared(self) -> Markers:
        """Return no markers."""
        return replace(self, marks=(), selected=None)

    def loaded(self, marks: Iterable[tuple[float, float | None, str]]) -> Markers:
        """Return the markers with more, given as first instant, second one or None, and
        label."""
        result = self
        for a_s, b_s, label in marks:
            if b_s is None:
                result = result.add_single(a_s, label)
            else:
                result = result.add_dual(a_s, b_s, label)
        return result

    def near(self, at_s: float, reach_s: float) -> tuple[TraceMarker, Part] | None:
        """Return the marker line within reach of an instant; of two that are equally
        near, that of the selected marker.
        """
        near_lines = []
        for mark in self.marks:
            for part, _, line_s in mark.lines:
                away_s = abs(line_s - at_s)
                is_other = mark.number != self.selected
                if away_s <= reach_s:
                    near_lines.append((away_s, is_other, mark.number, part))
        if not near_lines:
            return None
        _, _, number, part = min(near_lines)
        nearest = self.mark(number)
        return None if nearest is None else (nearest, part)

    def _free(self) -> int:
        """Return the lowest number that no marker has."""
        taken = {mark.number for mark in self.marks}
        return next(
            number for number in range(1, len(taken) + 2) if number not in taken
        )

    def _kept(self, at_s: float) -> float:
        return min(max(at_s, 0.0), self.duration_s)

    def _with(self, mark: TraceMarker) -> Markers:
        others = [other for other in self.marks if other.number != mark.number]
        marks = tuple(sorted([*others, mark], key=lambda each: each.number))
        return replace(self, marks=marks, selected=mark.number)
