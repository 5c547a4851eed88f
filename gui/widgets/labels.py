# SPDX-License-Identifier: Apache-2.0
"""The labels that stand beside the numbers of a session: SIMULATED, GENERATED DATA,
..."""

from __future__ import annotations

from collections.abc import Sequence

from gui.widgets.controls import named
from gui.widgets.text import PlainLabel


class Labels(PlainLabel):
    """A line of labels; hidden where there is none."""

    def __init__(self) -> None:
        super().__init__(role="strong", wrap=True)
        named(self, "labels", "Labels of the data")
        self.hide()

    def set_labels(self, labels: Sequence[str]) -> None:
        """Show labels."""
        self.setText("  ·  ".join(labels))
        self.setVisible(bool(labels))
