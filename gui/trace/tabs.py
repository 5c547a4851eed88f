# SPDX-License-Identifier: Apache-2.0
"""The tabs beside the picture: each has its name under the mouse too."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabWidget, QWidget

from gui.widgets.controls import named

#: The names of the tabs, and the columns up to the power, need so much.
_WIDTH_PX = 440


class Tabs(QTabWidget):
    """The tabs; a name that has no room ends in an ellipsis."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "trace-tabs", "Windows, markers, problems, views of a part")
        # Eight names in the width of a table.
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.tabBar().setStyleSheet("QTabBar::tab { padding: 5px 3px; }")
        self.setMinimumWidth(_WIDTH_PX)

    def name(self, widget: QWidget, title: str) -> None:
        """Give a widget a tab of this name, or its tab another name."""
        number = self.indexOf(widget)
        if number < 0:
            number = self.addTab(widget, title)
        self.setTabText(number, title)
        self.setTabToolTip(number, title)
