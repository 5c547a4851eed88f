# SPDX-License-Identifier: Apache-2.0
# BOARD: the core of the part, and its RAM for one input (the null workload's; asc needs 16 000 bytes).
CPU := cortex-m0plus
SLOT_B := 16384
