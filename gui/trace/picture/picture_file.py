# SPDX-License-Identifier: Apache-2.0
"""The picture as a file: SVG or PDF for a paper, or PNG; and on the clipboard."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QMarginsF, QPoint, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QImage,
    QPageSize,
    QPaintDevice,
    QPdfWriter,
)
from PySide6.QtSvg import QSvgGenerator

from gui.picture.legend import Legend, paint_legend
from gui.trace.picture.plot_stack import PlotStack
from gui.widgets.painter import ThemedPainter
from rig.errors import BenchError
from rig.files.plain_text import visible
from rig.files.user_folders import home

#: A PNG has so many pixels for one of the screen.
_FINE = 2
_PDF_DPI = 96
#: Three lines above the picture: session and trial, labels, and phases.
_HEAD_PX = 57
_LEFT_PX = 6


def save(stack: PlotStack, legend: Legend, path: Path) -> None:
    """Write the picture of a trace, with its session and labels, into a file, and put
    it on the clipboard. The suffix of the name chooses SVG, PDF, or PNG of twice the
    pixels. Raises BenchError.
    """
    size = QSize(stack.width(), stack.height() + _HEAD_PX)
    pixels = QImage(size * _FINE, QImage.Format.Format_RGB32)
    pixels.setDevicePixelRatio(_FINE)
    _paint(pixels, stack, legend)
    QGuiApplication.clipboard().setImage(pixels)
    form = path.suffix.lower()
    if form == ".svg":
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(size)
        generator.setViewBox(QRect(QPoint(0, 0), size))
        generator.setTitle(" ".join(_about(stack)))
        done = _paint(generator, stack, legend)
    elif form == ".pdf":
        writer = QPdfWriter(str(path))
        writer.setResolution(_PDF_DPI)
        writer.setPageSize(
            QPageSize(QSizeF(size) * 72 / _PDF_DPI, QPageSize.Unit.Point)
        )
        writer.setPageMargins(QMarginsF())
        writer.setTitle(" ".join(_about(stack)))
        done = _paint(writer, stack, legend)
    else:
        done = pixels.save(str(path), "PNG")  # type: ignore[call-overload]
    if not done:
        raise BenchError(
            f"the picture cannot be written to {path}",
            try_next="another folder; the picture is on the clipboard",
        )


def _about(stack: PlotStack) -> tuple[str, str]:
    """Return the title of a picture, and the labels of its numbers."""
    state = stack.state
    if state is None:
        return "", ""
    subject = state.subject
    title = [subject.title]
    if subject.session is not None:
        title += [f"trial {subject.trial}", subject.rail]
        title += [f"segment {subject.choice.segment}"] * (
            subject.choice.segment_count > 1
        )
    return visible(", ".join(filter(None, title))), visible(", ".join(subject.labels))


def _paint(device: QPaintDevice, stack: PlotStack, legend: Legend) -> bool:
    """Paint session, trial, labels and phases above the picture; return whether it
    could be."""
    painter = ThemedPainter()
    if not painter.begin(device):
        return False
    theme = painter.theme
    painter.fillRect(0, 0, stack.width(), stack.height() + _HEAD_PX, QColor(theme.base))
    painter.setFont(stack.font())
    title, labels = _about(stack)
    line = QRectF(_LEFT_PX, 0, stack.width() - 2 * _LEFT_PX, _HEAD_PX / 3)
    for text, colour in ((title, theme.text), (labels, theme.bad)):
        painter.text(line, Qt.AlignmentFlag.AlignVCenter, text, colour)
        line.translate(0, line.height())
    paint_legend(painter, legend.entries, line)
    stack.render(painter, QPoint(0, _HEAD_PX))
    painter.end()
    return True


def folder_for(subject_path: Path) -> Path:
    """Return where files of a trace or session are written to: beside it, or else at
    home."""
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
