# SPDX-License-Identifier: Apache-2.0
"""Pictures of a session's trials: matplotlib figures with the session on each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rig.api.trials.within import WithinTrial, within_trials
from rig.errors import DataError
from rig.model.picture import Picture
from rig.store.session_folder import SessionFolder

if TYPE_CHECKING:
    from rig.api.sessions.session import Session


def pictures(
    session: Session, within: Sequence[WithinTrial] | None = None
) -> tuple[Picture, ...]:
    """Return a picture of the changes within each trial, and those of the scenario; the
    session and its labels stand on each figure. A sentence stands for one that cannot
    be drawn. `within` are the rows of `within_trials` where they are at hand.
    """
    import matplotlib.style

    from rig.api.trials.within_picture import picture
    from rig.report.pictures import of_scenario
    from rig.report.style import STYLE, label

    rows = within_trials(session) if within is None else within
    with matplotlib.style.context(["default", STYLE]):
        first = picture(rows)
        drawn = [
            *([] if first is None else [first]),
            *of_scenario(SessionFolder(session.path)),
        ]
        for each in drawn:
            if each.figure is not None:
                label(each.figure, ", ".join(session.labels), session.path.name)
    return tuple(drawn)


def save_picture(picture: Picture, path: Path | str) -> None:
    """Write a picture into a file, as its name ends: svg or pdf, or png with twice the
    pixels of a screen. Raises DataError.
    """
    import matplotlib.style

    from rig.report.style import STYLE

    if picture.figure is None:
        raise DataError(f"there is no picture {picture.name}", evidence=picture.caption)
    with matplotlib.style.context(["default", STYLE]):
        try:
            picture.figure.savefig(path)
        except (OSError, ValueError) as error:
            raise DataError(
                f"the picture cannot be written to {path}",
                evidence=str(error),
                try_next="a name that ends in .svg, .pdf or .png in a folder of yours",
            ) from error
