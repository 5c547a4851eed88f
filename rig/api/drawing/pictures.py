# SPDX-License-Identifier: Apache-2.0
"""The pictures of a session's scenario as plain data, so that a window can draw and zoom them.

A scenario draws with matplotlib, for the report (rig/model/picture.py). Here its artists become
curves, boxes, images and words in the coordinates of their axes, whatever their scale; so pictures
of a third party's scenario are drawn as well. Of a picture with artists that are not known there is
an image instead.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rig.api.drawing.drawn import Curve, Drawing, Panel
from rig.errors import RigError
from rig.interfaces.scenario import Illustrated
from rig.model.picture import Picture
from rig.results.results import Context
from rig.store.session_folder import RESULTS, SessionFolder

if TYPE_CHECKING:
    from rig.api.sessions.session import Session
    from rig.api.trials.within import WithinTrial

_IMAGE_DPI = 130


def drawings(session: Session) -> tuple[Drawing, ...]:
    """Return what the scenario of a session draws; one that fails to is a sentence."""
    import matplotlib.style

    from rig.report.style import STYLE

    folder = SessionFolder(session.path)
    title = "Pictures"
    try:
        scenario = Context.of(folder).scenario
        if not isinstance(scenario, Illustrated):
            return ()
        if not (session.path / RESULTS).exists():
            return (Drawing("scenario", title, "Not drawn: the session did not finish."),)
        with matplotlib.style.context(["default", STYLE]):
            return tuple(map(drawing, scenario.pictures(session.path)))
    except Exception as error:
        why = error.cause if isinstance(error, RigError) else repr(error)
        return (Drawing("scenario", title, f"Not drawn: {why}."),)


def within_drawings(rows: Sequence[WithinTrial]) -> tuple[Drawing, ...]:
    """Return the picture of what changes in the course of each trial; none where nothing is
    known.
    """
    import matplotlib.style

    from rig.api.trials.within_picture import picture
    from rig.report.style import STYLE

    with matplotlib.style.context(["default", STYLE]):
        made = picture(rows)
        return () if made is None else (drawing(made),)


def drawing(picture: Picture) -> Drawing:
    """Return a picture as plain data."""
    from rig.api.drawing.artists import Unknown, legend, panels

    if picture.figure is None:
        return Drawing(picture.name, picture.title, picture.caption)
    picture.figure.draw_without_rendering()
    try:
        return Drawing(
            picture.name,
            picture.title,
            picture.caption,
            panels(picture.figure),
            legend(picture.figure),
        )
    except Unknown:
        return Drawing(picture.name, picture.title, picture.caption, image=_image(picture.figure))


def merged(curves: Sequence[Curve]) -> list[Curve]:
    """Return curves of one look as one, with gaps between: hundreds of searches are drawn quickly
    so.
    """
    looks: dict[tuple[object, ...], list[Curve]] = {}
    for curve in curves:
        if not (np.isfinite(curve.x) & np.isfinite(curve.y)).any():
            continue
        look = (
            curve.line,
            curve.width,
            curve.dash,
            curve.marker,
            curve.marker_size,
            curve.marker_line,
            curve.marker_fill,
        )
        looks.setdefault(look, []).append(curve)
    gap = np.array([np.nan])
    return [
        replace(
            same[0],
            x=np.concatenate([part for one in same for part in (one.x, gap)][:-1]),
            y=np.concatenate([part for one in same for part in (one.y, gap)][:-1]),
        )
        for same in looks.values()
    ]


def nearest(panel: Panel, x: float, y: float) -> tuple[float, float] | None:
    """Return the marked or joined point next to a place, by shares of the panel; None where there
    is none.
    """
    wide = panel.x.high - panel.x.low or 1.0
    high = panel.y.high - panel.y.low or 1.0
    best: tuple[float, float, float] | None = None
    for curve in panel.curves:
        known = np.isfinite(curve.x) & np.isfinite(curve.y)
        if not known.any():
            continue
        away = ((curve.x[known] - x) / wide) ** 2 + ((curve.y[known] - y) / high) ** 2
        place = int(np.argmin(away))
        if best is None or away[place] < best[0]:
            best = float(away[place]), float(curve.x[known][place]), float(curve.y[known][place])
    return None if best is None else (best[1], best[2])


def _image(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=_IMAGE_DPI)
    return file.getvalue()
