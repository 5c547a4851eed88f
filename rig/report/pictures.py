# SPDX-License-Identifier: Apache-2.0
"""Pictures that the scenario of a session draws; a sentence where drawing fails."""

from __future__ import annotations

from collections.abc import Sequence

from rig.errors import cause_of
from rig.interfaces.scenario import Scenario
from rig.model.picture import Picture
from rig.results.results import Context
from rig.store.session_folder import RESULTS, SessionFolder


def of_scenario(session: SessionFolder) -> Sequence[Picture]:
    """Return the pictures of a session's scenario, in the style at hand."""
    try:
        scenario = Context.of(session).scenario
        if type(scenario).pictures is Scenario.pictures:
            return ()
        if not (session.path / RESULTS).exists():
            return (
                Picture(
                    "scenario",
                    "Pictures",
                    None,
                    "Not drawn: the session did not finish.",
                ),
            )
        return scenario.pictures(session.path)
    except Exception as error:
        caption = f"Not drawn: {cause_of(error)}."
        return (Picture("scenario", "Pictures", None, caption),)
