# SPDX-License-Identifier: Apache-2.0
EMULATED += microbit
cpu_microbit := -mcpu=cortex-m0
chip_microbit := nrf
defines_microbit := -DNR_NULL_SLOT_BYTES=16000
