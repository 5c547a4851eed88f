# SPDX-License-Identifier: Apache-2.0
BOARDS += stm32f405
EMULATED += stm32f405-emulated
cpu_stm32f405 := -mcpu=cortex-m4 -mfloat-abi=soft
chip_stm32f405 := stm32
defines_stm32f405 := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
# So many hops of 1 kB can be preloaded, or wait.
defines_stm32f405_sww := -DNR_SLOTS_MAX=80 -DNR_STREAM_RECORDS=80 -DNR_SWW_SLOTS=80
