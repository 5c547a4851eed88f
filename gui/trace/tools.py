# SPDX-License-Identifier: Apache-2.0
"""The tools above the picture: what keys do, for the mouse."""

from __future__ import annotations

from collections.abc import Callable

from gui.trace.header import Header
from gui.trace.keyboard import keys
from gui.trace.keyboard.key_map import ScreenKeys
from gui.trace.shown.state import TraceState


class TraceTools:
    """The buttons; `snap` and `logarithmic` stay pressed."""

    def __init__(
        self, header: Header, state: Callable[[], TraceState | None], screen: ScreenKeys
    ) -> None:
        self._state = state
        tool, do = header.tool, self._do
        tool("fit", "Whole", "Show the whole trace (*)", do(keys.fit))
        tool("zoom-in", "+", "Zoom in (+)", do(lambda state: keys.zoom(state, True)))
        tool("zoom-out", "−", "Zoom out (-)", do(lambda state: keys.zoom(state, False)))
        tool(
            "selection",
            "Selection",
            "Zoom to the selection (Z)",
            do(keys.zoom_to_selection),
        )
        reach_s = screen.reach_s
        tool(
            "single",
            "Marker",
            "Single marker (S)",
            do(lambda s: keys.single(s, reach_s())),
        )
        tool(
            "dual",
            "Dual marker",
            "Dual marker (D)",
            do(lambda s: keys.dual(s, reach_s())),
        )
        tool("undo", "Undo", "Undo markers (Ctrl+Z)", do(lambda state: state.undo()))
        tool(
            "redo",
            "Redo",
            "Redo markers (Shift+Ctrl+Z)",
            do(lambda state: state.redo()),
        )
        self.snap = tool(
            "snap",
            "Snap to edges",
            "Markers snap to edges of SYNC (X; Alt places freely)",
            do(lambda state: state.set_snap(self.snap.isChecked())),
            checked=True,
        )
        self.logarithmic = tool(
            "log",
            "Log",
            "Logarithmic y axes (L)",
            do(lambda state: keys.logarithmic(state, self.logarithmic.isChecked())),
            checked=True,
        )
        tool(
            "picture",
            "Picture",
            "Save the picture (P)",
            lambda _: screen.save_picture(),
        )
        tool("keys", "?", "Keys (?)", lambda _: screen.show_keys())
        header.set_enabled(False)

    def _do(self, action: Callable[[TraceState], object]) -> Callable[[bool], None]:
        def clicked(_: bool) -> None:
            state = self._state()
            if state is not None:
                action(state)

        return clicked
