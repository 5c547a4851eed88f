# SPDX-License-Identifier: Apache-2.0
BOARDS += pico2
cpu_pico2 := -mcpu=cortex-m33 -mfloat-abi=soft
chip_pico2 := rp2
defines_pico2 := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
