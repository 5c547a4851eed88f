# SPDX-License-Identifier: Apache-2.0
"""An error looks like an error on every page, a success like none, in both themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QCheckBox, QFrame, QLabel, QWidget

from gui.style import stylesheet
from gui.theme import THEMES, Theme
from gui.widgets.notice import Notice, Severity, set_severity
from rig.errors import ConfigError

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.window import MainWindow

PAGES = ("start", "bench", "run", "trace", "trials", "sessions", "about")
#: Of small letters, and of other shapes: WCAG 2.1, 1.4.3 and 1.4.11.
LETTERS, FRAMES = 4.5, 3.0


def colour(theme: Theme, severity: Severity) -> str:
    """Return the colour that a severity has to have."""
    names = {
        "success": "ok",
        "information": "accent",
        "warning": "warn",
        "error": "bad",
    }
    result: str = getattr(theme, names[severity])
    return result


def frame_colour(frame: QFrame) -> str:
    """Return the colour of the left border, as it is painted."""
    picture = frame.grab().toImage()
    return picture.pixelColor(1, picture.height() // 2).name()


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours: from 1 to 21."""

    def luminance(name: str) -> float:
        shares = []
        for part in QColor(name).getRgbF()[:3]:
            assert isinstance(part, float)
            shares.append(
                part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            )
        return 0.2126 * shares[0] + 0.7152 * shares[1] + 0.0722 * shares[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
@pytest.mark.parametrize("page", PAGES)
def test_an_error_looks_like_an_error_on_every_page(
    window: MainWindow, page: str, theme: Theme
) -> None:
    window.shell.themes.choose(theme.name)
    window.go(page)
    notices = [*window.screen_named(page).findChildren(Notice), window._notice]
    assert len(notices) > 1, "the page has no notice of its own"
    for notice in notices:
        notice.show_error(ConfigError("the port is not there", try_next="another one"))
        assert frame_colour(notice) == colour(theme, Severity.ERROR), notice.parent()
        assert notice.findChild(QLabel, "notice-word").text() == "✗ error"
        notice.show_text("it is written", Severity.SUCCESS)
        assert frame_colour(notice) == colour(theme, Severity.SUCCESS), notice.parent()
        assert notice.findChild(QLabel, "notice-word").text() == "✓ done"


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_verdict_has_the_frame_of_its_severity(
    window: MainWindow, theme: Theme
) -> None:
    from gui.run.screen import RunScreen

    window.shell.themes.choose(theme.name)
    window.go("run")
    screen = window.screen_named("run")
    assert isinstance(screen, RunScreen)
    for severity in Severity:
        screen.outcome.say("FAIL: trial 4 is off", severity)
        assert frame_colour(screen.outcome) == colour(theme, severity)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_colours_can_be_read(theme: Theme) -> None:
    for severity in Severity:
        assert contrast(colour(theme, severity), theme.base) >= LETTERS
        assert contrast(colour(theme, severity), theme.window) >= LETTERS
    assert contrast(theme.text, theme.base) >= LETTERS
    assert contrast(theme.muted, theme.window) >= LETTERS
    assert contrast(theme.accent_text, theme.accent) >= LETTERS
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_a_frame_without_a_severity_has_none_of_their_colours(
    window: MainWindow,
) -> None:
    notice = window._notice
    notice.show_text("it is written", Severity.SUCCESS)
    set_severity(notice, None)
    assert frame_colour(notice) not in {
        colour(window.shell.theme, each) for each in Severity
    }


def test_another_theme_sends_no_change_of_style(window: MainWindow) -> None:
    # Qt sends that change to a list of widgets made before, and ends the process where
    # one of them is deleted meanwhile.
    changes: list[QEvent.Type] = []

    class Beside(QWidget):
        def changeEvent(self, event: QEvent) -> None:  # noqa: N802
            changes.append(event.type())

    beside = Beside()
    beside.show()
    for theme in [*THEMES.values(), *THEMES.values()]:
        window.shell.themes.choose(theme.name)
        QApplication.processEvents()
        assert beside.palette().window().color() == QColor(theme.window)
    assert QEvent.Type.StyleChange not in changes
    beside.close()


def test_an_error_names_the_command_that_shows_its_page(window: MainWindow) -> None:
    notice = Notice()
    notice.show_error(ConfigError("there is no port", see="port-missing"))
    assert notice.text.splitlines()[-1] == "see: rig docs port-missing"
    notice.show_error(ConfigError("there is no port"))
    assert "see:" not in notice.text


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_ticked_box_looks_ticked_also_where_it_cannot_be_changed(
    qtbot: QtBot, theme: Theme
) -> None:
    middles = set()
    for is_ticked in (False, True):
        box = QCheckBox("box")
        qtbot.addWidget(box)
        box.setStyleSheet(stylesheet(theme))
        box.setChecked(is_ticked)
        box.setEnabled(False)
        picture = box.grab().toImage()
        middles.add(picture.pixelColor(8, picture.height() // 2).name())
    assert len(middles) == 2
