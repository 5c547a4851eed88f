# SPDX-License-Identifier: Apache-2.0
"""Qt's bindings keep the references to None that they are given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import PySide6
import pytest
from PySide6.QtWidgets import QLabel

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

_CALLS = 1000


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on"
)
def test_calls_that_return_nothing_lose_no_reference_to_none(qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    before = sys.getrefcount(None)
    for number in range(_CALLS):
        label.setText(str(number))
    lost = before - sys.getrefcount(None)
    assert lost < _CALLS / 10, (
        f"PySide6 {PySide6.__version__} loses {lost} references to None in {_CALLS}"
        " calls of setText: on Python 3.11 the window dies after some seconds; install"
        " a release below 6.12"
    )
