# SPDX-License-Identifier: Apache-2.0
BOARDS += nucleo_l4r5zi
cpu_nucleo_l4r5zi := -mcpu=cortex-m4 -mfloat-abi=soft
chip_nucleo_l4r5zi := stm32
defines_nucleo_l4r5zi := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
