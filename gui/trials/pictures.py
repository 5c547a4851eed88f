# SPDX-License-Identifier: Apache-2.0
"""A picture of the session's trials on matplotlib's own canvas, with its toolbar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_qt import NavigationToolbar2QT
from matplotlib.backends.backend_qtagg import FigureCanvasQTAgg
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.figure import Figure
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QToolButton, QVBoxLayout, QWidget

from gui.theme import Recoloured, Theme, shown
from gui.widgets.controls import delayed, named
from gui.widgets.text import plain
from rig.model.picture import Picture
from rig.report.style import BAD, FAINT, GOOD, INK, SERIES, STYLE

#: So long a size has to stay before a figure is drawn in it: drawing takes longer than
#: a frame.
_RESTING_MS = 120
_SIDES = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


class PictureView(QWidget, Recoloured):
    """One picture: its canvas, its tools, and its caption; `file_name` is offered for a
    file."""

    def __init__(self, picture: Picture, file_name: str) -> None:
        super().__init__()
        self.setObjectName(f"trials-picture-{picture.name}")
        self.caption = plain("trials-caption", picture.caption, role="muted", wrap=True)
        self.canvas: Canvas | None = None
        self._roles = _MADE
        column = QVBoxLayout(self)
        if picture.figure is not None:
            self.canvas = named(
                Canvas(picture.figure, file_name),
                f"trials-plot-{picture.name}",
                f"{picture.title}: {picture.caption}",
            )
            self.tools = PictureTools(self.canvas, self)
            self.canvas.tools = self.tools
            column.addWidget(self.tools)
            column.addWidget(self.canvas, 1)
        column.addWidget(self.caption)
        if picture.figure is None:
            column.addStretch(1)
        self.recolour()

    def recolour(self) -> None:
        """Draw in the colours of the theme that is shown."""
        if self.canvas is None:
            return
        roles = Roles.of(shown())
        recolour(self.canvas.figure, self._roles, roles)
        self._roles = roles
        if self.canvas.isVisible():
            self.canvas.draw_idle()


class Canvas(FigureCanvasQTAgg):
    """A figure; while its size changes the last drawing is stretched."""

    def __init__(self, figure: Figure, file_name: str) -> None:
        # Artists made during drawing, as texts of ticks, have the style of the
        # rest.
        matplotlib.style.use(["default", STYLE])
        super().__init__(figure)
        self.tools: PictureTools | None = None
        self.file_name = file_name
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._resting = delayed(self, _RESTING_MS, self._take_size)

    def get_default_filename(self) -> str:
        """Return the name that is offered for a file of it."""
        return f"{self.file_name}.{self.get_default_filetype()}"

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Draw what changed while it was hidden."""
        super().showEvent(event)
        self.draw_idle()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Draw once the size rests; the first drawing is made at once."""
        if hasattr(self, "renderer"):
            self._resting.start()
        else:
            super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint the figure."""
        if not self._resting.isActive():
            super().paintEvent(event)
            return
        pixels = self.buffer_rgba()
        rows, columns, _ = pixels.shape
        with QPainter(self) as painter:
            image = QImage(pixels, columns, rows, QImage.Format.Format_RGBA8888)
            painter.drawImage(self.rect(), image)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Show all by A or *; other keys are not the picture's."""
        if (
            event.key() in (Qt.Key.Key_A, Qt.Key.Key_Asterisk)
            and self.tools is not None
        ):
            self.tools.home()
        else:
            event.ignore()

    def _take_size(self) -> None:
        super().resizeEvent(QResizeEvent(self.size(), self.size()))


class PictureTools(NavigationToolbar2QT):
    """The toolbar: all of it, back, forward, move, zoom, save."""

    def __init__(self, canvas: Canvas, parent: QWidget) -> None:
        shown = ("Home", "Back", "Forward", "Pan", "Zoom", "Save")
        self.toolitems = [
            item for item in NavigationToolbar2QT.toolitems if item[0] in shown
        ]
        super().__init__(canvas, parent)
        self.locLabel.setTextFormat(Qt.TextFormat.PlainText)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        for action in self.actions():
            button = self.widgetForAction(action)
            if isinstance(button, QToolButton):
                button.setObjectName(f"picture-{action.text().lower()}")
                button.setAccessibleName(action.toolTip().replace("\n", ", "))


@dataclass(frozen=True, slots=True)
class Roles:
    """The colours of a figure as #rrggbb, by their use."""

    paper: str
    ink: str
    #: Faint, good, bad, and those of the series.
    others: tuple[str, ...]

    @classmethod
    def of(cls, theme: Theme) -> Roles:
        """Return the colours that a theme has for a figure."""
        return cls(
            theme.base, theme.text, (theme.muted, theme.ok, theme.bad, *theme.phases)
        )


#: Those of a figure as it is made.
_MADE = Roles("#ffffff", INK, (FAINT, GOOD, BAD, *SERIES))


def recolour(figure: Figure, old: Roles, new: Roles) -> None:
    """Replace colours of all parts of a figure; opacities stay. Texts on an image, and
    the image's own patch, keep their colours.
    """
    before = (old.ink, *old.others)
    after = (new.ink, *new.others)
    drawn = dict(zip(before, after, strict=True))
    on_images = [axes for axes in figure.axes if axes.images]
    kept: set[Artist] = set()
    for axes in on_images:
        kept |= {*axes.texts, axes.patch}
    # Backgrounds alone are paper: other white parts belong to the drawing.
    paper = {figure.patch, *(axes.patch for axes in figure.axes)}
    for artist in figure.findobj():
        if artist in kept:
            continue
        colours = {old.paper: new.paper} if artist in paper else drawn
        for side in _SIDES:
            get = getattr(artist, f"get_{side}", None)
            put = getattr(artist, f"set_{side}", None)
            if get is not None and put is not None:
                put(_changed(get(), colours))
    for axes in figure.axes:
        # Ticks that zooming makes later have the colours too.
        axes.tick_params(which="both", color=new.ink, labelcolor=new.ink)


def _changed(value: Any, colours: dict[str, str]) -> Any:
    """Return a colour, or a row of them, with another one in its place where there is
    one."""
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return [_changed(tuple(row), colours) for row in value]
    red, green, blue, opacity = to_rgba(value)
    other = colours.get(to_hex((red, green, blue)))
    return value if other is None or not opacity else (*to_rgb(other), opacity)
