# SPDX-License-Identifier: Apache-2.0
"""What pyqtgraph draws where it is not told how. It takes 0.3 s to load, so that only
screens with plots do.
"""

from __future__ import annotations

import pyqtgraph

from gui.theme import Theme


def configure(theme: Theme) -> None:
    """Take the colours of a theme; to be called before a plot is made, or drawn in
    others."""
    pyqtgraph.setConfigOptions(
        antialias=False,
        background=theme.base,
        foreground=theme.text,
        imageAxisOrder="row-major",
    )
