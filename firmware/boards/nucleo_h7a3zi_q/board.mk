# SPDX-License-Identifier: Apache-2.0
BOARDS += nucleo_h7a3zi_q
cpu_nucleo_h7a3zi_q := -mcpu=cortex-m7 -mfloat-abi=soft
chip_nucleo_h7a3zi_q := stm32
defines_nucleo_h7a3zi_q := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
