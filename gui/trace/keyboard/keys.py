# SPDX-License-Identifier: Apache-2.0
"""What keys do with the state of the trace screen; no Qt."""

from __future__ import annotations

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
    start_s, stop_s = (
        state.snapped(state.view.at(part), reach_s, free=False) for part in (0.25, 0.75)
    )
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


def logarithmic(state: TraceState, on: bool) -> None:
    """Show all signals on logarithmic axes, or on linear ones; exact ends are given
    up."""
    for signal in SIGNALS:
        state.set_scale(signal, Scale(on))


def nothing(state: TraceState) -> None:
    """Clear the selection."""
    state.select(None)
    state.choose(None)
