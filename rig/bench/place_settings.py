# SPDX-License-Identifier: Apache-2.0
"""The table [labgrid] of a bench file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import doc

from rig.settings.declare import PathText

#: Stands in a bench file where a port or an address is that of a resource of the place;
#: "labgrid:NAME" names the resource.
LENT = "labgrid"


@dataclass(frozen=True, slots=True)
class LabgridSettings:
    """A place of labgrid, whose resources the other tables name as `labgrid` or
    `labgrid:NAME`.
    """

    place: Annotated[
        str, doc("Name of the place; empty: the one that `environment` names.")
    ] = ""
    coordinator: Annotated[
        str,
        doc(
            "HOST:PORT of the coordinator; empty: that of the environment file, of"
            " LG_COORDINATOR, or 127.0.0.1:20408."
        ),
    ] = ""
    environment: Annotated[
        PathText, doc("Environment file of labgrid, with drivers of its own.")
    ] = ""
    target: Annotated[str, doc("Target of the environment file.")] = "main"
    switch: Annotated[
        str, doc("Name of the power switch, where the place has several.")
    ] = ""


def is_lent(value: object) -> bool:
    """Check whether a setting stands for a resource of the place."""
    return isinstance(value, str) and value.partition(":")[0] == LENT
