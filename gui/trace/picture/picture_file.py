# SPDX-License-Identifier: Apache-2.0
"""The picture as a file: PNG, or SVG for a paper; and on the clipboard."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from rig.errors import BenchError
from rig.user_folders import home


def save(widget: QWidget, path: Path) -> None:
    """Write what a widget shows into a PNG or an SVG file, and put it on the clipboard; raises
    BenchError.
    """
    picture = widget.grab()
    QGuiApplication.clipboard().setPixmap(picture)
    if path.suffix.lower() == ".svg":
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(QSize(widget.width(), widget.height()))
        generator.setViewBox(widget.rect())
        generator.setTitle("neurorig")
        widget.render(generator)
        done = path.exists()
    else:
        done = picture.save(str(path), "PNG")
    if not done:
        raise BenchError(
            f"the picture cannot be written to {path}",
            try_next="another folder; the picture is on the clipboard",
        )


def folder_for(subject_path: Path) -> Path:
    """Return where files of a trace or session are written to: beside it, or else at home."""
    beside = subject_path.absolute().parent
    return beside if os.access(beside, os.W_OK) else home() or Path.cwd()


def free_path(path: Path) -> Path:
    """Return a path, with a number where there is a file of that name."""
    free = path
    number = 2
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free
