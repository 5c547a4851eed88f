# SPDX-License-Identifier: Apache-2.0
"""Actions on the state of the trace screen by their keys; no Qt. The sheet of keys is
gui/trace/keyboard/key_sheet.py.
"""

from __future__ import annotations

from collections.abc import Callable

from gui.picture.viewport import PAN_STEP, ZOOM_STEP
from gui.trace.shown.markers import Part, Stretch
from gui.trace.shown.scales import Scale
from gui.trace.shown.state import SIGNALS, TraceState


def pan(state: TraceState, forward: bool) -> None:
    """Pan by a part of the view."""
    by_s = PAN_STEP * state.view.span_s
    state.set_view(state.view.panned(by_s if forward else -by_s))


def zoom(state: TraceState, closer: bool) -> None:
    """Zoom by a step, at the mouse where it is over a lane."""
    factor = ZOOM_STEP if closer else 1 / ZOOM_STEP
    state.set_view(state.view.zoomed(factor, state.cursor_s))


def fit(state: TraceState) -> None:
    """Show the whole trace."""
    state.set_view(state.view.fitted())


def zoom_to_selection(state: TraceState) -> None:
    """Zoom to the selection, or to the selected single marker."""
    selection = state.selection
    mark = state.markers.chosen
    if selection is not None:
        state.set_view(state.view.on(selection.start_s, selection.stop_s, 0.1))
    elif mark is not None:
        state.set_view(state.view.centred(mark.a_s))


def single(state: TraceState, reach_s: float) -> None:
    """Put a marker at the mouse, or in the middle of the view; it snaps to an edge
    near."""
    at_s = state.view.at(0.5) if state.cursor_s is None else state.cursor_s
    state.place_single(state.snapped(at_s, reach_s))


def dual(state: TraceState, reach_s: float) -> None:
    """Put a dual marker around the chosen window; without one over the middle of the
    view."""
    chosen = state.chosen
    if chosen is not None:
        state.place_dual(chosen.start_s, chosen.stop_s, chosen.name)
        return
    start_s = state.snapped(state.view.at(0.25), reach_s, free=False)
    stop_s = state.snapped(state.view.at(0.75), reach_s, free=False)
    state.place_dual(start_s, stop_s)


def whole(state: TraceState) -> None:
    """Select the whole trace."""
    state.choose(Stretch(0.0, state.view.duration_s, "whole trace"))
    fit(state)


def number(state: TraceState, which: int) -> None:
    """Select a marker; one that is selected is zoomed to."""
    if state.markers.selected == which:
        zoom_to_selection(state)
    else:
        state.select(which)


def delete(state: TraceState) -> None:
    """Delete the selected marker; where none is selected, all."""
    if state.markers.selected is not None:
        state.remove(state.markers.selected)
    else:
        state.clear()


def to_edge(state: TraceState, forward: bool) -> None:
    """Move the selected marker's line to the next edge or the one before; without a
    marker, the view.
    """
    mark = state.markers.chosen
    from_s = (
        state.view.at(0.5)
        if mark is None
        else mark.a_s
        if mark.b_s is None
        else mark.b_s
    )
    edge = state.edge_beside(from_s, forward)
    if edge is None:
        return
    if mark is None:
        state.set_view(state.view.centred(edge.at_s))
        return
    part: Part = "a" if mark.b_s is None else "b"
    state.move(mark.number, part, edge.at_s)
    if not state.view.start_s <= edge.at_s <= state.view.stop_s:
        state.set_view(state.view.centred(edge.at_s))


def logarithmic(state: TraceState) -> None:
    """Show all signals on logarithmic axes, or on linear ones again; exact ends are
    given up.
    """
    on = not state.logarithmic
    for signal in SIGNALS:
        state.set_scale(signal, Scale(on))


def nothing(state: TraceState) -> None:
    """Clear the selection."""
    state.select(None)
    state.choose(None)


#: Actions by the names that Qt has for their keys; some need how near an edge snaps, in
#: seconds.
ACTIONS: dict[str, Callable[[TraceState, float], object]] = {
    "S": single,
    "D": dual,
    "F": lambda state, reach_s: to_edge(state, True),
    "Shift+F": lambda state, reach_s: to_edge(state, False),
    "Z": lambda state, reach_s: zoom_to_selection(state),
    "X": lambda state, reach_s: state.set_snap(not state.snap),
    "L": lambda state, reach_s: logarithmic(state),
    "U": lambda state, reach_s: state.set_utc(not state.utc),
    "I": lambda state, reach_s: state.set_numbered(not state.numbered),
    "Left": lambda state, reach_s: pan(state, False),
    "Right": lambda state, reach_s: pan(state, True),
    "+": lambda state, reach_s: zoom(state, True),
    "-": lambda state, reach_s: zoom(state, False),
    "*": lambda state, reach_s: fit(state),
    "Del": lambda state, reach_s: delete(state),
    "Esc": lambda state, reach_s: nothing(state),
    "Ctrl+A": lambda state, reach_s: whole(state),
    "Ctrl+Z": lambda state, reach_s: state.undo(),
    "Ctrl+Y": lambda state, reach_s: state.redo(),
}
#: Other keys for the same.
_SAME = {
    "Up": "+",
    "=": "+",
    "Down": "-",
    "Home": "*",
    "Backspace": "Del",
    "Ctrl+Shift+Z": "Ctrl+Y",
}


def pressed(keys: str, state: TraceState, reach_s: float) -> bool:
    """Carry out the action of keys, as "Shift+F"; return whether they have one."""
    action = ACTIONS.get(_SAME.get(keys, keys))
    if action is not None:
        action(state, reach_s)
    elif keys in set("123456789"):
        number(state, int(keys))
    else:
        return False
    return True
