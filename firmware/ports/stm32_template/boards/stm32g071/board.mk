# SPDX-License-Identifier: Apache-2.0
# BOARD: the core of the part, and its RAM for one input: the null workload's (asc needs 16 000
# bytes); for qubo, the longest graph on the
# wire, and 4 bytes an edge and 20 a node to search it: here 100 nodes at 25 %, or 250 at 5 %.
CPU := cortex-m0plus
SLOT_B := 16384
QUBO_SLOT_B := 5120
QUBO_MEMORY_B := 16384
