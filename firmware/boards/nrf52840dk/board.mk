# SPDX-License-Identifier: Apache-2.0
BOARDS += nrf52840dk
cpu_nrf52840dk := -mcpu=cortex-m4 -mfloat-abi=soft
chip_nrf52840dk := nrf
defines_nrf52840dk := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
