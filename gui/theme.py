# SPDX-License-Identifier: Apache-2.0
"""The light and the dark theme, and Qt's palette; the window has the style sheet."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from rig.report import palette


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as #rrggbb; those of plots are distinct to colour-blind readers too."""

    name: str
    window: str
    base: str
    raised: str
    border: str
    text: str
    muted: str
    accent: str
    accent_text: str
    current: str
    voltage: str
    power: str
    sync: str
    marker: str
    ok: str
    warn: str
    bad: str
    gap: str
    #: Fills of phases, in turn; drawn half transparent.
    phases: tuple[str, ...]


LIGHT = Theme(
    name="light",
    window="#f4f5f7",
    base="#ffffff",
    raised="#e9ebef",
    border="#c9ced6",
    text="#1c2129",
    muted="#5c6672",
    accent="#1a66dd",
    accent_text="#ffffff",
    current=palette.SIGNALS["current"],
    voltage=palette.SIGNALS["voltage"],
    power=palette.SIGNALS["power"],
    sync="#3d4754",
    marker="#0b7a55",
    ok="#18794e",
    warn="#935f00",
    bad="#c0262d",
    gap="#a9b1bd",
    phases=palette.LIGHT,
)
DARK = Theme(
    name="dark",
    window="#1b1e24",
    base="#121418",
    raised="#272c34",
    border="#3c434e",
    text="#e6e9ee",
    muted="#9aa4b2",
    accent="#4c8dff",
    accent_text="#0d1117",
    current="#ffa657",
    voltage="#79b8ff",
    power="#ff8ac4",
    sync="#c3ccd8",
    marker="#4be3a8",
    ok="#4cc38a",
    warn="#f1b44c",
    bad="#ff7b7b",
    gap="#545d6b",
    phases=palette.DARK,
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}
_SHOWN = [LIGHT]
_APPLIED = "neurorig-theme"


class Themes(QObject):
    """The theme at hand; `changed` is emitted with the new one.

    `choice` is "light" or "dark", or empty: then it follows the system, also while it
    changes.
    """

    changed = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.choice = name if name in THEMES else ""
        self.now = THEMES.get(name) or _of_the_system()
        QApplication.styleHints().colorSchemeChanged.connect(self._follow)
        _apply(self.now)

    def choose(self, name: str) -> None:
        """Change to the theme of a name; an empty one is the system's."""
        self.choice = name if name in THEMES else ""
        self._take(THEMES.get(name) or _of_the_system())

    def _follow(self) -> None:
        if not self.choice:
            self._take(_of_the_system())

    def _take(self, theme: Theme) -> None:
        if theme is not self.now:
            self.now = theme
            _apply(theme)
            self.changed.emit(theme)


def shown() -> Theme:
    """Return the theme that is shown, as QApplication has one palette."""
    return _SHOWN[0]


class Recoloured:
    """A widget with parts that keep a colour; the window calls `recolour` when another
    theme is shown.
    """

    def recolour(self) -> None:
        """Take the colours of the theme that is shown."""


def _of_the_system() -> Theme:
    hints = QApplication.styleHints()
    return DARK if hints.colorScheme() == Qt.ColorScheme.Dark else LIGHT


def _apply(theme: Theme) -> None:
    _SHOWN[0] = theme
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        return
    applied = application.property(_APPLIED)
    if applied is None:
        # Once only: Qt sends the change of a style to all widgets of a list that it
        # made before, and ends the process where one of them is deleted meanwhile.
        application.setStyle("Fusion")
    # A palette is worked into every widget that there is, which takes its time: once
    # is enough.
    if applied != theme.name:
        application.setProperty(_APPLIED, theme.name)
        application.setPalette(_palette(theme))


def _palette(theme: Theme) -> QPalette:
    palette = QPalette()
    roles = QPalette.ColorRole
    colours = {
        roles.Window: theme.window,
        roles.WindowText: theme.text,
        roles.Base: theme.base,
        roles.AlternateBase: theme.raised,
        roles.Text: theme.text,
        roles.Button: theme.raised,
        roles.ButtonText: theme.text,
        roles.ToolTipBase: theme.raised,
        roles.ToolTipText: theme.text,
        roles.PlaceholderText: theme.muted,
        roles.Highlight: theme.accent,
        roles.HighlightedText: theme.accent_text,
        roles.Link: theme.accent,
        roles.Light: theme.raised,
        roles.Mid: theme.border,
        roles.Dark: theme.border,
    }
    for role, colour in colours.items():
        palette.setColor(role, QColor(colour))
    for role in (roles.Text, roles.ButtonText, roles.WindowText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.muted))
    return palette
