# SPDX-License-Identifier: Apache-2.0
"""Stop, under the name by which programs that run sessions find it."""

from rig.stop import Stop

__all__ = ["Stop"]
