# SPDX-License-Identifier: Apache-2.0
"""The small data sets of the ASC task's tests."""

from __future__ import annotations

from tests.scenarios.tasks.asc.conftest import cache, tiny

__all__ = ["cache", "tiny"]
