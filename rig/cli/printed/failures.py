# SPDX-License-Identifier: Apache-2.0
"""Backends and cells that gave no result, with the reason."""

from __future__ import annotations

from rig.api.backends.rows import Failure
from rig.cli.printed.terminal import Terminal, escape, print_line, print_see


def print_failure(console: Terminal, failure: Failure, lead: str) -> None:
    """Print the cause of a failure after a lead with markup, and below it the rest."""
    print_line(console, f"  {lead}: {escape(failure.cause)}", 4)
    for word, text in (("evidence", failure.evidence), ("try", failure.try_next)):
        if text:
            print_line(console, f"    {word}: {escape(text)}", 6)
    print_see(console, failure.see, "    ")
