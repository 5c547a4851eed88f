# SPDX-License-Identifier: Apache-2.0
"""The compiler of the QUBO task's tests."""

from __future__ import annotations

from tests.scenarios.tasks.qubo.conftest import compiler

__all__ = ["compiler"]
