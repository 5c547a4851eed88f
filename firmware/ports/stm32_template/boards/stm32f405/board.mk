# SPDX-License-Identifier: Apache-2.0
# BOARD: the core of the part, and its RAM for one input (the null workload's; asc needs 16 000 bytes).
CPU := cortex-m4
SLOT_B := 32768
# The machine that QEMU has for it, for `make emulated`; leave it out for a part that QEMU does not know.
MACHINE := netduinoplus2
