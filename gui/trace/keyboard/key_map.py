# SPDX-License-Identifier: Apache-2.0
"""Which key does what on the trace screen; the sheet of keys is
gui/trace/keyboard/key_sheet.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from gui.trace.keyboard import keys
from gui.trace.shown.state import TraceState


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenKeys:
    """Actions of keys that need more than the state; `reach_s` is how near an edge
    snaps."""

    reach_s: Callable[[], float]
    next_window: Callable[[bool], None]
    save_picture: Callable[[], None]
    show_keys: Callable[[], None]
    copy_statistics: Callable[[], None]
    save_annotations: Callable[[], None]
    toggle_levels: Callable[[], None]
    show_second: Callable[[], None]


def pressed(event: QKeyEvent, screen: ScreenKeys, state: TraceState) -> bool:
    """Carry out the action of a key; return whether it has one."""
    key = Qt.Key(event.key())
    modifiers = event.modifiers()
    shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
    if modifiers & Qt.KeyboardModifier.ControlModifier:
        return _with_control(key, shift, screen, state)
    reach_s = screen.reach_s()
    actions: dict[Qt.Key, Callable[[], object]] = {
        Qt.Key.Key_S: lambda: keys.single(state, reach_s),
        Qt.Key.Key_D: lambda: keys.dual(state, reach_s),
        Qt.Key.Key_F: lambda: keys.to_edge(state, not shift),
        Qt.Key.Key_N: lambda: screen.next_window(not shift),
        Qt.Key.Key_Z: lambda: keys.zoom_to_selection(state),
        Qt.Key.Key_X: lambda: state.set_snap(not state.snap),
        Qt.Key.Key_L: lambda: keys.logarithmic(
            state, not state.scales["power"].logarithmic
        ),
        Qt.Key.Key_U: lambda: state.set_utc(not state.utc),
        Qt.Key.Key_I: lambda: state.set_numbered(not state.numbered),
        Qt.Key.Key_H: screen.toggle_levels,
        Qt.Key.Key_V: screen.show_second,
        Qt.Key.Key_P: screen.save_picture,
        Qt.Key.Key_Left: lambda: keys.pan(state, False),
        Qt.Key.Key_Right: lambda: keys.pan(state, True),
        Qt.Key.Key_Up: lambda: keys.zoom(state, True),
        Qt.Key.Key_Down: lambda: keys.zoom(state, False),
        Qt.Key.Key_Plus: lambda: keys.zoom(state, True),
        Qt.Key.Key_Equal: lambda: keys.zoom(state, True),
        Qt.Key.Key_Minus: lambda: keys.zoom(state, False),
        Qt.Key.Key_Asterisk: lambda: keys.fit(state),
        Qt.Key.Key_Home: lambda: keys.fit(state),
        Qt.Key.Key_Delete: lambda: keys.delete(state),
        Qt.Key.Key_Backspace: lambda: keys.delete(state),
        Qt.Key.Key_Escape: lambda: keys.nothing(state),
        Qt.Key.Key_Question: screen.show_keys,
    }
    if Qt.Key.Key_1 <= key <= Qt.Key.Key_9:
        keys.number(state, key - Qt.Key.Key_0)
        return True
    action = actions.get(key)
    if action is None:
        return False
    action()
    return True


def _with_control(
    key: Qt.Key, shift: bool, screen: ScreenKeys, state: TraceState
) -> bool:
    actions: dict[tuple[Qt.Key, bool], Callable[[], object]] = {
        (Qt.Key.Key_Z, False): state.undo,
        (Qt.Key.Key_Z, True): state.redo,
        (Qt.Key.Key_Y, False): state.redo,
        (Qt.Key.Key_A, False): lambda: keys.whole(state),
        (Qt.Key.Key_C, False): screen.copy_statistics,
        (Qt.Key.Key_S, False): screen.save_annotations,
    }
    action = actions.get((key, shift))
    if action is None:
        return False
    action()
    return True
