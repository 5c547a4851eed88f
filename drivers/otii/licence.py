# SPDX-License-Identifier: Apache-2.0
"""The licence that a program needs to talk to an Otii server, reserved and given back,
as the maker's client does it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from drivers.otii.answers import OtiiLicence, read
from drivers.otii.link import OtiiLink, OtiiRefusal
from rig.errors import BenchError, RigError

#: The maker's names of the variables that hold a user's name and password.
USER = "OTII_USERNAME"
PASSWORD = "OTII_PASSWORD"
#: Types that hold the licence of the Automation Toolbox.
_TYPES = ("Automation", "Admin", "All", "Enterprise")


def reserve(link: OtiiLink, stack: ExitStack) -> str:
    """Log in where no user is, reserve a licence where none is, and have `stack` give
    both back; return the type of the licence. Raises BenchError.
    """
    if not link.value("otii_is_logged_in", "logged_in"):
        _log_in(link)
        stack.callback(_quietly(partial(link.request, "otii_logout")))
    rows = link.value("otii_get_licenses", "licenses")
    every = [read(OtiiLicence, row) for row in rows]
    licences = [each for each in every if each.type in _TYPES and each.available]
    for each in licences:
        if each.reserved_to:
            return each.type
    for each in licences:
        link.request("otii_reserve_license", license_id=each.id)
        give_back = partial(link.request, "otii_return_license", license_id=each.id)
        stack.callback(_quietly(give_back))
        return each.type
    raise BenchError(
        "no licence of Otii's Automation Toolbox is free",
        evidence=f"of {', '.join(_TYPES)} none is available to this user",
        try_next=(
            "return one in the Otii application of the computer that has it; a server"
            " without that toolbox cannot be used by programs"
        ),
        see="otii-licence",
    )


def _log_in(link: OtiiLink) -> None:
    user = os.environ.get(USER, "")
    password = os.environ.get(PASSWORD, "")
    if not user or not password:
        raise BenchError(
            "no user is logged in at the Otii server",
            evidence=f"{USER} and {PASSWORD} are not set",
            try_next=f"log in in the Otii application, or set {USER} and {PASSWORD}",
            see="otii-licence",
        )
    try:
        link.request("otii_login", username=user, password=password)
    except OtiiRefusal as error:
        raise BenchError(
            "the Otii server does not log this user in",
            evidence=f"{error.code}; {USER} is {user!r}",
            try_next=f"look at {USER} and {PASSWORD}, and at the network",
            see="otii-licence",
        ) from error


def _quietly(call: Callable[[], Any]) -> Callable[[], None]:
    """Return a call whose failure is no error: the server ends a reservation with the
    connection or the user does."""

    def quiet() -> None:
        try:
            call()
        except RigError:
            return

    return quiet
