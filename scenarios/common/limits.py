# SPDX-License-Identifier: Apache-2.0
"""What the protocol can ask of a device at most."""

#: An idle time is counted in 32 bits of microseconds.
IDLE_MAX_S = 3600.0
#: Repetitions are counted in 32 bits.
REPEAT_MAX = 2**32 - 1
