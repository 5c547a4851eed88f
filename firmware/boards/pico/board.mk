# SPDX-License-Identifier: Apache-2.0
BOARDS += pico
cpu_pico := -mcpu=cortex-m0plus
chip_pico := rp2
defines_pico := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
