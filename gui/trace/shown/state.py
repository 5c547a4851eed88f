# SPDX-License-Identifier: Apache-2.0
"""The state of the trace screen: view, markers, selection, lanes, with listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from gui.picture.lane_painter import LineEdges
from gui.picture.viewport import Viewport
from gui.trace.shown import annotation_marks
from gui.trace.shown.markers import Markers, Part, Stretch, TraceMarker
from gui.trace.shown.scales import Scale
from gui.trace.shown.subject import Subject
from gui.trace.shown.uart_lane import UartLane
from rig.api.traces.edges import Edge, EdgeTimes
from rig.units import quantity

Topic = Literal[
    "view",
    "markers",
    "chosen",
    "scale",
    "cursor",
    "snap",
    "edges",
    "hovered",
    "axis",
    "lanes",
]

#: Lanes of the picture, from top to bottom.
SIGNALS = ("current", "voltage", "power")
UNITS = {"current": "A", "voltage": "V", "power": "W"}
#: The lane of the lines of uart.log.
UART = "UART"
State = TypeVar("State")

#: So many steps back.
_DEPTH = 200


class History(Generic[State]):
    """The state at hand, those before it, and those that were undone."""

    def __init__(self, state: State) -> None:
        self.now = state
        self._before: list[State] = []
        self._undone: list[State] = []

    def do(self, state: State) -> None:
        """Take another state; undone states are dropped."""
        if state != self.now:
            self.begin()
            self.now = state

    def begin(self) -> None:
        """Begin a step of many changes, as a drag is: one undo goes back to here."""
        self._before.append(self.now)
        del self._before[:-_DEPTH]
        self._undone.clear()

    def revise(self, state: State) -> None:
        """Take another state in the place of this one, which is no step of its own."""
        self.now = state

    def undo(self) -> bool:
        """Go a step back; return whether there was one."""
        while self._before and self._before[-1] == self.now:
            self._before.pop()
        if not self._before:
            return False
        self._undone.append(self.now)
        self.now = self._before.pop()
        return True

    def redo(self) -> bool:
        """Take back an undo; return whether there was one."""
        if not self._undone:
            return False
        self._before.append(self.now)
        self.now = self._undone.pop()
        return True


class TraceState:
    """View, markers with undo, the chosen stretch, scales and lanes; calls its
    listeners with the topic of each change.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        trace = subject.trace
        self.view = Viewport.whole(trace.duration_s, trace.sample_hz)
        saved = annotation_marks.marks(subject.annotations)
        markers = Markers(trace.duration_s).loaded(saved).select(None)
        self.history: History[Markers] = History(markers)
        self.snap = True
        #: The edges of SYNC: of a long trace they are there later than its first
        #: picture.
        self.edges: EdgeTimes | None = None
        self.cursor_s: float | None = None
        #: The row at hand of the window table, or a problem's place; and the one under
        #: the mouse.
        self.chosen: Stretch | None = None
        self.hovered: Stretch | None = None
        self.scales: dict[str, Scale] = {name: Scale() for name in SIGNALS}
        #: The time axis is in UTC; and numbers stand above each lane.
        self.utc = False
        self.numbered = True
        #: Two levels of a signal, as horizontal lines.
        self.levels: dict[str, tuple[float, float]] = {}
        #: Digital lines beside SYNC by their names, once they are read; why one cannot
        #: be; the lines of uart.log; and the names of lanes that are not shown.
        self.lines: dict[str, LineEdges] = {}
        self.line_faults: dict[str, str] = {}
        self.uart: UartLane | None = None
        self.hidden: set[str] = set()
        self._listeners: list[Callable[[Topic], None]] = []

    def listen(self, callback: Callable[[Topic], None]) -> None:
        """Call back with the topic of each change."""
        self._listeners.append(callback)

    @property
    def markers(self) -> Markers:
        """The markers."""
        return self.history.now

    @property
    def selection(self) -> Stretch | None:
        """The stretch whose numbers are shown beside those of the view: between
        the lines of the selected dual marker, else the chosen window.
        """
        mark = self.markers.chosen
        if mark is not None and mark.is_dual:
            start_s, stop_s = mark.span
            name = f"marker {mark.number}" + (f": {mark.label}" if mark.label else "")
            return Stretch(start_s, stop_s, name) if stop_s > start_s else None
        return self.chosen

    @property
    def logarithmic(self) -> bool:
        """Whether the lane of power, as L leaves all, has a logarithmic axis."""
        return self.scales[SIGNALS[-1]].logarithmic

    def set_view(self, view: Viewport) -> None:
        """Show another stretch."""
        if view != self.view:
            self.view = view
            self._tell("view")

    def set_cursor(self, at_s: float | None) -> None:
        """Take the instant under the mouse; None where it is not over a lane."""
        if at_s != self.cursor_s:
            self.cursor_s = at_s
            self._tell("cursor")

    def set_edges(self, edges: EdgeTimes) -> None:
        """Take the edges, once they are read."""
        self.edges = edges
        self._tell("edges")

    @property
    def shown_lines(self) -> dict[str, LineEdges]:
        """The digital lines that have a lane, in the order of the file."""
        shown = {}
        for name in self.subject.lines:
            if name in self.lines and name not in self.hidden:
                shown[name] = self.lines[name]
        return shown

    @property
    def shown_uart(self) -> UartLane | None:
        """The lines of uart.log where they have a lane."""
        return None if UART in self.hidden else self.uart

    def set_line(self, name: str, edges: LineEdges) -> None:
        """Take the edges of a digital line; one that never changes is hidden first."""
        self.lines[name] = edges
        if not len(edges):
            self.hidden.add(name)
        self._tell("lanes")

    def set_line_fault(self, name: str, reason: str) -> None:
        """Take why a digital line cannot be read."""
        self.line_faults[name] = reason
        self._tell("lanes")

    def set_uart(self, uart: UartLane | None) -> None:
        """Take the lines of uart.log; None where they have no place in the trace."""
        self.uart = uart
        self._tell("lanes")

    def show_lane(self, name: str, shown: bool) -> None:
        """Show the lane of a digital line or of uart.log, or hide it."""
        (self.hidden.discard if shown else self.hidden.add)(name)
        self._tell("lanes")

    def set_snap(self, snap: bool) -> None:
        """Have markers snap to edges, or not."""
        self.snap = snap
        self._tell("snap")

    def set_scale(self, signal: str, scale: Scale) -> None:
        """Show a signal on another scale."""
        self.scales[signal] = scale
        self._tell("scale")

    def set_utc(self, utc: bool) -> None:
        """Show times in UTC, where the trace says when it began, or in seconds from its
        start."""
        self.utc = utc and self.subject.trace.started_ns is not None
        self._tell("axis")

    def set_numbered(self, numbered: bool) -> None:
        """Show numbers above each lane, or not."""
        self.numbered = numbered
        self._tell("axis")

    def set_levels(self, signal: str, levels: tuple[float, float] | None) -> None:
        """Put two levels on a signal, or take them away."""
        if levels is None:
            self.levels.pop(signal, None)
        else:
            self.levels[signal] = levels
        self._tell("axis")

    def choose(self, stretch: Stretch | None) -> None:
        """Choose a stretch: the numbers of the selection are its own."""
        self.chosen = stretch
        if stretch is not None and self.markers.selected is not None:
            self.history.revise(self.markers.select(None))
        self._tell("chosen")

    def hover(self, stretch: Stretch | None) -> None:
        """Highlight a stretch while the mouse is over its row."""
        if stretch != self.hovered:
            self.hovered = stretch
            self._tell("hovered")

    # Markers.

    def snapped(self, at_s: float, reach_s: float, free: bool = False) -> float:
        """Return the end of a window, or else the edge, that is within reach of an
        instant, where markers snap; else the instant.
        """
        if free or not self.snap:
            return at_s
        edges = self.edges
        edge = None if edges is None else edges.nearest(at_s)
        edge_s = None if edge is None else edge.at_s
        border_s = self.subject.border_near(at_s)
        # A pulse is one place to the eye until it is wide: its mark is where the window
        # ends.
        together = edge_s is None or (
            border_s is not None and abs(border_s - edge_s) < reach_s
        )
        near_s = border_s if together else edge_s
        return near_s if near_s is not None and abs(near_s - at_s) <= reach_s else at_s

    def place_single(self, at_s: float) -> None:
        """Put a marker at an instant."""
        self._do(self.markers.add_single(at_s))

    def place_dual(self, start_s: float, stop_s: float, label: str = "") -> None:
        """Put a dual marker around a stretch."""
        self._do(self.markers.add_dual(start_s, stop_s, label))

    def begin_drag(self) -> None:
        """Begin to move a marker: one undo takes the whole move back."""
        self.history.begin()

    def drag(self, number: int, part: Part, to_s: float) -> None:
        """Move a marker in the middle of a drag."""
        self.history.revise(self.markers.moved(number, part, to_s))
        self._tell("markers")

    def move(self, number: int, part: Part, to_s: float) -> None:
        """Move a marker, as a step that undo knows."""
        self._do(self.markers.moved(number, part, to_s))

    def set_dt(self, number: int, dt_s: float) -> None:
        """Put the second line of a dual marker at a distance from its first one."""
        self._do(self.markers.with_dt(number, dt_s))

    def set_label(self, number: int, label: str) -> None:
        """Label a marker."""
        self._do(self.markers.labelled(number, label))

    def select(self, number: int | None) -> None:
        """Select a marker; selecting is no step of undo."""
        chosen = self.markers.select(number)
        if chosen != self.markers:
            self.history.revise(chosen)
            self._tell("markers")

    def remove(self, number: int) -> None:
        """Remove a marker."""
        self._do(self.markers.without(number))

    def clear(self) -> None:
        """Remove all markers."""
        self._do(self.markers.cleared())

    def load(self, marks: list[tuple[float, float | None, str]]) -> None:
        """Show the markers of a file in the place of those at hand."""
        self._do(self.markers.cleared().loaded(marks).select(None))

    def undo(self) -> bool:
        """Take the last step back."""
        done = self.history.undo()
        self._tell("markers")
        return done

    def redo(self) -> bool:
        """Take the last undo back."""
        done = self.history.redo()
        self._tell("markers")
        return done

    def edge_beside(self, at_s: float, forward: bool) -> Edge | None:
        """Return the next or the previous edge of SYNC; None where there is none."""
        edges = self.edges
        if edges is None:
            return None
        return edges.next(at_s) if forward else edges.previous(at_s)

    def _do(self, markers: Markers) -> None:
        self.history.do(markers)
        self._tell("markers")

    def _tell(self, topic: Topic) -> None:
        for listener in list(self._listeners):
            listener(topic)


def mark_text(mark: TraceMarker) -> str:
    """Return a marker as a line of text to paste: instants in seconds, dt and 1/dt."""
    label = f" {mark.label}" if mark.label else ""
    if mark.b_s is None:
        return f"marker {mark.number}{label}: {mark.a_s:.12g} s"
    dt_s = mark.b_s - mark.a_s
    rate = f", 1/dt {quantity(1 / abs(dt_s), 'Hz')}" if dt_s else ""
    return (
        f"marker {mark.number}{label}: {mark.a_s:.12g} s to {mark.b_s:.12g} s, "
        f"dt {dt_s:.12g} s{rate}"
    )
