# SPDX-License-Identifier: Apache-2.0
# BOARD: the core of the part, and its RAM for one input: the null workload's (asc needs 16 000
# bytes); for qubo, the longest graph on the
# wire, and 4 bytes an edge and 20 a node to search it: here 250 nodes at 25 %, or 1000 at 1 %.
CPU := cortex-m4
SLOT_B := 32768
QUBO_SLOT_B := 28000
QUBO_MEMORY_B := 84000
# The machine that QEMU has for it, for `make emulated`; leave it out for a part that QEMU does not
# know.
MACHINE := netduinoplus2
