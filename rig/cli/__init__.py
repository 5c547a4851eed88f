# SPDX-License-Identifier: Apache-2.0
"""The command line."""

from rig.cli.main import main

__all__ = ["main"]
