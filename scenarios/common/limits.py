# SPDX-License-Identifier: Apache-2.0
"""Limits of what the protocol can ask of a device."""

#: An idle time is counted in 32 bits of microseconds.
IDLE_MAX_S = 3600.0
#: What a device may take beyond what is expected of it: a day.
LIMIT_MAX_S = 86_400.0
#: Repetitions are counted in 32 bits.
REPEAT_MAX = 2**32 - 1
