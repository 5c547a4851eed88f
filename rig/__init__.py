# SPDX-License-Identifier: Apache-2.0
"""Measure accuracy, latency and energy of a system under test: open a bench, run it, read the
result.
"""

from rig.session.session import Bench, SessionResult, open_bench

__all__ = ["Bench", "SessionResult", "open_bench"]
