# SPDX-License-Identifier: Apache-2.0
EMULATED += mps2
cpu_mps2 := -mcpu=cortex-m3
chip_mps2 := mps2
defines_mps2 := -DNR_SLOTS_MAX=8 -DNR_STREAM_RECORDS=8 \
    -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=3200000 -DNR_QUBO_SLOT_B=860000
