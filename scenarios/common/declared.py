# SPDX-License-Identifier: Apache-2.0
"""Declarations that several scenarios share."""

from __future__ import annotations

from rig.model.declaration import DeclaredMetric

SHARE = DeclaredMetric("1", higher_is_better=True, bounded=True)
LATENCY = DeclaredMetric("s", higher_is_better=False)
THROUGHPUT = DeclaredMetric("1/s", higher_is_better=True)
POWER = DeclaredMetric("W", higher_is_better=False)
ENERGY = DeclaredMetric("J", higher_is_better=False)
#: Above that of an idle device; negative where work takes less than idling does.
DYNAMIC_POWER = DeclaredMetric("W", higher_is_better=False, signed=True)
DYNAMIC_ENERGY = DeclaredMetric("J", higher_is_better=False, signed=True)
