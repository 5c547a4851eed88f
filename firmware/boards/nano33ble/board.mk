# SPDX-License-Identifier: Apache-2.0
BOARDS += nano33ble
cpu_nano33ble := -mcpu=cortex-m4 -mfloat-abi=soft
chip_nano33ble := nrf
defines_nano33ble := -DNR_QUBO_SLOTS=1 -DNR_QUBO_MEMORY_B=84000 -DNR_QUBO_SLOT_B=28000
